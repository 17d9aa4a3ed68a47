"""Imported by Python when it starts, where `PYTHONPATH` leads here: installs the import hook if `STEPGRAPH_COMPAT` asks for it.

Rules of this file: it hides a `sitecustomize` that stands further down the path, so it runs that one, too. It must never
stop a process from starting: a Python that has no stepgraph says so, and goes on.
"""

import os
import sys


def _install() -> None:
    if os.environ.get("STEPGRAPH_COMPAT", "") in ("", "0"):
        return
    try:
        from stepgraph.compat import install
    except Exception as error:
        what = "stepgraph.compat: STEPGRAPH_COMPAT is set, but {} cannot import stepgraph ({}); langgraph is not replaced."
        sys.stderr.write(what.format(sys.executable, error) + "\n")
        return
    install()


def _run_hidden() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    for entry in sys.path:
        hidden = os.path.join(entry, "sitecustomize.py")
        if os.path.abspath(entry) != here and os.path.isfile(hidden):
            with open(hidden, "rb") as file:
                code = compile(file.read(), hidden, "exec")
            exec(code, {"__name__": "sitecustomize", "__file__": hidden})
            return


_install()
_run_hidden()
