"""Run a program, then fail if a module of the installed LangGraph was loaded.

Called as `python -m stepgraph.compat run_checked.py PROGRAM`. Distributions of others that live in the namespace may be
loaded; what LangGraph's own distributions list may not.
"""

from __future__ import annotations

import os
import runpy
import sys
from importlib.metadata import Distribution

from stepgraph.compat.metadata import ModelledDistribution
from stepgraph.compat.names import VERSIONS


def official_files() -> set[str]:
    found: set[str] = set()
    for name in VERSIONS:
        for distribution in Distribution.discover(name=name):
            if not isinstance(distribution, ModelledDistribution):
                found |= {
                    os.path.realpath(str(distribution.locate_file(file))) for file in distribution.files or ()
                }
    return found


program = sys.argv[1]
sys.argv[:] = [program]
sys.path.insert(0, os.path.dirname(os.path.realpath(program)))
runpy.run_path(program, run_name="__main__")
places = {
    name: os.path.realpath(file)
    for name, module in list(sys.modules.items())
    if (file := getattr(module, "__file__", None))
}
official = official_files()
assert any(place.endswith(os.path.join("langgraph", "types.py")) for place in official), (
    "langgraph is not installed"
)
loaded = sorted(name for name, place in places.items() if place in official)
assert not loaded, f"loaded from the installed langgraph: {loaded}"
