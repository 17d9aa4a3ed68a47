"""`python -m stepgraph.compat PROGRAM [ARGS]` and `-m MODULE [ARGS]`: run a program as Python would, with the hook in place.

Rules of this file: the program finds what `python PROGRAM` would give it: `sys.argv`, the first entry of `sys.path`, and a
`__main__` of its own that stays when it has ended, for threads and exit handlers that look there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from shlex import quote
from types import ModuleType
from typing import Final, NoReturn

from stepgraph.compat.installing import install, variables
from stepgraph.compat.names import ROOT, VERSIONS

USAGE: Final = f"""\
usage: python -m stepgraph.compat PROGRAM [ARGS ...]
       python -m stepgraph.compat -m MODULE [ARGS ...]
       eval "$(python -m stepgraph.compat --env)"

Run a program that was written for LangGraph on stepgraph's engine, unmodified: every `import langgraph...` is answered by
stepgraph (as langgraph {VERSIONS[ROOT]}), in the program and in the Python processes that it starts.

PROGRAM is a file, or a folder or zip file with a __main__.py. --env prints the environment variables with which every
Python process does so by itself."""

MISUSED: Final = 2


def main(argv: Sequence[str] | None = None) -> None:
    """Run the program that the command line names.

    Args:
        argv: The command line without the program's name; by default the process's own.

    Raises:
        SystemExit: The command line is wrong, or the program raised it.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return
    if words == ["--env"]:
        for name, value in variables(os.environ).items():
            print(f"export {name}={quote(value)}")
        return
    if not words or (words[0] == "-m" and len(words) == 1):
        _misused("name a program, or a module after -m")
    if words[0].startswith("-") and words[0] != "-m":
        _misused(f"unknown option {words[0]}")
    install(subprocesses=True)
    if words[0] == "-m":
        _run_module(words[1], words[2:])
    else:
        _run_program(words[0], words[1:])


def _misused(what: str) -> NoReturn:
    print(f"stepgraph.compat: {what}\n\n{USAGE}", file=sys.stderr)
    raise SystemExit(MISUSED)


def _run_module(name: str, args: list[str]) -> None:
    from runpy import run_module

    sys.argv[:] = [name, *args]
    run_module(name, run_name="__main__", alter_sys=True)


def _run_program(path: str, args: list[str]) -> None:
    if not os.path.exists(path):
        _misused(f"there is no file {path!r}")
    sys.argv[:] = [path, *args]
    if not os.path.isfile(path) or path.endswith((".zip", ".pyz", ".pyc")):
        from runpy import run_path

        _drop_own_entry()
        run_path(path, run_name="__main__")
        return
    _drop_own_entry()
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    module = ModuleType("__main__")
    module.__file__ = path
    module.__dict__["__builtins__"] = __builtins__
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


def _drop_own_entry() -> None:
    """`python -m` put the working directory first; `python PROGRAM` does not."""
    if not getattr(sys.flags, "safe_path", False) and sys.path and sys.path[0] in ("", os.getcwd()):
        del sys.path[0]
