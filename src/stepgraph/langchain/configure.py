"""Whether anybody watches a run, and with which handlers.

Handlers come from the config's `callbacks`, from the runnable, tool or node around the call, from LangChain's hooks (context
managers that collect runs, tokens or costs; environment variables of tracers; `set_debug`), and from a stream of messages.
Looking must be cheap: it happens once in every run of a program that has LangChain loaded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any

from stepgraph.pregel.config import TRACED_KEYS, merge_configs
from stepgraph.pregel.observers import is_among, together
from stepgraph.pregel.task import current_task

if TYPE_CHECKING:
    from stepgraph.langchain.attach import LangChainBridge
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.opening import Options
    from stepgraph.pregel.scope import Scope

Config = Mapping[str, Any]

_TRACING_VARIABLES = (
    "LANGSMITH_TRACING",
    "LANGCHAIN_TRACING_V2",
    "LANGSMITH_TRACING_V2",
    "LANGCHAIN_TRACING",
)


class Given:
    """What one call brings to the run that it opens, before the run begins."""

    __slots__ = ("callbacks", "handler")

    def __init__(self, callbacks: Any, handler: Any) -> None:
        self.callbacks = callbacks
        self.handler = handler


def inherited_by_root(outer: Config, config: Config | None) -> Config | None:
    """The config of a root run inside other code of LangChain's: that code's config, and over it what was given.

    A root run that a node starts (by a `thread_id` of its own) inherits who watches, and none of its place.
    """
    if current_task() is None:
        return merge_configs(outer, config)
    callbacks: Any = outer.get("callbacks")
    if hasattr(callbacks, "remove_metadata"):
        callbacks = callbacks.copy()
        callbacks.remove_metadata([key for key in callbacks.metadata if _is_place(key)])
    metadata = {key: value for key, value in (outer.get("metadata") or {}).items() if not _is_place(key)}
    kept = {"callbacks": callbacks, "tags": outer.get("tags"), "metadata": metadata}
    return merge_configs({key: value for key, value in kept.items() if value}, config)


def _is_place(key: str) -> bool:
    """Whether a key of metadata says where in its run something stands."""
    return key.startswith("langgraph_") or key in TRACED_KEYS


def observe(bridge: LangChainBridge, machine: Machine, options: Options) -> None:
    """Give a run that was just opened an observer, if anything watches it."""
    sink = options.sink
    streams = sink is not None and sink.wants_messages
    scope = machine.scope
    if machine.parent is None:
        callbacks = scope.config.get("callbacks")
        if not (callbacks or streams or anything_ambient()):
            return
        scope.observer = together(scope.observer, _observer())
    else:
        callbacks = _around_call(bridge, machine)
        if not _watches(scope.observer):
            if not (callbacks or streams):
                return
            scope = machine.scope = _watched(scope)
    handler = None
    if streams:
        from stepgraph.langchain.tokens import MessageEventHandler, TokenHandler

        assert sink is not None
        kind = MessageEventHandler if sink.message_events else TokenHandler
        handler = kind(sink.put, machine.namespace_parts, options.subgraphs)
    machine.observed = Given(callbacks, handler)


def _observer() -> Any:
    from stepgraph.langchain.observer import CALLBACKS

    return CALLBACKS


def _watches(observer: Any) -> bool:
    """Whether LangChain's callbacks are told of what this observer is told of."""
    loaded = sys.modules.get("stepgraph.langchain.observer")
    return loaded is not None and observer is not None and is_among(loaded.CALLBACKS, observer)


def _watched(scope: Scope) -> Scope:
    """The same run, watched from here on."""
    twin = scope.twin()
    twin.observer = together(scope.observer, _observer())
    return twin


def _around_call(bridge: LangChainBridge, machine: Machine) -> Any:
    """The callbacks of a graph that a node's code calls: those of a runnable around the call, and those given to it."""
    level = machine.level
    outer = bridge.variable.get()
    if outer and outer is not bridge.task_config:
        kept = {key: outer[key] for key in ("callbacks", "tags", "metadata") if outer.get(key)}
        level.config = merge_configs(kept, level.config)
    return None if level.config is None else level.config.get("callbacks")


def anything_ambient() -> bool:
    """Whether handlers would be added that nobody gave: LangChain's own (tracers, collectors, the debug printer), or those of
    instrumentation."""
    unloaded = "langchain_core.tracers.context" not in sys.modules
    return (unloaded and any(os.environ.get(name) for name in _TRACING_VARIABLES)) or anything_around()


def anything_around() -> bool:
    """The same in a run that has begun, which looked at the environment then: what the code around has set."""
    if _managers_are_patched():
        return True
    context = sys.modules.get("langchain_core.tracers.context")
    if context is None:
        return _debug()
    for variable, _, kind, name in context._configure_hooks:
        if variable.get() is not None or (name is not None and kind is not None and os.environ.get(name)):
            return True
    return context.tracing_v2_callback_var.get() is not None or _langsmith_traces() or _debug()


def _managers_are_patched() -> bool:
    """Whether somebody has put a function around the making of callback managers, to add a handler to each of them.

    Instrumentation for OpenTelemetry works this way. LangChain's own function is a plain one, written in LangChain's file.
    """
    home = sys.modules.get("langchain_core.callbacks.base")
    if home is None:
        return False
    make: Any = home.BaseCallbackManager.__init__
    return type(make) is not FunctionType or make.__code__.co_filename != home.__file__


def _langsmith_traces() -> bool:
    """What `langsmith.utils.tracing_is_enabled` answers, in a third of the time."""
    helpers, utils = sys.modules["langsmith.run_helpers"], sys.modules["langsmith.utils"]
    here = helpers.get_tracing_context()
    if here["enabled"] is not None:
        return bool(here["enabled"])
    everywhere = getattr(sys.modules["langsmith._internal._context"], "_GLOBAL_TRACING_ENABLED", None)
    if here["parent"] is not None or everywhere is not None:
        return here["parent"] is not None or bool(everywhere)
    return bool(utils.get_env_var("TRACING_V2", default=utils.get_env_var("TRACING", default="")) == "true")


def _debug() -> bool:
    settings = sys.modules.get("langchain_core.globals")
    return settings is not None and settings.get_debug()  # type: ignore[no-any-return]
