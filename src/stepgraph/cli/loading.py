"""`MODULE_OR_FILE:NAME`: importing a person's program and finding the graph in it.

A file is imported as the module that it is: inside a package (a folder with `__init__.py`) under its dotted name, so that
relative imports work; else under its own name, with its folder on the path, as `python FILE` would have it.

Rules: this is the only place that runs a person's code to get at a graph. Errors of that code are shown as they are.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from stepgraph.cli.exits import CommandError, Misuse

USUAL_NAMES = ("graph", "app", "workflow")


class Target:
    """A graph that was found.

    Attributes:
        spec: How the person named it, for hints.
        graph: A `Pregel`, or a `StateGraph` that is not compiled yet.
    """

    def __init__(self, spec: str, graph: Any) -> None:
        self.spec = spec
        self.graph = graph

    def own_saver(self) -> Any:
        """The saver that the graph was compiled with, if it outlives a process."""
        saver = getattr(self.graph, "checkpointer", None)
        if saver is None or isinstance(saver, bool):
            return None
        from stepgraph.checkpoint.memory import InMemorySaver

        return None if isinstance(saver, InMemorySaver) else saver

    def compiled(self, saver: Any) -> Any:
        """The graph, compiled, with this saver; with None the one that it was compiled with."""
        from stepgraph.pregel.pregel import Pregel

        if not isinstance(self.graph, Pregel):
            return self.graph.compile(checkpointer=saver)
        return self.graph if saver is None else self.graph.copy({"checkpointer": saver})


def load(spec: str) -> Target:
    """Import a program and find its graph.

    Args:
        spec: `MODULE:NAME` or `FILE.py:NAME`; the name may be left out where there is one graph only.

    Raises:
        Misuse: There is no such module, file or name, or what it names is no graph.
        CommandError: The program, or the function that makes the graph, raised.
    """
    place, name = _split(spec)
    module = _imported(place, spec)
    if not name:
        name = _only_graph(module, spec)
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise Misuse(f"{spec}: {place} has no {name!r}.", _choices(module)) from None
    return Target(spec, _made(found, spec))


def _split(spec: str) -> tuple[str, str]:
    place, colon, name = spec.rpartition(":")
    if not colon or "/" in name or "\\" in name:  # no name, or the colon of C:\...
        return spec, ""
    return place, name


def _imported(place: str, spec: str) -> ModuleType:
    is_file = place.endswith(".py") or "/" in place or "\\" in place
    if is_file:
        path = Path(place).resolve()
        if not path.is_file():
            raise Misuse(f"{spec}: there is no file {place}.")
        root, name = _module_of(path)
    else:
        root, name = Path.cwd(), place
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return _import(name, path if is_file else None, spec)


def _module_of(path: Path) -> tuple[Path, str]:
    """The folder that belongs on the path, and the module's name as seen from there."""
    parts = [] if path.name == "__init__.py" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def _import(name: str, path: Path | None, spec: str) -> ModuleType:
    from importlib import import_module

    try:
        module = import_module(name)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name and _is_part(error.name, name):
            raise Misuse(
                f"{spec}: there is no module {error.name!r} here.", "Give FILE.py:NAME, or go to its folder."
            ) from error
        raise CommandError(
            f"{spec}: importing it failed: {type(error).__name__}: {error}", "See all with --traceback."
        ) from error
    loaded = getattr(module, "__file__", None)
    if path is not None and (loaded is None or Path(loaded).resolve() != path):
        return _from_file(name, path, spec)
    return module


def _is_part(missing: str, name: str) -> bool:
    return name == missing or name.startswith(missing + ".")


def _from_file(name: str, path: Path, spec: str) -> ModuleType:
    """A file whose name another module has already (`types.py`): imported from its place, under a name beside that."""
    from importlib.util import module_from_spec, spec_from_file_location

    own = f"{name}_from_file"
    found = spec_from_file_location(own, path)
    if found is None or found.loader is None:
        raise Misuse(f"{spec}: {path.name} is no Python file.")
    module = module_from_spec(found)
    sys.modules[own] = module
    try:
        found.loader.exec_module(module)
    except Exception as error:
        raise CommandError(
            f"{spec}: importing it failed: {type(error).__name__}: {error}", "See all with --traceback."
        ) from error
    return module


def is_graph(thing: Any) -> bool:
    """Whether something is a compiled graph, an entrypoint, or a declared graph."""
    from stepgraph.graph.state import StateGraph
    from stepgraph.pregel.pregel import Pregel

    return isinstance(thing, Pregel | StateGraph)


def _graphs_in(module: ModuleType) -> list[str]:
    return [name for name, value in vars(module).items() if name[0] != "_" and is_graph(value)]


def _only_graph(module: ModuleType, spec: str) -> str:
    from stepgraph.pregel.pregel import Pregel

    names = _graphs_in(module)
    compiled = [name for name in names if isinstance(getattr(module, name), Pregel)]
    for candidates in (names, compiled, [name for name in USUAL_NAMES if name in names][:1]):
        if len(candidates) == 1:
            return candidates[0]
    raise Misuse(f"{spec}: say which graph, as in {spec}:NAME.", _choices(module))


def _choices(module: ModuleType) -> str:
    names = _graphs_in(module)
    return f"Graphs there: {', '.join(names)}." if names else "No graph is defined there."


def _made(found: Any, spec: str) -> Any:
    """The graph itself, or what the function that was named returns."""
    if is_graph(found):
        return found
    if not callable(found):
        raise Misuse(
            f"{spec} is no graph, but of type {type(found).__name__}.",
            "Name a compiled graph, a StateGraph, an entrypoint, or a function that returns one.",
        )
    try:
        made = found(*_arguments(found, spec))
        if hasattr(made, "__await__"):
            from asyncio import run

            made = run(_awaited(made))
    except CommandError:
        raise
    except Exception as error:
        raise CommandError(
            f"{spec}() failed: {type(error).__name__}: {error}", "See all with --traceback."
        ) from error
    if not is_graph(made):
        raise Misuse(f"{spec}() returned no graph, but something of type {type(made).__name__}.")
    return made


def _arguments(function: Any, spec: str) -> tuple[Any, ...]:
    """No argument, or an empty config where the function takes one."""
    from inspect import Parameter, signature

    needed = [
        parameter
        for parameter in signature(function).parameters.values()
        if parameter.default is Parameter.empty
        and parameter.kind
        in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    ]
    if not needed:
        return ()
    if len(needed) == 1 and needed[0].kind is not Parameter.KEYWORD_ONLY:
        return ({"configurable": {}},)
    names = ", ".join(parameter.name for parameter in needed)
    raise Misuse(f"{spec} needs arguments ({names}); name a function that needs none, or at most a config.")


async def _awaited(waiting: Any) -> Any:
    return await waiting
