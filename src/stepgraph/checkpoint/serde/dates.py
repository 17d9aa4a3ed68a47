"""Dates, times, spans and zones.

A date or time without a zone, or in UTC, is its ISO text; `~` at the end marks the second of two equal wall times
(`fold`). With another zone, the wall time and the zone are stored, so a named zone stays a named zone.

Rules: exact types only. A zone of a class that is not known here is stored as its offset, with a warning.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from ormsgpack import Ext

from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.errors import CorruptPayloadError, NotRestorableWarning, Unstorable
from stepgraph.checkpoint.serde.families import DECODERS, ENCODERS
from stepgraph.checkpoint.serde.policy import warn_once
from stepgraph.checkpoint.serde.reader import Reader
from stepgraph.checkpoint.serde.writer import Writer

FOLD = b"~"


def storable_zone(zone: tzinfo, moment: datetime | time) -> tzinfo:
    """The zone, or the offset that it has at that moment if its class is not known here."""
    if type(zone) is timezone or type(zone) is ZoneInfo:
        return zone
    offset = zone.utcoffset(moment if isinstance(moment, datetime) else None)
    if offset is None:
        raise Unstorable(
            zone, f"its time zone {zone!r} has no stored form. Use zoneinfo.ZoneInfo or datetime.timezone."
        )
    cls = type(zone)
    warn_once(
        NotRestorableWarning,
        cls.__module__,
        cls.__qualname__,
        f"A time zone of {cls.__module__}.{cls.__qualname__} is stored as the offset that it has at that moment. Use"
        " zoneinfo.ZoneInfo to keep the zone.",
    )
    return timezone(offset)


def encode_datetime(writer: Writer, obj: datetime) -> Ext:
    """ISO text, or wall time and zone."""
    zone = obj.tzinfo
    text = datetime.isoformat(obj).encode() if zone is None or zone is UTC else None
    if text is not None:
        return Ext(codes.DATETIME, text + FOLD if obj.fold else text)
    assert zone is not None
    wall = datetime.isoformat(obj.replace(tzinfo=None))
    return Ext(codes.ZONED_DATETIME, writer.pack([wall, obj.fold, storable_zone(zone, obj)]))


def _encode_time(writer: Writer, obj: time) -> Ext:
    zone = obj.tzinfo
    if zone is None or zone is UTC:
        text = obj.isoformat().encode()
        return Ext(codes.TIME, text + FOLD if obj.fold else text)
    wall = obj.replace(tzinfo=None).isoformat()
    return Ext(codes.ZONED_TIME, writer.pack([wall, obj.fold, storable_zone(zone, obj)]))


def _encode_date(writer: Writer, obj: date) -> Ext:
    return Ext(codes.DATE, date.isoformat(obj).encode())


def _encode_timedelta(writer: Writer, obj: timedelta) -> Ext:
    return Ext(codes.TIMEDELTA, writer.pack([obj.days, obj.seconds, obj.microseconds]))


def _encode_timezone(writer: Writer, obj: timezone) -> Ext:
    offset = obj.utcoffset(None)
    name = obj.tzname(None)
    state: list[Any] = [offset.days, offset.seconds, offset.microseconds]
    if name != timezone(offset).tzname(None):
        state.append(name)
    return Ext(codes.TIMEZONE, writer.pack(state))


def _encode_zoneinfo(writer: Writer, obj: ZoneInfo) -> Ext:
    if obj.key is None:
        raise Unstorable(obj, "a ZoneInfo made from a file has no key to find it by. Use ZoneInfo(key).")
    return Ext(codes.ZONEINFO, obj.key.encode())


def _decode_datetime(reader: Reader, data: bytes) -> datetime:
    if data.endswith(FOLD):
        return datetime.fromisoformat(data[:-1].decode()).replace(fold=1)
    return datetime.fromisoformat(data.decode())


def _decode_zoned_datetime(reader: Reader, data: bytes) -> datetime:
    wall, fold, zone = reader.unpack_list(data, 3)
    return datetime.fromisoformat(wall).replace(tzinfo=zone, fold=fold)


def _decode_time(reader: Reader, data: bytes) -> time:
    if data.endswith(FOLD):
        return time.fromisoformat(data[:-1].decode()).replace(fold=1)
    return time.fromisoformat(data.decode())


def _decode_zoned_time(reader: Reader, data: bytes) -> time:
    wall, fold, zone = reader.unpack_list(data, 3)
    return time.fromisoformat(wall).replace(tzinfo=zone, fold=fold)


def _decode_date(reader: Reader, data: bytes) -> date:
    return date.fromisoformat(data.decode())


def _decode_timedelta(reader: Reader, data: bytes) -> timedelta:
    return timedelta(*reader.unpack_list(data, 3))


def _decode_timezone(reader: Reader, data: bytes) -> timezone:
    state = reader.unpack(data)
    if type(state) is not list or len(state) not in (3, 4):
        raise CorruptPayloadError("The stored bytes should hold the offset of a time zone.")
    offset = timedelta(*state[:3])
    return timezone(offset, state[3]) if len(state) == 4 else timezone(offset)


def decode_zoneinfo(reader: Reader, data: bytes) -> ZoneInfo:
    """The zone of that key."""
    return zone_of_key(data.decode())


def zone_of_key(key: Any) -> ZoneInfo:
    """The zone of a key; an unknown one is an error that says what is missing."""
    try:
        return ZoneInfo(key)
    except (KeyError, ValueError) as error:
        raise CorruptPayloadError(
            f"A stored time zone {key!r} is not known on this machine. Install its time zone data (pip install tzdata)."
        ) from error


ENCODERS[datetime] = encode_datetime
ENCODERS[date] = _encode_date
ENCODERS[time] = _encode_time
ENCODERS[timedelta] = _encode_timedelta
ENCODERS[timezone] = _encode_timezone
ENCODERS[ZoneInfo] = _encode_zoneinfo
DECODERS[codes.DATETIME] = _decode_datetime
DECODERS[codes.ZONED_DATETIME] = _decode_zoned_datetime
DECODERS[codes.DATE] = _decode_date
DECODERS[codes.TIME] = _decode_time
DECODERS[codes.ZONED_TIME] = _decode_zoned_time
DECODERS[codes.TIMEDELTA] = _decode_timedelta
DECODERS[codes.TIMEZONE] = _decode_timezone
DECODERS[codes.ZONEINFO] = decode_zoneinfo
