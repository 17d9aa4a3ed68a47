"""The import hook: from a name of LangGraph's to the module of ours that answers it, or to a clear error.

Theory of operation. `NameFinder` stands first on `sys.meta_path`, so that no other finder ever sees a name below `langgraph`
that is not somebody else's. Its loader imports our module and puts it into `sys.modules` under the name that was asked for;
the module keeps its own name, spec and loader. Errors that our module raises while it is imported pass through.

A package of ours that answers for LangGraph's bears our name, so `from langgraph.checkpoint import redis` makes Python ask for
`stepgraph.checkpoint.redis`. `ReverseFinder` stands last on `sys.meta_path` and answers such a name, if nobody else could, with
the module of LangGraph's namespace.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

from stepgraph.compat.foreign import find_foreign
from stepgraph.compat.names import ANSWERED, INSIDE_FILES, ROOT, VERSIONS, is_closed

if TYPE_CHECKING:
    from importlib.metadata import Distribution, DistributionFinder

_BELOW = f"{ROOT}."
_ANSWERS = {ours: name for name, ours in ANSWERED.items()}


class SameModule:
    """A loader whose module is one that bears another name.

    Args:
        target: The name of the module that is answered.
    """

    def __init__(self, target: str) -> None:
        self.target = target

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Let Python make a placeholder; it is gone when the import is done."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module in the placeholder's place."""
        name = module.__name__
        sys.modules[name] = import_module(self.target)
        inside = INSIDE_FILES.get(name)
        if inside is not None:
            below, target = inside
            sys.modules[below] = import_module(target)


class NameFinder:
    """Answers LangGraph's names with our modules, and its distributions' versions."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        """How a module is loaded; None for names that are not LangGraph's, or that nobody has.

        What only we have would be found below our packages by other finders, and loaded a second time under that name.

        Raises:
            ModuleNotFoundError: The name is LangGraph's, and this package has nothing for it.
        """
        if name != ROOT and not name.startswith(_BELOW):
            return None
        answer = ANSWERED.get(name)
        if answer is not None:
            return ModuleSpec(name, SameModule(answer), is_package=True)  # type: ignore[arg-type]
        if name.rpartition(".")[0] not in ANSWERED:
            return None  # below a package of another distribution, which has a path of its own
        spec = find_foreign(name, (NameFinder, ReverseFinder))
        if spec is None and (is_closed(name) or PathFinder.find_spec(name, path) is not None):
            raise ModuleNotFoundError(_missing(name), name=name)
        return spec

    def find_distributions(self, context: DistributionFinder.Context) -> Iterator[Distribution]:
        """What `importlib.metadata` finds."""
        if context.name is not None and not context.name.lower().startswith(ROOT):
            return iter(())
        from stepgraph.compat.metadata import modelled

        return modelled(context)

    def invalidate_caches(self) -> None:
        """Nothing is kept here."""


class ReverseFinder:
    """Answers names below packages of ours that only LangGraph's namespace has."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        """How such a module is loaded; None if there is none of that name either."""
        parent, _, last = name.rpartition(".")
        package = _ANSWERS.get(parent)
        if package is None:
            return None
        asked = f"{package}.{last}"
        if ANSWERED.get(asked) == name:
            return None
        if asked not in ANSWERED and find_foreign(asked, (NameFinder, ReverseFinder)) is None:
            return None
        return ModuleSpec(name, SameModule(asked))  # type: ignore[arg-type]


def _missing(name: str) -> str:
    if not is_closed(name):
        return f"No module named {name!r}: it is a module of stepgraph, and none of langgraph."
    return (
        f"stepgraph has nothing that answers {name!r} (of langgraph {VERSIONS[ROOT]}). Under stepgraph.compat an installed "
        "langgraph is never used instead. If a package needs this name, please report it; "
        "docs/how-to/run-langgraph-programs.md lists the private names that are answered."
    )
