"""Values to bytes and back, by whatever serializer a saver has, and what is said when that fails.

Rules: every error names the place: thread, namespace, checkpoint and channel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from stepgraph.checkpoint.serde.base import pack_value, unpack_value
from stepgraph.checkpoint.serde.errors import CorruptPayloadError, NotStorableError

if TYPE_CHECKING:
    from stepgraph.checkpoint.serde.base import SerializerProtocol

__all__ = (
    "Codec",
    "CorruptCheckpointError",
    "UnreadableCheckpointWarning",
    "is_literal",
    "not_storable",
    "unreadable",
)


class CorruptCheckpointError(CorruptPayloadError):
    """A stored checkpoint cannot be read: it is truncated, was tampered with, or is no checkpoint of ours.

    Attributes:
        thread_id: The thread.
        namespace: The level of the graph; the root is the empty string.
        checkpoint_id: The checkpoint.
        channel: The channel whose value is unreadable, if it is one value.
    """

    def __init__(
        self, thread_id: str, namespace: str, checkpoint_id: str, what: str, channel: str | None = None
    ) -> None:
        self.thread_id = thread_id
        self.namespace = namespace
        self.checkpoint_id = checkpoint_id
        self.channel = channel
        self.what = what
        super().__init__(
            f"Checkpoint {checkpoint_id!r} of thread {thread_id!r}, namespace {namespace!r}, cannot be read: {what}"
            " Other checkpoints are not touched by this: go on from an earlier one by its checkpoint_id, or delete the"
            " thread."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.thread_id, self.namespace, self.checkpoint_id, self.what, self.channel)


class UnreadableCheckpointWarning(UserWarning):
    """A listing leaves out a checkpoint that cannot be read."""


class Codec:
    """Packs and unpacks with a serializer.

    Attributes:
        pack: The bytes of a value.
        unpack: The value of bytes.
        digest: Bytes of a value that depend on its content alone, to be hashed; never stored.
        keeps_literals: Whether small and plain values are stored as they are, among what we store of our own. Not where
            a serializer of a person's must see every value, to encrypt it for example.
        packs_digest: Whether `digest` gives what `pack` does.
    """

    __slots__ = ("digest", "keeps_literals", "pack", "packs_digest", "serde", "unpack")

    def __init__(self, serde: SerializerProtocol) -> None:
        from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

        self.serde = serde
        self.pack: Callable[[Any], bytes]
        self.unpack: Callable[[bytes], Any]
        self.digest: Callable[[Any], bytes]
        if isinstance(serde, JsonPlusSerializer):
            self.pack = self.digest = serde.pack
            self.unpack = serde.unpack
            self.keeps_literals = self.packs_digest = True
        else:
            self.pack = lambda value: pack_value(serde, value)
            self.unpack = lambda data: unpack_value(serde, data)
            self.digest = JsonPlusSerializer().pack
            self.keeps_literals = self.packs_digest = False

    def for_row(self) -> Codec:
        """A codec for the values of one row, which cannot change in between: a large part of several is packed once."""
        if not self.packs_digest:
            return self
        twin = Codec.__new__(Codec)
        pack, packed = self.pack, {}  # type: ignore[var-annotated]
        twin.pack = lambda value: pack(value, packed)  # type: ignore[call-arg]
        twin.serde, twin.unpack, twin.digest = self.serde, self.unpack, self.digest
        twin.keeps_literals = twin.packs_digest = True
        return twin


_SHORT: Final = 64
_LARGE: Final = 1 << 63
_BOOL_OR_FLOAT: Final[frozenset[type]] = frozenset((bool, float))


def is_literal(value: Any) -> bool:
    """Whether a value that is not `None` is small and plain."""
    kind = type(value)
    if kind is str:
        return len(value) < _SHORT and value.isascii() is True
    if kind is int:
        return bool(-_LARGE < value < _LARGE)
    return kind in _BOOL_OR_FLOAT


def not_storable(error: NotStorableError, channel: str) -> NotStorableError:
    """The same error, that names the channel too."""
    return error.within(f"the value of {channel!r}")


def unreadable(
    key: tuple[str, str],
    checkpoint_id: str,
    error: Exception,
    channel: str | None = None,
    part: str = "its record is",
) -> CorruptCheckpointError:
    """What to raise when bytes of a checkpoint cannot be understood."""
    where = f"the value of {channel!r} is" if channel else part
    return CorruptCheckpointError(*key, checkpoint_id, f"{where} damaged ({error}).", channel)
