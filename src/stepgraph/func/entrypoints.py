"""`@entrypoint`: a function as a graph of one node, with everything that a graph has: threads, pauses, streams, nesting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from types import CodeType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args, get_origin

from stepgraph.channels.ephemeral_value import EphemeralValue
from stepgraph.channels.last_value import LastValue
from stepgraph.func.deprecated import replaced
from stepgraph.pregel.calls import Returned, awaited, returned
from stepgraph.pregel.node import ChannelWriteEntry, PregelNode
from stepgraph.pregel.pregel import Pregel
from stepgraph.schema.callables import name_of, return_hint_of, state_parameter_of
from stepgraph.schema.json_schema import pydantic_model_for
from stepgraph.schema.kinds import is_pydantic_model
from stepgraph.schema.signatures import underlying_function
from stepgraph.values.names import END, PREVIOUS, START
from stepgraph.values.record import FrozenRecord

if TYPE_CHECKING:
    from stepgraph.cache.base import BaseCache
    from stepgraph.checkpoint.base import BaseCheckpointSaver
    from stepgraph.pregel.task import Task
    from stepgraph.store.base import BaseStore
    from stepgraph.values.policies import CachePolicy, RetryPolicy, TimeoutPolicy

R = TypeVar("R")
S = TypeVar("S")
ContextT = TypeVar("ContextT")

__all__ = ("EntrypointGraph", "entrypoint")


class Final(FrozenRecord, Generic[R, S]):
    """What an entrypoint returns to its caller, and apart from it what it saves for the thread's next run.

    Args:
        value: What the caller gets.
        save: What the next run on the thread finds in `previous`.

    Example:
        >>> entrypoint.final(value="hello", save=3)
        entrypoint.final(value='hello', save=3)
    """

    __slots__ = record_fields = ("value", "save")

    value: R
    save: S

    def __init__(self, *, value: R, save: S) -> None:
        _set_value(self, value)
        _set_save(self, save)


Final.__qualname__ = "entrypoint.final"
_set_value = Final.__dict__["value"].__set__
_set_save = Final.__dict__["save"].__set__


class EntrypointGraph(Pregel[Any, Any, Any, Any]):
    """What `@entrypoint` makes of a function: a graph with this one node."""

    _calls_tasks: bool | None = True
    _types: tuple[Any, Any] = (Any, Any)

    @property
    def InputType(self) -> Any:
        """The annotation of the function's first parameter."""
        return self._types[0]

    @property
    def OutputType(self) -> Any:
        """The annotation of what the function returns."""
        return self._types[1]

    def _schema_of(self, what: str) -> Any:
        annotation = self.InputType if what == "input" else self.OutputType
        return annotation if is_pydantic_model(annotation) else None

    def _model(self, what: str, suffix: str) -> Any:
        annotation = self.InputType if what == "input" else self.OutputType
        return pydantic_model_for(annotation, self._schema_name(suffix))


class entrypoint(Generic[ContextT]):
    """Make a function a workflow: something to invoke, stream, pause, resume and nest, as any compiled graph.

    The function's first parameter is the input; `config`, `previous`, `runtime`, `store` and `writer` are injected by
    name. What it returns is the output. It is a plain function: loops, branches and calls of `@task` functions in it are
    plain Python, sync or async.

    With a checkpointer each run belongs to a thread. What the function returns (or saves with `entrypoint.final`) is what
    the thread's next run finds in `previous`.

    Args:
        checkpointer: Where threads are kept; `True` keeps the state of a nested workflow over calls.
        store: Memory across threads.
        cache: Results of tasks that have a cache policy.
        context_schema: What `context=` must be.
        cache_policy: Reuse the workflow's own result for the same input.
        retry_policy: When a failed attempt is tried again.
        timeout: How long one attempt may take, in seconds, or a policy.

    Example:
        >>> from stepgraph.checkpoint.memory import InMemorySaver
        >>> @entrypoint(checkpointer=InMemorySaver())
        ... def count(step: int, *, previous: int | None = None) -> int:
        ...     return (previous or 0) + step
        >>> thread = {"configurable": {"thread_id": "1"}}
        >>> count.invoke(2, thread), count.invoke(3, thread)
        (2, 5)
    """

    final = Final

    def __init__(
        self,
        checkpointer: BaseCheckpointSaver[Any] | bool | None = None,
        store: BaseStore | None = None,
        cache: BaseCache[Any] | None = None,
        context_schema: type[ContextT] | None = None,
        cache_policy: CachePolicy[Any] | None = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        timeout: float | timedelta | TimeoutPolicy | None = None,
        **kwargs: Any,
    ) -> None:
        context_schema = replaced(
            kwargs, "entrypoint", "config_schema", "context_schema", context_schema, last=False
        )
        retry_policy = replaced(kwargs, "entrypoint", "retry", "retry_policy", retry_policy)
        self.checkpointer = checkpointer
        self.store = store
        self.cache = cache
        self.context_schema = context_schema
        self.cache_policy = cache_policy
        self.retry_policy = retry_policy
        self.timeout = timeout

    def __call__(self, func: Callable[..., Any]) -> EntrypointGraph:
        """The workflow of a function.

        Raises:
            ValueError: The function takes no argument.
            NotImplementedError: It is a generator.
        """
        parameter = state_parameter_of(func)
        if parameter is None:
            raise ValueError(
                f"Entrypoint function must have at least one parameter: {name_of(func)!r} has none that takes the input."
            )
        _refuse_generator(func)
        name = name_of(func)
        given = _type_of(parameter.resolved_annotation())
        value, save = _returned_types(return_hint_of(func))
        graph = EntrypointGraph(
            nodes={name: self._node(func)},
            channels={
                START: EphemeralValue(given),
                END: LastValue(value, END),
                PREVIOUS: LastValue(save, PREVIOUS),
            },
            input_channels=START,
            output_channels=END,
            stream_channels=END,
            stream_mode="updates",
            stream_eager=True,
            checkpointer=self.checkpointer,
            store=self.store,
            cache=self.cache,
            cache_policy=self.cache_policy,
            retry_policy=self.retry_policy or (),
            context_schema=self.context_schema,
        )
        graph._types = (given, value)
        node = graph.plan.nodes[name]
        node.plain = None
        if node.call is not None:
            node.call = returned(node.call)
        if node.acall is not None:
            node.acall = awaited(node.acall)
        node.take = _take_return
        return graph

    def _node(self, func: Callable[..., Any]) -> PregelNode:
        return PregelNode(
            bound=func,
            triggers=[START],
            channels=START,
            writers=[
                ChannelWriteEntry(END, mapper=lambda result: _taken_apart(result)[0]),
                ChannelWriteEntry(PREVIOUS, mapper=lambda result: _taken_apart(result)[1]),
            ],
            cache_policy=self.cache_policy,
            retry_policy=self.retry_policy,
            timeout=self.timeout,
        )


def _taken_apart(result: Any) -> tuple[Any, Any]:
    """What is answered and what is saved."""
    return (result.value, result.save) if isinstance(result, Final) else (result, result)


def _take_return(task: Task, result: Any) -> None:
    value, save = _taken_apart(result.value if isinstance(result, Returned) else result)
    task.updates = {END: value, PREVIOUS: save}


def _refuse_generator(func: Callable[..., Any]) -> None:
    function = underlying_function(func)
    code = getattr(function, "__code__", None)
    if isinstance(code, CodeType) and code.co_flags & _GENERATES:
        raise NotImplementedError(
            f"Generators are not supported in the Functional API: {name_of(func)!r} has a yield. Return the result, and send "
            "what should be seen earlier through the injected writer (stream_mode='custom')."
        )


_GENERATES = 0x20 | 0x200
"""`CO_GENERATOR` and `CO_ASYNC_GENERATOR` of a code object's flags."""


def _type_of(annotation: Any) -> Any:
    return Any if annotation is None else annotation


def _returned_types(hint: Any) -> tuple[Any, Any]:
    """The types of the output and of what is saved, from the function's return annotation."""
    origin = get_origin(hint) or hint
    if origin is Final:
        parameters = get_args(hint)
        return parameters if len(parameters) == 2 else (Any, Any)
    return _type_of(hint), _type_of(hint)
