"""The channels: one class a file, one protocol (`base`), folding as pure functions (`fold`).

This face loads a class when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepgraph.lazy import names_from

if TYPE_CHECKING:
    from stepgraph.channels.any_value import AnyValue
    from stepgraph.channels.base import BaseChannel
    from stepgraph.channels.binop import BinaryOperatorAggregate
    from stepgraph.channels.delta import DeltaChannel
    from stepgraph.channels.ephemeral_value import EphemeralValue
    from stepgraph.channels.last_value import LastValue, LastValueAfterFinish
    from stepgraph.channels.named_barrier_value import NamedBarrierValue, NamedBarrierValueAfterFinish
    from stepgraph.channels.topic import Topic
    from stepgraph.channels.untracked_value import UntrackedValue

__all__ = (
    "AnyValue",
    "BaseChannel",
    "BinaryOperatorAggregate",
    "DeltaChannel",
    "EphemeralValue",
    "LastValue",
    "LastValueAfterFinish",
    "NamedBarrierValue",
    "NamedBarrierValueAfterFinish",
    "Topic",
    "UntrackedValue",
)

_HOMES = {
    "AnyValue": "any_value",
    "BaseChannel": "base",
    "BinaryOperatorAggregate": "binop",
    "DeltaChannel": "delta",
    "EphemeralValue": "ephemeral_value",
    "LastValue": "last_value",
    "LastValueAfterFinish": "last_value",
    "NamedBarrierValue": "named_barrier_value",
    "NamedBarrierValueAfterFinish": "named_barrier_value",
    "Topic": "topic",
    "UntrackedValue": "untracked_value",
}

__getattr__ = names_from(globals(), _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
