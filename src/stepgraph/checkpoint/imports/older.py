"""Checkpoints of LangGraph before form 4: channels and tasks under the names that they have today.

Every edge had a channel then: `start:x` from the start, `branch:a:path:x` of a conditional edge, and one with the name of a
node, in which the node tells its followers that it has run. The first two became `branch:to:x`. Who follows a node only
its graph knows, so that channel stays until the checkpoint is loaded (`pregel/older.py`). `Send`s stood beside the channels.
Neither paths nor ids of questions were stored, but the names of nodes stand in what tasks wrote and asked.

Rules: pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ormsgpack import OPT_NON_STR_KEYS, unpackb

from stepgraph.checkpoint.imports.values import Stored
from stepgraph.values.names import BRANCH_TO, NS_END, PULL, TASKS

FORM: Final = 4
"""The first form that has today's channels."""
_START: Final = "start:"
_BRANCH: Final = "branch:"


def is_older(checkpoint: Mapping[str, Any]) -> bool:
    """Whether a checkpoint is of an older form."""
    form = checkpoint.get("v")
    return isinstance(form, int) and form < FORM


def name_today(channel: str) -> str:
    """The name that a channel has today."""
    if channel.startswith(_START):
        return BRANCH_TO + channel[len(_START) :]
    if channel.startswith(_BRANCH) and not channel.startswith(BRANCH_TO) and channel.count(":") >= 3:
        return BRANCH_TO + channel.rpartition(":")[2]
    return channel


def newest(versions: Mapping[str, Any]) -> dict[str, Any]:
    """Versions by today's names; of channels that became one, the newest."""
    result: dict[str, Any] = {}
    for channel, version in versions.items():
        name = name_today(channel)
        result[name] = max(version, result.get(name, version))
    return result


def path_of(task_id: str, pairs: Iterable[tuple[str, Any]], namespaces: Iterable[str], sends: Any) -> str:
    """The path of a task, as far as it can be told: that of a node that no `Send` names.

    Args:
        task_id: The task.
        pairs: What it wrote.
        namespaces: Of graphs that tasks run, and of what they ask.
        sends: The `Send`s that are due.
    """
    name = ""
    for channel, value in pairs:
        if isinstance(value, str) and value == channel:
            name = channel
    for namespace in namespaces:
        for part in namespace.split("|"):
            node, _, id = part.partition(NS_END)
            if id == task_id:
                name = node
    sent = {_node_of(send) for send in sends} if isinstance(sends, list) else set()
    return f"~{PULL}, {name}" if name and name not in sent else ""


def _node_of(send: Any) -> Any:
    if not isinstance(send, Stored):
        return None
    parts = unpackb(send.data, ext_hook=Stored, option=OPT_NON_STR_KEYS)
    given = parts[2] if isinstance(parts, list) and len(parts) > 2 else None
    if isinstance(given, dict):
        return given.get("node")
    return given[0] if isinstance(given, list) and given else None


def with_sends(stored: Mapping[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Values by today's names, with the `Send`s that stood beside them."""
    result = {name_today(channel): value for channel, value in values.items()}
    sends = stored.get("pending_sends")
    if isinstance(sends, list) and sends and TASKS not in result:
        result[TASKS] = sends
    return result
