"""Where threads are imported from: what the importer asks of a database of another program.

Rules: sources read, and change nothing. What they give is as it was stored, not yet restored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol


class Found(NamedTuple):
    """One stored checkpoint.

    Attributes:
        namespace: The level; the root is the empty string.
        id: Its id.
        parent: The id of its parent, if it has one.
        metadata: Its metadata; `None` if it cannot be read.
    """

    namespace: str
    id: str
    parent: str | None
    metadata: Mapping[str, Any] | None


class FoundWrite(NamedTuple):
    """One stored write of a task.

    Attributes:
        task_id: The task.
        path: The task's path as text; empty if it was not stored.
        place: Its number among the task's writes; negative for what is no write to a channel.
        channel: The channel.
        tag: The tag of its bytes.
        data: Its bytes.
    """

    task_id: str
    path: str
    place: int
    channel: str
    tag: str | None
    data: bytes | None


class Source(Protocol):
    """A database of threads."""

    name: str
    """What to call it in messages; without a password."""

    def threads(self) -> Sequence[str]:
        """The ids of all threads, sorted."""

    def checkpoints(self, thread_id: str) -> Sequence[Found]:
        """The checkpoints of a thread, at all levels, the oldest first."""

    def content(self, thread_id: str, found: Found) -> Mapping[str, Any]:
        """A checkpoint.

        Raises:
            NotReadable: It cannot be taken over.
        """

    def writes(self, thread_id: str, found: Found) -> Sequence[FoundWrite]:
        """What tasks wrote against a checkpoint, in the order in which it was stored."""

    def close(self) -> None:
        """End the connection."""
