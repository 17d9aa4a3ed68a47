"""Putting the import hook in place: in this process, and in the ones that it starts.

Subprocesses: Python imports `sitecustomize` when it starts, if it finds one. The folder `startup/` has one that installs
the hook where the variable `STEPGRAPH_COMPAT` says so; `PYTHONPATH` leads there. Both variables are inherited.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from stepgraph.compat.finder import NameFinder, ReverseFinder
from stepgraph.compat.names import ROOT
from stepgraph.values import defaults

VARIABLE: Final = "STEPGRAPH_COMPAT"
"""Environment variable: `1` installs the hook in Python processes that find `startup/` on their path."""

STARTUP: Final = Path(__file__).parent / "startup"


def install(*, subprocesses: bool = False) -> None:
    """Answer every `import langgraph...` of this process with modules of stepgraph, from now on.

    Call it before anything imports `langgraph`. Calling it again does nothing. In such a process `goto` to a node that does
    not exist warns, as long as `compile(unknown_target=)` says nothing else: programs in the field return `"END"`.

    Args:
        subprocesses: Also do so in Python processes that this one starts, by setting `STEPGRAPH_COMPAT` and `PYTHONPATH`
            in its environment.

    Raises:
        RuntimeError: The real `langgraph` is imported already.

    Example:
        >>> from stepgraph.compat import install
        >>> install()
        >>> import langgraph.types, stepgraph.types
        >>> langgraph.types.Command is stepgraph.types.Command
        True
    """
    if not any(isinstance(finder, NameFinder) for finder in sys.meta_path):
        _refuse_a_mixture()
        sys.meta_path.insert(0, NameFinder())
        sys.meta_path.append(ReverseFinder())
        defaults.unknown_target = "warn"
    if subprocesses:
        os.environ.update(variables(os.environ))


def _refuse_a_mixture() -> None:
    for name, module in list(sys.modules.items()):
        if name == ROOT or name.startswith(f"{ROOT}."):
            raise RuntimeError(
                f"{name} is already imported, from {_place(module)}, so this process would mix two engines. Call "
                "stepgraph.compat.install() before the first import of langgraph or of a package that imports it, or run "
                "the program with: python -m stepgraph.compat PROGRAM"
            )


def _place(module: Any) -> str:
    file = getattr(module, "__file__", None)
    return str(file or next(iter(getattr(module, "__path__", None) or ()), "an unknown place"))


def variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment variables that put the hook into every Python process that has them.

    Args:
        environment: The variables there are: what is on `PYTHONPATH` stays there.
    """
    source = str(Path(__file__).parents[2])
    known = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    wanted = [str(STARTUP)] if _is_installed(source) else [str(STARTUP), source]
    path = os.pathsep.join([*wanted, *[entry for entry in known if entry not in wanted]])
    return {VARIABLE: "1", "PYTHONPATH": path}


def _is_installed(source: str) -> bool:
    """Whether any Python of this environment finds the package without help."""
    from site import getsitepackages, getusersitepackages

    return source in {*getsitepackages(), getusersitepackages()}
