"""Savers: where checkpoints are kept, how values become bytes, how stored bytes stay linear in what is new.

Rules of this room: it knows nothing of graphs, nodes or runs. It sees checkpoints, differences between them, and pending
writes. What may be imported from here by the engine: `base` (the protocol that every saver follows), `changes` (the
difference that our own savers take), `ids`.
"""

from __future__ import annotations
