"""What graphs themselves store: `Send`, `Command`, `Interrupt`, `Overwrite`, snapshots of delta channels.

Rules: their stored form names no class, so they may move between modules.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, Final

from ormsgpack import Ext

from stepgraph.channels.delta import DeltaSnapshot
from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.errors import CorruptPayloadError, Unstorable
from stepgraph.checkpoint.serde.families import DECODERS, ENCODERS, FOLDERS
from stepgraph.checkpoint.serde.reader import Reader
from stepgraph.checkpoint.serde.writer import LARGE, Writer, fold_repeats, share
from stepgraph.values.commands import Command, Interrupt, Overwrite, Send

SMALL_KINDS: Final[frozenset[type]] = frozenset((int, float, bool, type(None), str))


def _encode_send(writer: Writer, obj: Send) -> Ext:
    state = [obj.node, share(obj.arg)]
    if obj.timeout is not None:
        state.append(obj.timeout)
    return Ext(codes.SEND, writer.pack(state))


class Sends:
    """Marks a list of Sends, packed by column."""

    __slots__ = ("items",)

    def __init__(self, items: list[Send]) -> None:
        self.items = items


def fold_sends(items: list[Any]) -> Any:
    """The list, in a form that is packed in one if it holds Sends and nothing else."""
    folded = fold_repeats(items)
    return Sends(items) if folded is items and set(map(type, items)) == {Send} else folded


def _encode_sends(writer: Writer, mark: Sends) -> Ext:
    """`[nodes, arguments]` or `[nodes, arguments, timeouts]`; one node stands for all."""
    items = mark.items
    nodes: Any = [send.node for send in items]
    arguments: list[Any] = [send.arg for send in items]
    if not _are_small(arguments):
        arguments = list(map(share, arguments))
    columns = [nodes[0] if len(set(nodes)) == 1 else nodes, arguments]
    timeouts = [send.timeout for send in items]
    if any(timeout is not None for timeout in timeouts):
        columns.append(timeouts)
    return Ext(codes.SENDS, writer.pack(columns))


def _are_small(arguments: list[Any]) -> bool:
    """Whether no part of what the Sends carry is worth a reference: it is plain and small, and each its own."""
    kinds = set(map(type, arguments))
    parts = arguments
    if kinds == {dict}:
        if len(set(map(id, arguments))) < len(arguments):
            return False
        parts = list(chain.from_iterable(map(dict.values, arguments)))
        kinds = set(map(type, parts))
    if not kinds <= SMALL_KINDS:
        return False
    return str not in kinds or max(map(len, [part for part in parts if type(part) is str])) <= LARGE


def _decode_sends(reader: Reader, data: bytes) -> list[Send]:
    columns = reader.unpack(data)
    if type(columns) is not list or len(columns) not in (2, 3) or type(columns[1]) is not list:
        raise CorruptPayloadError("The stored bytes should hold Sends: their nodes and what they carry.")
    nodes, arguments, *rest = columns
    size = len(arguments)
    nodes = [nodes] * size if type(nodes) is str else nodes
    timeouts = rest[0] if rest else [None] * size
    if (
        type(nodes) is not list
        or type(timeouts) is not list
        or not (len(nodes) == len(timeouts) == size)
        or not set(map(type, nodes)) <= {str}
    ):
        raise CorruptPayloadError("The stored bytes should hold Sends, of which each has a node.")
    return [
        Send(node, argument) if timeout is None else Send(node, argument, timeout=timeout)
        for node, argument, timeout in zip(nodes, arguments, timeouts)
    ]


def _encode_command(writer: Writer, obj: Command[Any]) -> Ext:
    return Ext(codes.COMMAND, writer.pack([obj.graph, obj.update, obj.goto, obj.resume_given, obj.resume]))


def _encode_interrupt(writer: Writer, obj: Interrupt[Any]) -> Ext:
    if isinstance(obj.response_schema, type):
        raise Unstorable(
            obj,
            f"the response_schema of an Interrupt is stored as a JSON schema, not as the class"
            f" {obj.response_schema.__qualname__}.",
        )
    return Ext(codes.INTERRUPT, writer.pack([obj.value, obj.id, obj.response_schema]))


def _encode_overwrite(writer: Writer, obj: Overwrite) -> Ext:
    return Ext(codes.OVERWRITE, writer.pack(obj.value))


def _encode_delta_snapshot(writer: Writer, obj: DeltaSnapshot) -> Ext:
    return Ext(codes.DELTA_SNAPSHOT, writer.pack(obj.value))


def _decode_send(reader: Reader, data: bytes) -> Send:
    state = reader.unpack(data)
    if type(state) is not list or len(state) not in (2, 3) or type(state[0]) is not str:
        raise CorruptPayloadError("The stored bytes should hold a Send: its node and what it carries.")
    return Send(state[0], state[1]) if len(state) == 2 else Send(state[0], state[1], timeout=state[2])


def _decode_command(reader: Reader, data: bytes) -> Command[Any]:
    graph, update, goto, resume_given, resume = reader.unpack_list(data, 5)
    return Command(graph=graph, update=update, goto=goto, resume=resume, resume_given=bool(resume_given))


def _decode_interrupt(reader: Reader, data: bytes) -> Interrupt[Any]:
    value, id_, response_schema = reader.unpack_list(data, 3)
    return Interrupt(value, id_, response_schema=response_schema)


def _decode_overwrite(reader: Reader, data: bytes) -> Overwrite:
    return Overwrite(reader.unpack(data))


def _decode_delta_snapshot(reader: Reader, data: bytes) -> DeltaSnapshot:
    return DeltaSnapshot(reader.unpack(data))


FOLDERS[Send] = fold_sends
ENCODERS[Sends] = _encode_sends
ENCODERS[Send] = _encode_send
ENCODERS[Command] = _encode_command
ENCODERS[Interrupt] = _encode_interrupt
ENCODERS[Overwrite] = _encode_overwrite
ENCODERS[DeltaSnapshot] = _encode_delta_snapshot
DECODERS[codes.SEND] = _decode_send
DECODERS[codes.SENDS] = _decode_sends
DECODERS[codes.COMMAND] = _decode_command
DECODERS[codes.INTERRUPT] = _decode_interrupt
DECODERS[codes.OVERWRITE] = _decode_overwrite
DECODERS[codes.DELTA_SNAPSHOT] = _decode_delta_snapshot
