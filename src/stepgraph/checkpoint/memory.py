"""A saver that keeps everything in this process's memory, in bytes: nothing outlives the process, nothing is shared.

Rules: stores at once and never waits, so the async methods do the work themselves.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from stepgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from stepgraph.checkpoint.changes import StepChanges
from stepgraph.checkpoint.growth.codec import Codec
from stepgraph.checkpoint.growth.encoder import changes_between, encode_row
from stepgraph.checkpoint.growth.lanes import Lane
from stepgraph.checkpoint.growth.reader import load, load_many
from stepgraph.checkpoint.growth.rows import Key, Program
from stepgraph.checkpoint.memory_rows import MemoryHistory, run_program
from stepgraph.checkpoint.step_saver import (
    Encoded,
    EncodedStep,
    EncodedWrites,
    StepSaver,
    config_of,
    key_of,
    matches,
    public,
    run_id_of,
    to_tuple,
)

__all__ = ("InMemorySaver", "MemorySaver")
