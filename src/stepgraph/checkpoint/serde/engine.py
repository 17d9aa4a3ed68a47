"""What graphs themselves store: `Send`, `Command`, `Interrupt`, `Overwrite`, snapshots of delta channels.

Rules: their stored form names no class, so they may move between modules.
"""

from __future__ import annotations

from typing import Any

from ormsgpack import Ext

from stepgraph.channels.delta import DeltaSnapshot
from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.errors import CorruptPayloadError, Unstorable
from stepgraph.checkpoint.serde.families import DECODERS, ENCODERS
from stepgraph.checkpoint.serde.reader import Reader
from stepgraph.checkpoint.serde.writer import Writer, share
from stepgraph.values.commands import Command, Interrupt, Overwrite, Send


def _encode_send(writer: Writer, obj: Send) -> Ext:
    state = [obj.node, share(obj.arg)]
    if obj.timeout is not None:
        state.append(obj.timeout)
    return Ext(codes.SEND, writer.pack(state))


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


ENCODERS[Send] = _encode_send
ENCODERS[Command] = _encode_command
ENCODERS[Interrupt] = _encode_interrupt
ENCODERS[Overwrite] = _encode_overwrite
ENCODERS[DeltaSnapshot] = _encode_delta_snapshot
DECODERS[codes.SEND] = _decode_send
DECODERS[codes.COMMAND] = _decode_command
DECODERS[codes.INTERRUPT] = _decode_interrupt
DECODERS[codes.OVERWRITE] = _decode_overwrite
DECODERS[codes.DELTA_SNAPSHOT] = _decode_delta_snapshot
