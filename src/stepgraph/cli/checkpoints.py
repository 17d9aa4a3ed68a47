"""Finding checkpoints of a thread, and what is shown of them.

A person names a checkpoint by its id, by a part of it that no other has, or by the number of a step, which means the newest
checkpoint with that number. A level of nesting is named by its namespace or by the path of node names to it.

Rules: reads through the saver's standard protocol only, so that every saver can be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from stepgraph.cli.exits import CommandError
from stepgraph.values.names import (
    BRANCH_TO,
    ERROR,
    INTERRUPT,
    JOIN,
    NS_END,
    NS_SEP,
    RESUME,
    SCHEDULED,
    START,
    TASKS,
)

_ID_LENGTH = 36
_SHORTEST_PART = 4
_MARKS = frozenset((ERROR, INTERRUPT, RESUME, SCHEDULED))


class Seen(NamedTuple):
    """A checkpoint as lists show it, from a snapshot or from what is stored."""

    id: str
    parent: str | None
    namespace: str
    step: int | None
    source: str
    created_at: str
    values: Any
    next: tuple[str, ...] | None
    """None: not known without the graph."""
    asks: tuple[Any, ...]
    errors: tuple[str, ...]
    parents: Mapping[str, str]
    """For a nested graph: namespace to checkpoint id, for each level above."""


def seen_of_state(state: Any) -> Seen:
    """A snapshot that the graph gave."""
    where = state.config["configurable"]
    parent = (state.parent_config or {}).get("configurable", {}).get("checkpoint_id")
    metadata = state.metadata or {}
    return Seen(
        where["checkpoint_id"],
        parent,
        where.get("checkpoint_ns") or "",
        metadata.get("step"),
        metadata.get("source", ""),
        state.created_at or "",
        state.values,
        tuple(state.next),
        tuple(state.interrupts),
        tuple(f"{task.name}: {error_text(task.error)}" for task in state.tasks if task.error is not None),
        metadata.get("parents") or {},
    )


def seen_of_stored(found: Any) -> Seen:
    """What a saver holds, without the graph that made it."""
    where = found.config["configurable"]
    parent = (found.parent_config or {}).get("configurable", {}).get("checkpoint_id")
    pending = found.pending_writes or ()
    answered = {task for task, channel, _ in pending if channel not in _MARKS}
    asks = [
        ask
        for task, channel, value in pending
        if channel == INTERRUPT and task not in answered
        for ask in (value if isinstance(value, list | tuple) else (value,))
    ]
    metadata = found.metadata or {}
    return Seen(
        where["checkpoint_id"],
        parent,
        where.get("checkpoint_ns") or "",
        metadata.get("step"),
        metadata.get("source", ""),
        found.checkpoint.get("ts", ""),
        fields(found.checkpoint["channel_values"]),
        None,
        tuple(asks),
        tuple(error_text(value) for _, channel, value in pending if channel == ERROR),
        metadata.get("parents") or {},
    )


def fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """The state's own fields among stored channels."""
    return {
        name: value
        for name, value in values.items()
        if not name.startswith((BRANCH_TO, JOIN)) and name not in (START, TASKS)
    }


def error_text(error: Any) -> str:
    """An error in one line."""
    if isinstance(error, BaseException):
        return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return str(error)


def stored(saver: Any, thread: str, namespace: str | None = "", **options: Any) -> Iterator[Any]:
    """What a saver holds of a thread, newest first; with no namespace, of all levels."""
    where = {"thread_id": thread}
    if namespace is not None:
        where["checkpoint_ns"] = namespace
    return iter(saver.list({"configurable": where}, **options))


def require_thread(saver: Any, thread: str, place: str) -> None:
    """Refuse a thread that is not there.

    Raises:
        CommandError: Nothing is stored for it.
    """
    if next(stored(saver, thread, None, limit=1), None) is None:
        raise CommandError(
            f"Thread {thread!r} is not stored in {place}.", "List what is there with: stepgraph threads"
        )


def namespace_of(saver: Any, thread: str, named: str) -> str:
    """The namespace that a person means: as it is, or the newest at a path of node names.

    Raises:
        CommandError: Nothing is stored at it.
    """
    if not named:
        return ""
    from stepgraph.pregel.identity import without_task_ids

    known: dict[str, None] = {}
    for found in stored(saver, thread, None):
        namespace = found.config["configurable"].get("checkpoint_ns") or ""
        if namespace == named or without_task_ids(namespace) == named:
            return namespace
        known[without_task_ids(namespace)] = None
    paths = sorted(filter(None, known))
    there = f"Levels there: {', '.join(paths)}." if paths else "The thread has no nested levels."
    raise CommandError(f"Thread {thread!r} has no level {named!r}.", there)


def checkpoint_of(saver: Any, thread: str, namespace: str, named: str | None) -> Any:
    """The stored checkpoint that a person means; the newest where none is named.

    Raises:
        CommandError: There is none, or several could be meant.
    """
    if named is None:
        found = next(stored(saver, thread, namespace, limit=1), None)
    elif named.removeprefix("-").isdecimal() and len(named) < 8:
        found = next(stored(saver, thread, namespace, filter={"step": int(named)}, limit=1), None)
    elif len(named) == _ID_LENGTH:
        where = {"thread_id": thread, "checkpoint_id": named}
        found = next(iter(saver.list({"configurable": where}, limit=1)), None)
    else:
        found = _by_part(saver, thread, namespace, named)
    if found is None:
        level = f" at {namespace!r}" if namespace else ""
        what = "checkpoint" if named is None else f"checkpoint {named!r}"
        raise CommandError(
            f"Thread {thread!r} has no {what}{level}.",
            f"List them with: stepgraph history --thread {thread}",
        )
    return found


def _by_part(saver: Any, thread: str, namespace: str, part: str) -> Any:
    if len(part) < _SHORTEST_PART:
        raise CommandError(
            f"{part!r} is too short for a part of a checkpoint's id: give at least four signs."
        )
    found = [
        item
        for item in stored(saver, thread, namespace)
        if part in item.config["configurable"]["checkpoint_id"]
    ]
    if len(found) > 1:
        ids = ", ".join(item.config["configurable"]["checkpoint_id"] for item in found[:4])
        raise CommandError(f"Several checkpoints have {part!r} in their id: {ids}.", "Give more of it.")
    return found[0] if found else None


def config_of(found: Any) -> dict[str, Any]:
    """The config that names a stored checkpoint."""
    where = found.config["configurable"]
    return {
        "configurable": {
            key: where[key] for key in ("thread_id", "checkpoint_ns", "checkpoint_id") if key in where
        }
    }


def path_of(namespace: str) -> str:
    """A namespace as people read it: names of nodes, and enough of a task's id to tell runs apart."""
    parts = []
    for part in namespace.split(NS_SEP):
        name, _, task = part.partition(NS_END)
        parts.append(f"{name}:{task[:6]}" if task else name)
    return " › ".join(parts)
