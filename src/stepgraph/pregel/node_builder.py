"""`NodeBuilder`: making a node of a low-level graph step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from stepgraph.pregel.node import ChannelWriteEntry, PregelNode

if TYPE_CHECKING:
    from datetime import timedelta

    from stepgraph.values.policies import CachePolicy, RetryPolicy, TimeoutPolicy


class NodeBuilder:
    """Describes one node: what makes it run, what it reads, what it does, what it writes.

    Example:
        >>> from stepgraph.channels import EphemeralValue, LastValue
        >>> from stepgraph.pregel import NodeBuilder, Pregel
        >>> double = NodeBuilder().subscribe_only("a").do(lambda x: x * 2).write_to("b")
        >>> graph = Pregel(
        ...     nodes={"double": double},
        ...     channels={"a": EphemeralValue(int), "b": LastValue(int)},
        ...     input_channels="a",
        ...     output_channels="b",
        ... )
        >>> graph.invoke(21)
        42
    """

    __slots__ = (
        "_actions",
        "_cache",
        "_channels",
        "_metadata",
        "_retry",
        "_tags",
        "_timeout",
        "_triggers",
        "_writers",
    )

    def __init__(self) -> None:
        self._channels: str | list[str] = []
        self._triggers: list[str] = []
        self._actions: list[Any] = []
        self._writers: list[ChannelWriteEntry] = []
        self._tags: list[str] = []
        self._metadata: dict[str, Any] = {}
        self._retry: list[RetryPolicy] = []
        self._cache: CachePolicy[Any] | None = None
        self._timeout: Any = None

    def subscribe_only(self, channel: str) -> Self:
        """Run when this one channel is written, with its bare value as the input.

        Raises:
            ValueError: The node subscribes to or reads other channels already.
        """
        if self._channels:
            raise ValueError(
                "Cannot subscribe to single channel when other channels are already subscribed to"
            )
        self._channels = channel
        self._triggers.append(channel)
        return self

    def subscribe_to(self, *channels: str, read: bool = True) -> Self:
        """Run when one of these channels is written; `read` puts them into the input, a dict.

        Raises:
            ValueError: The node subscribes to a single channel already.
        """
        if isinstance(self._channels, str):
            raise ValueError("Cannot subscribe to channels when subscribed to a single channel")
        if read:
            self._channels += [channel for channel in channels if channel not in self._channels]
        self._triggers += [channel for channel in channels if channel not in self._triggers]
        return self

    def read_from(self, *channels: str) -> Self:
        """Put these channels into the input too.

        Raises:
            ValueError: The node subscribes to a single channel already.
        """
        if isinstance(self._channels, str):
            raise ValueError("Cannot read additional channels when subscribed to single channels")
        self._channels += [channel for channel in channels if channel not in self._channels]
        return self

    def do(self, node: Any) -> Self:
        """Do this: a function or an object with `invoke`; several run one after the other."""
        self._actions.append(node)
        return self

    def write_to(self, *channels: str | ChannelWriteEntry, **kwargs: Any) -> Self:
        """Write the result to these channels; by keyword, what a function makes of it, or a fixed value.

        `None` is a value like any other; `ChannelWriteEntry(channel, skip_none=True)` writes nothing then.
        """
        for channel in channels:
            self._writers.append(ChannelWriteEntry(channel) if isinstance(channel, str) else channel)
        for name, value in kwargs.items():
            if callable(value):
                self._writers.append(ChannelWriteEntry(name, mapper=value))
            else:
                self._writers.append(ChannelWriteEntry(name, value))
        return self

    def meta(self, *tags: str, **metadata: Any) -> Self:
        """Tags and metadata for tracing."""
        self._tags += tags
        self._metadata.update(metadata)
        return self

    def add_retry_policies(self, *policies: RetryPolicy) -> Self:
        """Try again as these say."""
        self._retry += policies
        return self

    def add_cache_policy(self, policy: CachePolicy[Any]) -> Self:
        """Reuse results as this says."""
        self._cache = policy
        return self

    def set_timeout(self, timeout: float | timedelta | TimeoutPolicy | None) -> Self:
        """Limit one attempt."""
        from stepgraph.values.policies import TimeoutPolicy

        self._timeout = None if timeout is None else TimeoutPolicy.coerce(timeout)
        return self

    def build(self) -> PregelNode:
        """The node."""
        return PregelNode(
            channels=self._channels,
            triggers=self._triggers,
            writers=self._writers,
            tags=self._tags or None,
            metadata=self._metadata or None,
            bound=_in_turn(self._actions),
            retry_policy=self._retry or None,
            cache_policy=self._cache,
            timeout=self._timeout,
        )


def _in_turn(actions: list[Any]) -> Any:
    if not actions:
        return None
    if len(actions) == 1:
        return actions[0]
    from stepgraph.pregel.sequence import Sequence

    return Sequence(actions)


WriteValue = Callable[[Any], Any] | Any
