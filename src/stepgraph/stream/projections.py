"""Transformers that project one mode of a graph's own events into a channel of its own."""

from __future__ import annotations

from typing import Any, ClassVar

from stepgraph.stream._types import ProtocolEvent, StreamTransformer
from stepgraph.stream.stream_channel import StreamChannel


class ModeTransformer(StreamTransformer):
    """The events of one mode, as far as they are of this graph and not of one below it."""

    mode: ClassVar[str]
    _native = True

    def __init__(self, scope: tuple[str, ...] = ()) -> None:
        super().__init__(scope)
        self._log: StreamChannel[Any] = StreamChannel()
        self._place = list(scope)

    def init(self) -> dict[str, Any]:
        """The channel, under the mode's name."""
        return {self.mode: self._log}

    def process(self, event: ProtocolEvent) -> bool:
        """Take the data of this graph's events of the mode."""
        if event["method"] == self.mode and event["params"]["namespace"] == self._place:
            self._log.push(event["params"]["data"])
        return True


class ValuesTransformer(ModeTransformer):
    """`run.values`: the state after each step."""

    mode = "values"
    required_stream_modes = ("values",)

    @property
    def error(self) -> BaseException | None:
        """What the run failed with."""
        return self._log._error


class UpdatesTransformer(ModeTransformer):
    """`run.updates`: what each node wrote."""

    mode = "updates"
    required_stream_modes = ("updates",)


class CustomTransformer(ModeTransformer):
    """`run.custom`: what nodes sent by hand."""

    mode = "custom"
    required_stream_modes = ("custom",)


class TasksTransformer(ModeTransformer):
    """`run.tasks`: tasks as they begin and end."""

    mode = "tasks"
    required_stream_modes = ("tasks",)


class CheckpointsTransformer(ModeTransformer):
    """`run.checkpoints`: checkpoints as they are made."""

    mode = "checkpoints"
    required_stream_modes = ("checkpoints",)


class DebugTransformer(ModeTransformer):
    """`run.debug`: checkpoints and tasks together."""

    mode = "debug"
    required_stream_modes = ("debug",)
