"""A checkpoint of LangGraph as one of ours: values, versions, what its tasks wrote, and which task is which.

Theory of operation. The wire form of a checkpoint is the same for both; what differs are ids. Tasks and questions keep
theirs, since namespaces, a person's notes and links hold them: each task that has stored writes or nested graphs gets a
mark with its path, if one was stored. What task an id belongs to is found out when the thread is resumed, where the
graph is at hand (`pregel/recorded.py`).

A question that a call of a task function asks is stored with its caller by us; LangGraph stores it with the call, and of
several the first with the caller.

Rules: pure; rows come in, what is to be stored goes out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from stepgraph.checkpoint.base import LATEST_VERSION
from stepgraph.checkpoint.imports import ids, older
from stepgraph.checkpoint.imports.source import Found, FoundWrite
from stepgraph.checkpoint.imports.values import NotReadable, questions, take_over, whole
from stepgraph.values.missing import MISSING
from stepgraph.values.names import INTERRUPT, NS_END, NS_SEP, NULL_TASK_ID, PUSH, SCHEDULED, TASKS

if TYPE_CHECKING:
    from stepgraph.checkpoint.base import Checkpoint
    from stepgraph.checkpoint.serde.ciphers import AesCipher

Pairs = list[tuple[str, Any]]

_CALL: Final = f"~{PUSH}, ~"
_TRUTH_VALUE: Final = re.compile(rf"(~{PUSH}, \d{{10}}|, node_error_handler), 0{{10}}")
"""Where a path of LangGraph has a number for `False`."""


class TaskWritten(NamedTuple):
    """What one task wrote, with its mark."""

    task_id: str
    path: str
    pairs: Pairs


class Converted(NamedTuple):
    """A checkpoint ready to be stored.

    Attributes:
        checkpoint: The checkpoint.
        metadata: Its metadata.
        tasks: What tasks wrote against it.
    """

    checkpoint: Checkpoint
    metadata: dict[str, Any]
    tasks: list[TaskWritten]


def convert(
    found: Found,
    stored: Mapping[str, Any],
    writes: Sequence[FoundWrite],
    below: Mapping[str, str],
    cipher: AesCipher | None = None,
) -> Converted:
    """Convert one checkpoint.

    Args:
        found: Names it.
        stored: The checkpoint, as it was stored.
        writes: What its tasks wrote, as it was stored.
        below: Task id to the namespace of a graph that it runs, of the tasks of this checkpoint.
        cipher: Decrypts.

    Raises:
        NotReadable: A value cannot be taken over, or the checkpoint is no checkpoint.
    """
    if found.metadata is None:
        raise NotReadable("its metadata is no JSON object")
    checkpoint = _checkpoint(found, stored)
    _check_complete(checkpoint, found.metadata)
    asked_in: list[str] = []
    written = _by_task(writes, cipher, asked_in)
    for task_id in below:
        written.setdefault(task_id, ("", []))
    if older.is_older(stored):
        written = _in_today_s_form(written, [*below.values(), *asked_in], checkpoint)
    tasks = [
        TaskWritten(
            task_id, path, pairs if task_id == NULL_TASK_ID else [(SCHEDULED, {"path": path}), *pairs]
        )
        for task_id, (path, pairs) in written.items()
    ]
    kept = {key: value for key, value in found.metadata.items() if key != "writes"}
    return Converted(checkpoint, kept, _with_questions_of_calls(tasks))


def _checkpoint(found: Found, stored: Mapping[str, Any]) -> Checkpoint:
    values, versions, seen = (
        stored.get(key) for key in ("channel_values", "channel_versions", "versions_seen")
    )
    if not isinstance(values, dict) or not isinstance(versions, dict) or not isinstance(seen, dict):
        raise NotReadable("it lacks values, versions or what nodes have seen")
    values = {name: whole(value) for name, value in values.items() if value is not MISSING}
    versions = _versions(versions)
    seen = {str(node): _versions(known) for node, known in seen.items()}
    if older.is_older(stored):
        values, versions = older.with_sends(stored, values), older.newest(versions)
        seen = {node: older.newest(known) for node, known in seen.items()}
    updated = stored.get("updated_channels")
    return {
        "v": stored["v"] if older.is_older(stored) else LATEST_VERSION,
        "id": found.id,
        "ts": str(stored.get("ts") or ""),
        "channel_values": values,
        "channel_versions": versions,
        "versions_seen": seen,
        "updated_channels": list(updated) if isinstance(updated, list) else None,
    }


def _check_complete(checkpoint: Checkpoint, metadata: Mapping[str, Any]) -> None:
    """Refuse a checkpoint that holds a channel only as what was written to it since an earlier one."""
    counted = metadata.get("counters_since_delta_snapshot")
    for channel in counted if isinstance(counted, dict) else ():
        if channel in checkpoint["channel_versions"] and channel not in checkpoint["channel_values"]:
            raise NotReadable(
                f"channel {channel!r} is a DeltaChannel, of which only what was written since an earlier checkpoint is stored, and"
                " only the graph can fold that. Let LangGraph store it whole: go on once with snapshot_frequency=1"
            )


def _versions(versions: Mapping[str, Any]) -> dict[str, Any]:
    """Versions as text that sorts as they do, and before those that we make."""
    return {
        name: f"{version:032}" if isinstance(version, int) else str(version)
        for name, version in versions.items()
    }


def _in_today_s_form(
    written: Mapping[str, tuple[str, Pairs]], namespaces: Sequence[str], checkpoint: Checkpoint
) -> dict[str, tuple[str, Pairs]]:
    """What tasks wrote against a checkpoint of an older form, with the paths that can be told."""
    sends = checkpoint["channel_values"].get(TASKS)
    return {
        task_id: (
            path or older.path_of(task_id, pairs, namespaces, sends),
            [(older.name_today(channel), value) for channel, value in pairs],
        )
        for task_id, (path, pairs) in written.items()
    }


def _by_task(
    writes: Sequence[FoundWrite], cipher: AesCipher | None, asked_in: list[str]
) -> dict[str, tuple[str, Pairs]]:
    """Task id to path and writes in their order; notes in `asked_in` the namespaces that questions tell."""

    def seeded(namespace: str) -> str:
        asked_in.append(namespace)
        return ids.seeded(namespace)

    rows: dict[str, list[FoundWrite]] = {}
    for write in writes:
        if write.channel != SCHEDULED:
            rows.setdefault(write.task_id, []).append(write)
    result: dict[str, tuple[str, Pairs]] = {}
    for task_id, found in rows.items():
        found.sort(key=lambda write: write.place)
        pairs: Pairs = []
        for write in found:
            value = take_over(write.tag, write.data, cipher)
            if write.channel == INTERRUPT:
                value = questions(value, seeded)
            if value is not MISSING:
                pairs.append((write.channel, value))
        result[task_id] = _TRUTH_VALUE.sub(r"\1, False", found[0].path or ""), pairs
    return result


def _asked(pairs: Pairs) -> list[Any]:
    return [question for channel, value in pairs if channel == INTERRUPT for question in value]


def _with_questions_of_calls(tasks: list[TaskWritten]) -> list[TaskWritten]:
    """What calls ask, with the tasks that made them too."""
    asked_by: dict[str, list[Any]] = {}
    for task in tasks:
        if task.path.startswith(_CALL):
            asked_by.setdefault(_first_caller(task.path), []).extend(_asked(task.pairs))
    if not asked_by:
        return tasks
    result = []
    for task in tasks:
        asked = [*_asked(task.pairs), *asked_by.get(task.path, ())]
        if asked and not task.path.startswith(_CALL):
            others = [pair for pair in task.pairs if pair[0] != INTERRUPT]
            once = {question.id: question for question in asked}
            task = task._replace(pairs=[*others, (INTERRUPT, list(once.values()))])
        result.append(task)
    return result


def _first_caller(path: str) -> str:
    """The path of the task of the graph that made a call, through however many calls."""
    while path.startswith(_CALL):
        path = path[len(_CALL) - 1 :].rpartition(", ")[0].rpartition(", ")[0]
    return path


def tasks_below(namespace: str, parents: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The tasks that lead to a namespace: of each its level, the checkpoint it starts from, and its id.

    Args:
        namespace: Of a nested graph.
        parents: Level to checkpoint id, from the metadata of a checkpoint of it.
    """
    above = ""
    for part in namespace.split(NS_SEP):
        _, separator, task_id = part.partition(NS_END)
        checkpoint_id = parents.get(above)
        if separator and isinstance(checkpoint_id, str):
            yield above, checkpoint_id, task_id
        above = f"{above}{NS_SEP}{part}" if above else part
