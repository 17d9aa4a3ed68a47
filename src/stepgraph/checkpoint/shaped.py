"""What a checkpoint knows of the graph that stored it, kept beside the standard form.

The engine stores the shape of a graph as the value of one channel (`GRAPH_SHAPE`), so that savers which store by
difference keep it once a thread. Our savers take that channel out of what they answer: nobody who looks at a checkpoint
sees it. Other savers hand it back as it is.

Rules: pure.
"""

from __future__ import annotations

from typing import Any

from stepgraph.checkpoint.base import CheckpointTuple
from stepgraph.values.names import GRAPH_SHAPE

__all__ = ("ShapedTuple", "shape_in", "whole_checkpoint", "without_shape")


class ShapedTuple(CheckpointTuple):
    """A `CheckpointTuple` that carries the shape of its graph out of sight.

    Attributes:
        shape: The shape as text, and its version.
    """

    shape: tuple[Any, Any]

    def __repr__(self) -> str:
        return repr(CheckpointTuple(*self))


def without_shape(
    config: Any, checkpoint: Any, metadata: Any, parent_config: Any, writes: Any
) -> ShapedTuple:
    """The checkpoint with the shape taken out of its channels; arguments as for `CheckpointTuple`."""
    shape = checkpoint["channel_values"].pop(GRAPH_SHAPE, None)
    version = checkpoint["channel_versions"].pop(GRAPH_SHAPE, None)
    result = ShapedTuple(config, checkpoint, metadata, parent_config, writes)
    result.shape = (shape, version)
    return result


def shape_in(loaded: CheckpointTuple) -> Any:
    """The shape of the graph that stored a checkpoint; None if it is not known."""
    beside = getattr(loaded, "shape", None)
    return beside[0] if beside is not None else loaded.checkpoint["channel_values"].get(GRAPH_SHAPE)


def whole_checkpoint(loaded: CheckpointTuple) -> dict[str, Any]:
    """The checkpoint with the shape among its channels, as a saver is given it."""
    checkpoint: dict[str, Any] = dict(loaded.checkpoint)
    beside = getattr(loaded, "shape", None)
    if beside is not None and beside[1] is not None:
        shape, version = beside
        checkpoint["channel_values"] = {**checkpoint["channel_values"], GRAPH_SHAPE: shape}
        checkpoint["channel_versions"] = {**checkpoint["channel_versions"], GRAPH_SHAPE: version}
    return checkpoint
