"""Proving recovery: a saver that dies at a chosen moment, as the process would, and a check of every such moment.

Rules: what was stored before the moment stays stored, nothing is stored after it. The saver that was given is the one that
another process would open: go on with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from threading import Lock
from typing import Any, Final, TypeVar

from stepgraph.checkpoint.base import BaseCheckpointSaver
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.checkpoint.step_saver import EncodedStep, EncodedWrites

__all__ = ("SimulatedCrash", "assert_recovers", "crash_after")

S = TypeVar("S", bound=BaseCheckpointSaver[Any])


class SimulatedCrash(BaseException):
    """What a run raises whose saver died. No `Exception`: no node and no retry gets hold of it."""


class _Death:
    """When a saver dies, and whether it has."""

    def __init__(self, saves: int | None, step: int | None, tasks: int | None) -> None:
        self.saves, self.step, self.tasks = saves, step, tasks
        self.dead = saves == 0
        self.count = 0
        self.steps: dict[int, int] = {}
        self.lock = Lock()

    def check(self) -> None:
        """Refuse to store anything more.

        Raises:
            SimulatedCrash: The saver is dead.
        """
        if self.dead:
            raise SimulatedCrash("The saver was told to die here: see stepgraph.testing.crash_after.")

    def saved(self, *, step: int | None = None, task: bool = False) -> None:
        """Something was stored: a checkpoint of the root's superstep, or the writes of a task."""
        self.count += 1
        if self.saves is not None:
            self.saves -= 1
            self.dead = self.saves <= 0
        if self.tasks is not None and task:
            self.tasks -= 1
            self.dead = self.tasks <= 0
        if self.step is not None and step is not None and step >= self.step:
            self.dead = True


_SPECIAL: Final = ("__error__", "__interrupt__", "__resume__", "__scheduled__")


def _ended(writes: Sequence[tuple[str, Any]]) -> bool:
    """Whether these are the writes of a task that has ended."""
    return not all(channel in _SPECIAL for channel, _ in writes) if writes else True


def _root_step(config: Mapping[str, Any], metadata: Mapping[str, Any]) -> int | None:
    return None if config["configurable"].get("checkpoint_ns") else metadata.get("step")


def crash_after(
    saver: S, *, saves: int | None = None, step: int | None = None, tasks: int | None = None
) -> S:
    """The same saver over the same data, that dies at a chosen moment: it stores nothing from then on, and raises.

    Args:
        saver: The saver; it lives on, as that of another process.
        saves: Die after so many saves (0: before the first).
        step: Die when the checkpoint of this superstep of the root graph is stored.
        tasks: Die when so many tasks have been stored by themselves: those of parallel steps, as they end.

    Returns:
        A saver for `compile(checkpointer=...)`. The run raises `SimulatedCrash`.

    Raises:
        ValueError: Not exactly one moment is chosen.

    Example:
        >>> from typing import TypedDict
        >>> from stepgraph.graph import START, StateGraph
        >>> class State(TypedDict, total=False):
        ...     a: int
        >>> builder = StateGraph(State).add_node("n", lambda state: {"a": 1}).add_edge(START, "n")
        >>> saver, thread = InMemorySaver(), {"configurable": {"thread_id": "1"}}
        >>> try:
        ...     builder.compile(crash_after(saver, step=0)).invoke({}, thread, durability="sync")
        ... except SimulatedCrash:
        ...     print("died", builder.compile(saver).get_state(thread).next)
        died ('n',)
        >>> builder.compile(saver).invoke(None, thread)
        {'a': 1}
    """
    if [saves, step, tasks].count(None) != 2:
        raise ValueError("Choose one moment: saves=, step= or tasks=.")
    return _mortal(saver, _Death(saves, step, tasks))


def _mortal(saver: S, death: _Death) -> S:
    twin = copy(saver)
    own = type(saver)
    inline = bool(getattr(saver, "inline", False))
    members: dict[str, Any] = {"get_tuple": own.get_tuple, "aget_tuple": own.aget_tuple}
    members |= _plain_members(own, death)
    if hasattr(own, "put_step"):
        members |= _inline_members(own, death) if inline else _batched_members(own, death)
    twin.__class__ = type(f"Mortal{own.__name__}", (own,), members)
    return twin


def _plain_members(own: Any, death: _Death) -> dict[str, Any]:
    """The standard protocol, one save a call."""

    def put(self: Any, config: Any, checkpoint: Any, metadata: Any, *rest: Any) -> Any:
        with death.lock:
            death.check()
            stored = own.put(self, config, checkpoint, metadata, *rest)
            death.saved(step=_root_step(config, metadata))
            return stored

    def put_writes(self: Any, config: Any, writes: Any, *rest: Any) -> None:
        with death.lock:
            death.check()
            own.put_writes(self, config, writes, *rest)
            death.saved(task=_ended(writes))

    async def aput(self: Any, config: Any, checkpoint: Any, metadata: Any, *rest: Any) -> Any:
        death.check()
        stored = await own.aput(self, config, checkpoint, metadata, *rest)
        death.saved(step=_root_step(config, metadata))
        return stored

    async def aput_writes(self: Any, config: Any, writes: Any, *rest: Any) -> None:
        death.check()
        await own.aput_writes(self, config, writes, *rest)
        death.saved(task=_ended(writes))

    return {"put": put, "put_writes": put_writes, "aput": aput, "aput_writes": aput_writes}


def _inline_members(own: Any, death: _Death) -> dict[str, Any]:
    """Savers that never wait: one save a superstep."""

    def put_step(self: Any, config: Any, changes: Any, metadata: Any, **options: Any) -> None:
        with death.lock:
            death.check()
            own.put_step(self, config, changes, metadata, **options)
            death.saved(step=_root_step(config, metadata))

    async def aput_step(self: Any, *args: Any, **options: Any) -> None:
        put_step(self, *args, **options)

    async def aput(self: Any, *args: Any) -> Any:
        return self.put(*args)

    async def aput_writes(self: Any, *args: Any) -> None:
        self.put_writes(*args)

    return {"put_step": put_step, "aput_step": aput_step, "aput": aput, "aput_writes": aput_writes}


def _batched_members(own: Any, death: _Death) -> dict[str, Any]:
    """Savers that store what was encoded: one save each, so that a batch may end in the middle."""

    def encode_step(self: Any, config: Any, changes: Any, metadata: Any) -> Any:
        encoded = own.encode_step(self, config, changes, metadata)
        step = _root_step(config, metadata)
        if step is not None:
            death.steps[id(encoded)] = step
        return encoded

    def note(item: Any) -> None:
        if isinstance(item, EncodedStep):
            death.saved(step=death.steps.pop(id(item), None))
        elif isinstance(item, EncodedWrites):
            death.saved(task=any(row[1] >= 0 for row in item.rows))

    def store(self: Any, batch: Sequence[Any], *, durable: bool) -> None:
        with death.lock:
            for item in batch:
                death.check()
                own.store(self, (item,), durable=durable)
                note(item)

    async def astore(self: Any, batch: Sequence[Any], *, durable: bool) -> None:
        for item in batch:
            death.check()
            await own.astore(self, (item,), durable=durable)
            note(item)

    return {
        "put": own.put,
        "put_writes": own.put_writes,
        "put_step": own.put_step,
        "aput": own.aput,
        "aput_writes": own.aput_writes,
        "encode_step": encode_step,
        "store": store,
        "astore": astore,
    }


def assert_recovers(
    build: Callable[[Any], Any],
    input: Any,
    *,
    make_saver: Callable[[], Any] = InMemorySaver,
    durability: str = "sync",
    config: Mapping[str, Any] | None = None,
) -> int:
    """Let a run die after every single save and go on; each time it must end as one that was never disturbed.

    Args:
        build: Makes the graph for a saver, each time anew, as a new process would.
        input: The run's input.
        make_saver: Makes an empty saver.
        durability: That of the runs.
        config: More for their config; a `thread_id` is added if there is none.

    Returns:
        How many moments were tried.

    Raises:
        AssertionError: A run went on to another end; the moment, and both ends.

    Example:
        >>> from typing import TypedDict
        >>> from stepgraph.graph import START, StateGraph
        >>> class State(TypedDict, total=False):
        ...     a: int
        >>> builder = StateGraph(State).add_node("n", lambda state: {"a": 1}).add_edge(START, "n")
        >>> assert_recovers(builder.compile, {})
        3
    """
    whole = dict(config or {})
    whole["configurable"] = {"thread_id": "1", **whole.get("configurable", {})}
    unharmed = _Death(None, None, None)
    expected = build(_mortal(make_saver(), unharmed)).invoke(input, whole, durability=durability)
    for saves in range(unharmed.count):
        saver = make_saver()
        try:
            build(crash_after(saver, saves=saves)).invoke(input, whole, durability=durability)
        except SimulatedCrash:
            graph = build(saver)
            rest = None if saver.get_tuple(whole) else input
            found = graph.invoke(rest, whole, durability=durability)
        else:
            raise AssertionError(f"The run ended although its saver died after {saves} saves.")
        if found != expected:
            raise AssertionError(
                f"A run that died after {saves} of {unharmed.count} saves went on to {found!r}; one that was never disturbed"
                f" ends with {expected!r}. Does a node depend on something that is not in the state?"
            )
    return unharmed.count
