"""`langgraph.checkpoint.base.id`: ids of checkpoints, as `UUID` objects."""

from __future__ import annotations

from uuid import UUID

from stepgraph.checkpoint.ids import next_checkpoint_id

__all__ = ("uuid6",)


def uuid6(node: int | None = None, clock_seq: int | None = None) -> UUID:
    """A UUID that is greater than every other one made by this process before.

    Args:
        node: The 48 bits at the end; by default random bits of this process.
        clock_seq: The 14 bits before them.
    """
    made = UUID(next_checkpoint_id()).int
    if node is not None:
        made = made & ~0xFFFF_FFFF_FFFF | node & 0xFFFF_FFFF_FFFF
    if clock_seq is not None:
        made = made & ~(0x3FFF << 48) | (clock_seq & 0x3FFF) << 48
    return UUID(int=made)
