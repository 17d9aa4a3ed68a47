"""How a channel takes part in a run: folded by a pure function, or as an object with a life of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepgraph.channels.untracked_value import UntrackedValue
from stepgraph.values.missing import MISSING

if TYPE_CHECKING:
    from stepgraph.channels.base import BaseChannel
    from stepgraph.pregel.plan import Plan


def plan_channel(
    plan: Plan, name: str, channel: BaseChannel[Any, Any, Any], starts: list[tuple[str, Any]]
) -> None:
    """Decide whether a channel is folded by a pure function or keeps a life of its own."""
    fold = channel.folder()
    if fold is None:
        plan.objects[name] = channel
        if isinstance(channel, UntrackedValue):
            plan.untracked |= {name}
        return
    plan.folds[name] = fold
    if channel.start() is not MISSING:
        starts.append((name, channel.start))
