"""Error handlers in a declaration: what a handler may be, how it is called, and the hidden nodes that run them.

A handler is a node without edges: a function (or graph) that takes the state and the `NodeError`. It is given the error
by annotation under any name, or by the name `error`; one whose only parameter is the error is not given the state. A
handler of one node is called `__error_handler__{node}`; the handler that `set_node_defaults` sets is one node for all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from stepgraph.errors import NodeError
from stepgraph.graph.specs import NodeSpec
from stepgraph.pregel.call import INJECT, AsyncCall, Call, bind, by_position, by_result, is_graph
from stepgraph.pregel.handling import DEFAULT_HANDLER, HANDLER_PREFIX
from stepgraph.schema.annotations import bare_type
from stepgraph.schema.callables import injected_parameters, input_schema_of, state_parameter_of
from stepgraph.schema.signatures import signature_of

if TYPE_CHECKING:
    from stepgraph.graph.state import StateGraph


def handler_schema(action: Any) -> Any:
    """The schema that a handler asks for; None where it reads what its node reads."""
    return None if is_graph(action) or takes_only_the_error(action) else input_schema_of(action)


def check_handler(action: Any, where: str) -> None:
    """Refuse what cannot handle an error.

    Raises:
        TypeError: It cannot be called.
    """
    try:
        bind(action)
    except TypeError as error:
        raise TypeError(
            f"The error_handler of {where} must be a function that takes the state and the NodeError; got {action!r} of "
            f"type {type(action).__name__}. To go on with another node, return Command(goto=...) from the handler."
        ) from error


def handler_spec(builder: StateGraph, spec: NodeSpec) -> NodeSpec | None:
    """The hidden node that handles a node's failures; None where nobody does."""
    action = builder.policy_of(spec, "error_handler")
    if action is None or spec.is_error_handler:
        return None
    name = DEFAULT_HANDLER if spec.error_handler is None else HANDLER_PREFIX + spec.name
    handler = NodeSpec(name, action, handler_schema(action))
    handler.is_error_handler = True
    handler.is_subgraph = is_graph(action)
    return handler


def bind_handler(action: Any) -> tuple[Call | None, AsyncCall | None]:
    """The sync and async forms of a handler, each taking the handler's task."""
    if is_graph(action) or not callable(action) or hasattr(action, "invoke") or hasattr(action, "ainvoke"):
        return bind(action)
    function: Callable[..., Any] = action
    if takes_only_the_error(action):
        call: Call = lambda task: function(task.handled)  # noqa: E731
    else:
        getters = [(name, INJECT[kind]) for name, kind in _wanted(action).items()]
        if isinstance(action, partial):
            function = by_position(action)
        call = lambda task: function(task.input, **{name: get(task) for name, get in getters})  # noqa: E731
    return by_result(action, call)


def takes_only_the_error(action: Any) -> bool:
    """Whether the first parameter is annotated as the error, so that there is none for the state."""
    parameter = state_parameter_of(action) if callable(action) else None
    return parameter is not None and bare_type(parameter.resolved_annotation()) is NodeError


def _wanted(action: Callable[..., Any]) -> dict[str, str]:
    wanted: dict[str, str] = dict(injected_parameters(action))
    signature = signature_of(action)
    state = state_parameter_of(action)
    for parameter in () if signature is None else signature.free():
        if parameter.name == "error" and parameter != state and parameter.raw_annotation() is None:
            wanted["error"] = "error"
    return wanted
