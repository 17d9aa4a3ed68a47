"""`PregelNode`: one compiled node as it is shown, and as a low-level graph is given it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.pregel.subgraphs import find_subgraphs

if TYPE_CHECKING:
    from stepgraph.pregel.plan import NodePlan


class PregelNode:
    """What a node reads, what makes it run, what it calls, and where its result goes."""

    __slots__ = (
        "bound",
        "cache_policy",
        "channels",
        "mapper",
        "metadata",
        "retry_policy",
        "subgraphs",
        "tags",
        "timeout",
        "triggers",
        "writers",
    )

    def __init__(
        self,
        *,
        channels: str | Sequence[str],
        triggers: Sequence[str],
        mapper: Any = None,
        writers: Sequence[Any] | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        bound: Any = None,
        retry_policy: Any = None,
        cache_policy: Any = None,
        subgraphs: Sequence[Any] | None = None,
        timeout: Any = None,
    ) -> None:
        self.channels = channels
        self.triggers = list(triggers)
        self.mapper = mapper
        self.writers = list(writers or ())
        self.tags = tags
        self.metadata = metadata
        self.bound = bound
        self.retry_policy = retry_policy
        self.cache_policy = cache_policy
        self.timeout = timeout
        self.subgraphs = list(subgraphs) if subgraphs is not None else list(find_subgraphs(bound))

    @classmethod
    def of(cls, node: NodePlan) -> PregelNode:
        """The view of a planned node."""
        keys = node.keys
        policy = node.policy
        return cls(
            channels=keys if isinstance(keys, str) else list(node.plan.fields if keys is None else keys),
            triggers=node.triggers,
            mapper=node.mapper,
            writers=node.writers or writes_of(node),
            tags=list(node.tags) or (["langsmith:hidden"] if node.hidden else None),
            metadata=node.metadata,
            bound=node.action,
            retry_policy=None if policy is None else policy.retry,
            cache_policy=None if policy is None else policy.cache,
            subgraphs=node.subgraphs,
            timeout=None if policy is None else policy.timeout,
        )

    def __repr__(self) -> str:
        return f"PregelNode(channels={self.channels!r}, triggers={self.triggers!r}, writers={self.writers!r})"


class ChannelWriteEntry:
    """One channel that a node writes: a fixed value, or what the node returned, through a mapper."""

    __slots__ = ("channel", "mapper", "skip_none", "value")

    def __init__(self, channel: str, value: Any = ..., skip_none: bool = False, mapper: Any = None) -> None:
        self.channel = channel
        self.value = value
        self.skip_none = skip_none
        self.mapper = mapper

    def __repr__(self) -> str:
        shown = "" if self.value is ... else f", {self.value!r}"
        return f"ChannelWriteEntry({self.channel!r}{shown})"


def writes_of(node: NodePlan) -> list[ChannelWriteEntry]:
    """The control channels that a node of a `StateGraph` always writes, and the fields that it may write."""
    entries = [ChannelWriteEntry(name) for name in node.plan.fields]
    entries += [ChannelWriteEntry(target.trigger, None) for target in node.targets]
    entries += [ChannelWriteEntry(join.channel, node.name) for join in node.joins]
    for branch in node.branches:
        entries += [
            ChannelWriteEntry("branch:to:" + name, None)
            for name in (branch.ends or {}).values()
            if name != "__end__"
        ]
    return entries
