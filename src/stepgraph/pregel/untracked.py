"""What the saver does not get to see: values of fields that are never stored, wherever a run would write them down.

Such values are in writes of tasks, in the input, and in what a `Send` carries. The run itself keeps them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepgraph.values.commands import Send
from stepgraph.values.names import NO_WRITES, TASKS

Untracked = frozenset[str]


def storable_writes(untracked: Untracked, pairs: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """A task's writes; one that wrote nothing else has still finished, and is stored as such.

    >>> storable_writes(frozenset({"client"}), [("client", object()), ("n", 1)])
    [('n', 1)]
    """
    kept = [
        (channel, storable_send(untracked, value) if channel == TASKS else value)
        for channel, value in pairs
        if channel not in untracked
    ]
    return kept or [(NO_WRITES, None)]


def storable_send(untracked: Untracked, send: Any) -> Any:
    """A `Send` whose argument has no untracked field."""
    if not isinstance(send, Send):
        return send
    arg = storable_input(untracked, send.arg)
    return send if arg is send.arg else Send(send.node, arg, timeout=send.timeout)


def storable_input(untracked: Untracked, value: Any) -> Any:
    """A dict of fields without those that are untracked; anything else as it is."""
    if not isinstance(value, dict) or untracked.isdisjoint(value):
        return value
    return {name: item for name, item in value.items() if name not in untracked}
