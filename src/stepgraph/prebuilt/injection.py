"""What a tool gets beside the arguments that the model gives: the state, the store, the runtime.

A tool says so in the annotations of its parameters. What it wants is found once, when its node is made; `inject` then
adds the values to each call. Values that a model gives for such parameters are dropped: it must not speak for the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import Parameter, signature
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from stepgraph.prebuilt.langchain_parts import HAS_LANGCHAIN, DirectlyInjectedToolArg, InjectedToolArg
from stepgraph.prebuilt.tool_call_events import TOOL_CALL_WRITER

if TYPE_CHECKING:
    from stepgraph.store.base import BaseStore
    from stepgraph.values.runtime import ExecutionInfo, ServerInfo
else:
    # Pydantic reads the fields of `ToolRuntime[...]` when it makes a model of a tool's parameters.
    BaseStore = ExecutionInfo = ServerInfo = Any

ContextT = TypeVar("ContextT")
StateT = TypeVar("StateT")

RUNTIME = "runtime"
"""A parameter of this name is given the `ToolRuntime` whatever its annotation says."""


class InjectedState(InjectedToolArg):
    """Marks a tool's parameter that is given the graph's state: `Annotated[dict, InjectedState]`.

    Args:
        field: Only this field of the state; by default the whole state.
    """

    def __init__(self, field: str | None = None) -> None:
        self.field = field


class InjectedStore(InjectedToolArg):
    """Marks a tool's parameter that is given the graph's store: `Annotated[BaseStore, InjectedStore()]`."""


@dataclass
class ToolRuntime(DirectlyInjectedToolArg, Generic[ContextT, StateT]):
    """What a tool can ask about the run it is part of; a parameter annotated `ToolRuntime` is given one.

    Attributes:
        state: The state that the tool's node was given.
        context: What the caller gave as `context=`.
        config: The config of the run.
        stream_writer: Sends a custom event to who streams the run.
        tool_call_id: The call that the tool answers.
        store: The memory that outlives threads.
        tools: The tools of the node.
        execution_info: Where in the run the node is.
        server_info: Which deployed graph this is.
    """

    state: StateT
    context: ContextT
    config: Any
    stream_writer: Callable[[Any], None]
    tool_call_id: str | None
    store: BaseStore | None
    tools: list[Any] = field(default_factory=list)
    execution_info: ExecutionInfo | None = None
    server_info: ServerInfo | None = None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Pydantic, which makes a model of a tool's parameters, takes an instance as it is."""
        from pydantic_core import core_schema

        return core_schema.is_instance_schema(cls)

    def emit_output_delta(self, delta: Any) -> None:
        """Send a part of the tool's output to who streams `tools`; nothing happens where nobody does."""
        write = TOOL_CALL_WRITER.get()
        if write is not None:
            write(delta)


class Wanted:
    """What one tool wants to be given.

    Attributes:
        states: parameter to the field of the state, None for all of it.
        stores: parameters that want the store.
        runtimes: parameters that want the `ToolRuntime`.
        names: all of these.
        optional: parameters with a default.
    """

    __slots__ = ("names", "optional", "runtimes", "states", "stores")

    def __init__(self) -> None:
        self.states: dict[str, str | None] = {}
        self.stores: set[str] = set()
        self.runtimes: set[str] = set()
        self.names: set[str] = set()
        self.optional: set[str] = set()

    def note(self, name: str, annotation: Any) -> None:
        """Take down what a parameter's annotation asks for."""
        marks = list(marks_of(annotation))
        if name == RUNTIME or any(mark is ToolRuntime for mark in marks):
            self.runtimes.add(name)
            self.names.add(name)
            return
        for mark in marks:
            if isinstance(mark, InjectedState) or mark is InjectedState:
                self.states[name] = getattr(mark, "field", None)
                self.names.add(name)
            elif isinstance(mark, InjectedStore) or mark is InjectedStore:
                self.stores.add(name)
                self.names.add(name)


def wanted_by(tool: Any) -> Wanted:
    """What a tool wants to be given, from its function's annotations and its schema of arguments."""
    wanted = Wanted()
    for function in _functions_of(tool):
        _note_parameters(wanted, function)
    if HAS_LANGCHAIN and hasattr(tool, "get_input_schema"):
        from langchain_core.tools.base import get_all_basemodel_annotations

        schema = tool.get_input_schema()
        for name, annotation in get_all_basemodel_annotations(schema).items():
            wanted.note(name, annotation)
        for name, described in getattr(schema, "model_fields", {}).items():
            if not described.is_required():
                wanted.optional.add(name)
    return wanted


def inject(
    name: str, wanted: Wanted, arguments: Mapping[str, Any], runtime: ToolRuntime[Any, Any], messages_key: str
) -> dict[str, Any]:
    """The arguments of a call with what the tool wants to be given.

    Args:
        name: The tool.
        wanted: What it wants.
        arguments: What the model gave.
        runtime: The call's runtime, which holds the state and the store.
        messages_key: The field that a state which is a bare list of messages stands for.

    Raises:
        ValueError: The state lacks a field, or there is no store.
    """
    names = wanted.names
    if not names:
        return dict(arguments)
    given = {key: value for key, value in arguments.items() if key not in names}
    for parameter, key in wanted.states.items():
        found, value = _from_state(runtime.state, key, messages_key)
        if found:
            given[parameter] = value
        elif parameter not in wanted.optional:
            raise _missing_field(name, parameter, key, runtime.state)
    for parameter in wanted.stores:
        if runtime.store is not None:
            given[parameter] = runtime.store
        elif parameter not in wanted.optional:
            raise ValueError(
                f"Cannot inject store into tools with InjectedStore annotations - please compile your graph with a store. "
                f"Tool {name!r} wants one for its parameter {parameter!r}: compile(store=...)."
            )
    for parameter in wanted.runtimes:
        given[parameter] = runtime
    return given


def _from_state(state: Any, key: str | None, messages_key: str) -> tuple[bool, Any]:
    if isinstance(state, list):
        state = {messages_key: state}
    if key is None:
        return True, state
    if isinstance(state, Mapping):
        return key in state, state.get(key)
    return hasattr(state, key), getattr(state, key, None)


def _missing_field(tool: str, parameter: str, key: str | None, state: Any) -> ValueError:
    if isinstance(state, list):
        return ValueError(
            f"Invalid input to ToolNode. Tool {tool} requires graph state dict as input. State should contain fields {key}."
        )
    known = ", ".join(map(repr, state)) if isinstance(state, Mapping) else f"those of {type(state).__name__}"
    return ValueError(
        f"Tool {tool!r} wants the state's field {key!r} for its parameter {parameter!r}, but the state that its node was given "
        f"has no value there; it has {known or 'none'}. Write the field first, or give the parameter a default."
    )


def _functions_of(tool: Any) -> Iterator[Callable[..., Any]]:
    """The functions that a tool runs; `_run` of a tool that wraps a function only passes on what it is given."""
    functions = [getattr(tool, name, None) for name in ("func", "coroutine")]
    if not any(functions):
        functions = [getattr(tool, name, None) for name in ("_run", "_arun")]
    yield from (function for function in functions if callable(function))


def _note_parameters(wanted: Wanted, function: Callable[..., Any]) -> None:
    hints = hints_of(function)
    for name, parameter in signature(function).parameters.items():
        if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
            continue
        wanted.note(name, hints.get(name))
        if parameter.default is not Parameter.empty:
            wanted.optional.add(name)


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function's parameters; a text that names nothing known stays a text."""
    while isinstance(function, partial):
        function = function.func
    if not hasattr(function, "__annotations__"):
        function = type(function).__call__
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError):
        return dict(getattr(function, "__annotations__", {}))


def marks_of(annotation: Any) -> Iterator[Any]:
    """The classes and metadata that an annotation is made of."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *metadata = get_args(annotation)
        yield from metadata
        yield from marks_of(inner)
    elif origin is Union or origin is UnionType:
        for member in get_args(annotation):
            yield from marks_of(member)
    else:
        yield origin or annotation
