"""What a node or a caller says to the engine: go there, write this, pause, go on.

These are data. They are made often (one `Send` a task of a fan-out), so construction is kept cheap. All of them compare
by value, copy, and pickle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Literal, TypeVar, final

from stepgraph.values.missing import MISSING, Missing
from stepgraph.values.names import NS_SEP, ROOT
from stepgraph.values.record import FrozenRecord, Record

if TYPE_CHECKING:
    from datetime import timedelta

    from stepgraph.values.policies import TimeoutPolicy

N = TypeVar("N", bound=str)
ResponseT = TypeVar("ResponseT")

PLACEHOLDER_INTERRUPT_ID: Final = "placeholder-id"
"""The id of an `Interrupt` that was made outside of a graph."""


class Send:
    """A message to one node: run it in the next step, with this as its input.

    Args:
        node: The node to run.
        arg: Its input, in place of the graph's state.
        timeout: A limit for this task alone, as seconds, `timedelta` or `TimeoutPolicy`.

    Raises:
        ValueError: The timeout is not greater than 0.

    Example:
        >>> [Send("summarize", {"document": text}) for text in ("a", "b")]
        [Send(node='summarize', arg={'document': 'a'}), Send(node='summarize', arg={'document': 'b'})]
    """

    __slots__ = ("arg", "node", "timeout")

    node: str
    arg: Any
    timeout: TimeoutPolicy | None

    def __init__(
        self, /, node: str, arg: Any, *, timeout: float | timedelta | TimeoutPolicy | None = None
    ) -> None:
        self.node = node
        self.arg = arg
        self.timeout = None if timeout is None else _timeout_policy(timeout)

    def __hash__(self) -> int:
        return hash((self.node, self.arg, self.timeout))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Send)
            and self.node == other.node
            and self.arg == other.arg
            and self.timeout == other.timeout
        )

    def __repr__(self) -> str:
        if self.timeout is None:
            return f"Send(node={self.node!r}, arg={self.arg!r})"
        return f"Send(node={self.node!r}, arg={self.arg!r}, timeout={self.timeout!r})"


def _timeout_policy(value: float | timedelta | TimeoutPolicy) -> TimeoutPolicy | None:
    from stepgraph.values.policies import TimeoutPolicy

    return TimeoutPolicy.coerce(value)


class ToolOutput:
    """Base of what a tool may return in place of a message.

    Without LangChain it means nothing. The LangChain bridge swaps it, in `Command.__bases__`, for LangChain's own mark,
    which is why it must stay empty and without slots.
    """


class Command(Generic[N], ToolOutput, FrozenRecord):
    """Update the state and say what comes next, or answer a pause.

    Args:
        graph: For which graph: `None` is this one, `Command.PARENT` the one above.
        update: What to write: a dict, pairs of key and value, an object with annotations, or for a state that is a
            single value, that value.
        resume: The answer to the pending `interrupt()`, or a dict from interrupt ids to answers. Every value is an
            answer, `None` too.
        goto: What runs next: a node's name, a `Send`, or several of them.
        resume_given: For copies and decoders only: whether a `resume` of `None` is an answer.

    Example:
        >>> Command(update={"draft": "..."}, goto="review")
        Command(update={'draft': '...'}, goto='review')
        >>> Command(resume=None) == Command()
        False
    """

    __slots__ = ("goto", "graph", "resume", "resume_given", "update")
    record_fields = ("graph", "update", "resume", "goto")

    graph: str | None
    update: Any | None
    resume: dict[str, Any] | Any | None
    goto: Send | Sequence[Send | N] | N
    resume_given: bool

    PARENT: ClassVar[Literal["__parent__"]] = "__parent__"

    def __init__(
        self,
        *,
        graph: str | None = None,
        update: Any | None = None,
        resume: dict[str, Any] | Any | None = MISSING,
        goto: Send | Sequence[Send | N] | N = (),
        resume_given: bool | None = None,
    ) -> None:
        _set_graph(self, graph)
        _set_update(self, update)
        _set_goto(self, goto)
        if resume is MISSING or (resume is None and resume_given is False):
            _set_resume(self, None)
            _set_resume_given(self, False)
        else:
            _set_resume(self, resume)
            _set_resume_given(self, True)

    def _as_tuple(self) -> tuple[Any, ...]:
        return (self.graph, self.update, self.resume, self.goto, self.resume_given)

    def __repr__(self) -> str:
        content = [
            f"{name}={value!r}"
            for name in self.record_fields
            if (value := getattr(self, name)) or (name == "resume" and self.resume_given)
        ]
        return f"Command({', '.join(content)})"

    def _update_as_tuples(self) -> Sequence[tuple[str, Any]]:
        """The update as pairs of channel and value."""
        return update_as_tuples(self.update)


_set_graph = Command.__dict__["graph"].__set__
_set_update = Command.__dict__["update"].__set__
_set_resume = Command.__dict__["resume"].__set__
_set_resume_given = Command.__dict__["resume_given"].__set__
_set_goto = Command.__dict__["goto"].__set__


def resume_of(command: Command[Any]) -> Any | Missing:
    """The answer that a command carries, or `MISSING` if it carries none (`None` is an answer)."""
    return command.resume if command.resume_given else MISSING


def update_as_tuples(update: Any) -> Sequence[tuple[str, Any]]:
    """Turn any form of update into pairs of channel and value; what has no keys goes to the root channel."""
    if update is None:
        return []
    if isinstance(update, dict):
        return list(update.items())
    if isinstance(update, list | tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in update
    ):
        return update
    fields = annotated_fields(type(update))
    if fields:
        return [(name, value) for name in fields if (value := getattr(update, name, MISSING)) is not MISSING]
    return [(ROOT, update)]


def annotated_fields(cls: type) -> list[str]:
    """The names that a class and its bases annotate, bases first."""
    names: dict[str, None] = {}
    for base in reversed(cls.__mro__):
        annotations: Mapping[str, Any] = base.__dict__.get("__annotations__", {})  # noqa: RUF063
        names.update(dict.fromkeys(annotations))
    return list(names)


@final
class Overwrite(Record):
    """Replace a field's value instead of folding into it; other writes of the step to that field are dropped.

    Args:
        value: The value that the field gets.
        type: The mark by which the JSON form is known.

    Example:
        >>> {"messages": Overwrite([])}
        {'messages': Overwrite(value=[], type='__overwrite__')}
    """

    __slots__ = record_fields = ("value", "type")

    value: Any
    type: Literal["__overwrite__"]

    def __init__(self, value: Any, type: Literal["__overwrite__"] = "__overwrite__") -> None:
        self.value = value
        self.type = type


class Interrupt(Record, Generic[ResponseT]):
    """A pause that a person (or a program) is to answer.

    Args:
        value: What the node wants to show or ask.
        id: Names the pause; `Command(resume={id: answer})` answers it.
        response_schema: The JSON schema (or type) that an answer should have.
        deprecated_kwargs: Keys of older forms; of these `ns` still gives an id if there is none, the others are
            ignored.
    """

    __slots__ = record_fields = ("value", "id", "response_schema")
    __match_args__ = ("value", "id", "response_schema")

    value: Any
    id: str
    response_schema: type[ResponseT] | dict[str, Any] | None

    def __init__(
        self,
        value: Any,
        id: str = PLACEHOLDER_INTERRUPT_ID,
        *,
        response_schema: type[ResponseT] | dict[str, Any] | None = None,
        **deprecated_kwargs: Any,
    ) -> None:
        self.value = value
        self.response_schema = response_schema
        if deprecated_kwargs and id == PLACEHOLDER_INTERRUPT_ID:
            namespace = deprecated_kwargs.get("ns")
            if namespace:
                id = interrupt_id(namespace if isinstance(namespace, str) else NS_SEP.join(namespace))
        self.id = id

    @classmethod
    def from_ns(
        cls, value: Any, ns: str, *, response_schema: type[ResponseT] | dict[str, Any] | None = None
    ) -> Interrupt[ResponseT]:
        """Make an interrupt whose id is a digest of a namespace."""
        return cls(value, interrupt_id(ns), response_schema=response_schema)

    @property
    def interrupt_id(self) -> str:
        """The id (deprecated name)."""
        from warnings import warn

        from stepgraph.warnings import LangGraphDeprecatedSinceV10

        warn("`interrupt_id` is deprecated. Use `id` instead.", LangGraphDeprecatedSinceV10, stacklevel=2)
        return self.id


def interrupt_id(seed: str) -> str:
    """32 hex digits that stand for a seed: the same seed gives the same id, in every process."""
    from hashlib import blake2b

    return blake2b(seed.encode(), digest_size=16).hexdigest()
