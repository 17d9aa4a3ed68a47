"""Attaching the bridge: called the moment LangChain's modules are loaded, or at once if they are.

`Pregel` is given LangChain's `Runnable` as a base. A graph then is a runnable in every respect: `isinstance`, pipes, schemas,
retries and fallbacks, whatever LangChain adds to that class; what `Pregel` defines itself stands before it. Graphs that exist
already are runnables from that moment on, too. `Command` gets the mark of what a tool may return, in the same way.

Nothing heavy happens here: observers, handlers and tracers are loaded by the first run that has callbacks.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic

from stepgraph.langchain.ambient import TASK_CONFIG
from stepgraph.pregel import bridges

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.opening import Options


class LangChainBridge:
    """What the engine asks of LangChain."""

    def __init__(self, runnable: type, variable: ContextVar[Any]) -> None:
        self.runnable = runnable
        self.variable = variable
        self.task_config: Any = TASK_CONFIG

    def root_config(self, config: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """The config of a root run, with what it inherits from the runnable around it, if there is one."""
        outer = self.variable.get()
        if not outer:
            return config
        from stepgraph.langchain.configure import inherited_by_root

        return inherited_by_root(outer, config)

    def observe(self, machine: Machine, options: Options) -> None:
        """Let callbacks watch a run that is about to begin, if somebody gave any, or its messages are streamed."""
        from stepgraph.langchain.configure import observe

        observe(self, machine, options)

    def anything_around(self) -> bool:
        """Whether LangChain would by itself tell somebody of what a run does now: tracers, collectors, the debug printer."""
        from stepgraph.langchain.configure import anything_around

        return anything_around()

    def adopt(self, kind: type) -> None:
        """Make a class of ours a `Runnable`."""
        if self.runnable not in kind.__mro__:  # issubclass() would remember the answer
            bases = [base for base in kind.__bases__ if base is not Generic]
            kind.__bases__ = (*bases, self.runnable, Generic)

    def calls_of(self, action: Any) -> tuple[Any, Any] | None:
        """How a node calls a runnable, or a dict of them; None for any other action."""
        if not isinstance(action, (dict, self.runnable)):
            return None
        from stepgraph.langchain.nodes import calls_of

        return calls_of(action)


def attach_runnables(module: ModuleType) -> None:
    """`langchain_core.runnables.base` is loaded."""
    config = sys.modules["langchain_core.runnables.config"]
    bridge = LangChainBridge(module.Runnable, config.var_child_runnable_config)
    bridges.active = bridge
    for kind in bridges.ADOPTED:
        bridge.adopt(kind)


def attach_tool_outputs(module: ModuleType) -> None:
    """`langchain_core.messages.tool` is loaded: a `Command` is something that a tool may return."""
    from stepgraph.values.commands import Command, ToolOutput

    mark = module.ToolOutputMixin
    Command.__bases__ = tuple(mark if base is ToolOutput else base for base in Command.__bases__)
