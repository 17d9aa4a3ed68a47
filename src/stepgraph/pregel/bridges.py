"""Where a bridge to another library hooks into the engine, and how it is loaded at the right moment.

Theory of operation. The engine imports no bridge and no library that a bridge leads to. It leaves one finder on
`sys.meta_path` that does nothing but compare names. When the module that a bridge waits for has just been executed, the
bridge is imported and its `attach` is called with that module; if the module was there before us, this happens at once.
So it does not matter which of the two is imported first, and a program that never loads the other library pays for a
comparison of names at each import and for nothing else.

Rules of this file: names of modules, never their contents. `active` is what `open_run` and the drivers ask; None costs one
comparison a run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.opening import Options

Config = Mapping[str, Any]

WAITING: dict[str, tuple[str, str]] = {
    "langchain_core.runnables.base": ("stepgraph.langchain.attach", "attach_runnables"),
    "langchain_core.messages.tool": ("stepgraph.langchain.attach", "attach_tool_outputs"),
}
"""Module that is waited for -> (bridge module, its function that is called with that module)."""


class Bridge(Protocol):
    """What the engine asks of a bridge to a library that has callbacks and a config of its own.

    While tasks are started, `variable` holds `task_config`, so that code of the library finds the running task's config.
    """

    variable: ContextVar[Any]
    task_config: Any

    def root_config(self, config: Config | None) -> Config | None:
        """The config of a root run, with what it inherits from code of the other library around it."""

    def observe(self, machine: Machine, options: Options) -> None:
        """Let callbacks watch the run that this machine is about to begin, if there are any."""

    def anything_around(self) -> bool:
        """Whether the other library would by itself tell somebody of what an unwatched run does now."""

    def adopt(self, kind: type) -> None:
        """Make a class of ours one of the other library's kind."""

    def calls_of(self, action: Any) -> tuple[Any, Any] | None:
        """How a node calls an action of a form that only the other library knows; None for all others."""


active: Bridge | None = None
"""The bridge, once the library it leads to is loaded."""


def around(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call so that code of the other library finds the config of whichever task is running."""
    bridge = active
    if bridge is None:
        return call(*arguments)
    variable = bridge.variable
    outer = variable.get()
    variable.set(bridge.task_config)
    try:
        return call(*arguments)
    finally:
        variable.set(outer)


class _Finder:
    """Looks at the name of every module that is imported, and acts on those that a bridge waits for."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in WAITING:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec: ModuleSpec | None = find(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    _attach_after(spec.loader)
                return spec
        return None


def _attach_after(loader: Any) -> None:
    """Let this loader, which loads one module, attach the bridge when that module was executed."""
    execute = loader.exec_module

    def exec_module(module: Any) -> None:
        loader.exec_module = execute
        execute(module)
        _attach(module)

    loader.exec_module = exec_module


def _attach(module: Any) -> None:
    found = WAITING.pop(module.__name__, None)
    if not WAITING:
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    if found is not None:
        from importlib import import_module

        bridge, function = found
        getattr(import_module(bridge), function)(module)


def install() -> None:
    """Attach the bridges whose library is loaded, and wait for the others."""
    for name in list(WAITING):
        module = sys.modules.get(name)
        if module is not None and not getattr(module.__spec__, "_initializing", False):
            _attach(module)
    if WAITING and not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


ADOPTED: list[type] = []
"""Our classes that become classes of the other library's kind once it is loaded."""


def adopt(kind: type) -> type:
    """Let a class of ours be of the other library's kind, now or as soon as that is loaded."""
    ADOPTED.append(kind)
    if active is not None:
        active.adopt(kind)
    return kind


def load() -> None:
    """Load the library now: somebody gave callbacks of it to a run.

    Raises:
        ImportError: It is not installed.
    """
    from importlib import import_module

    for name in list(WAITING):
        try:
            import_module(name)
        except ImportError as error:
            raise ImportError(
                'The config has callbacks, which are LangChain\'s. Install it: pip install "stepgraph[langchain]"'
            ) from error


install()
