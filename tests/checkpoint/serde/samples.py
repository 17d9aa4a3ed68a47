"""Values that the tests of the serializer and the writers of its golden files share.

The classes here are named in golden files: their names, fields and this module's path stay as they are.
"""

from __future__ import annotations

import datetime as dt
import enum
import ipaddress
import re
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import InitVar, dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, PrivateAttr

T = TypeVar("T")


class Color(enum.Enum):
    RED = "red"
    BLUE = 2
    ODD = (1, 2)


class Rank(enum.IntEnum):
    LOW = 1


class Word(enum.StrEnum):
    YES = "yes"


class Rights(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()


class Point(NamedTuple):
    x: int
    y: int = 0


@dataclass
class Item:
    name: str
    tags: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Frozen:
    key: str
    at: Point


@dataclass(frozen=True, slots=True)
class Slotted:
    number: int
    text: str


@dataclass
class Derived:
    """Keeps what `__init__` was given and computes the rest, so a second `__post_init__` would show."""

    base: int
    factor: InitVar[int] = 2
    product: int = field(init=False)
    runs: int = field(init=False, default=0)

    def __post_init__(self, factor: int) -> None:
        self.product = self.base * factor
        self.runs += 1


@dataclass(slots=True)
class SlotBase:
    one: int


@dataclass(slots=True)
class SlotChild(SlotBase):
    two: Any = None


@dataclass
class WithCache:
    size: int

    @cached_property
    def double(self) -> int:
        return self.size * 2


class Outer:
    class Kind(enum.Enum):
        A = 1

    @dataclass
    class Inner:
        q: int

    class Model(BaseModel):
        kind: Outer.Kind


class Person(BaseModel):
    name: str
    age: int = 0
    color: Color = Color.RED
    _secret: int = PrivateAttr(default=5)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class Page(BaseModel, Generic[T]):
    items: list[T]


class Tree(BaseModel):
    value: int
    children: list[Tree] = []


class Problem(Exception):
    """An exception whose constructor takes other arguments than it passes on."""

    def __init__(self, code: int, *, detail: str = "") -> None:
        super().__init__(f"problem {code}")
        self.code = code
        self.detail = detail


class Money(int):
    """A number that says what it counts."""


def plain_samples() -> dict[str, Any]:
    """Values of builtin and library types; everything compares by `==`."""
    berlin = ZoneInfo("Europe/Berlin")
    return {
        "none": None,
        "true": True,
        "int": -3,
        "int 64": 2**64 - 1,
        "int big": 2**200,
        "int big negative": -(2**200),
        "float": 1.5,
        "infinity": float("inf"),
        "text": "grüße",
        "text with surrogates": "a\ud800",
        "bytes": b"\x00\xff",
        "bytearray": bytearray(b"ab"),
        "list": [1, [2, "x"]],
        "dict": {"a": {"b": [None]}},
        "dict with number keys": {1: "a", 2.5: "b", None: "c", False: "d", 2**70: "e"},
        "dict with tuple keys": {(1, ("a",)): {frozenset([1]): b"x"}, b"k": 1},
        "tuple": (1, ("a", [2])),
        "set of tuples": {(1, 2), (3, (4, 5))},
        "frozenset": frozenset(["a", "b"]),
        "deque": deque([1, 2], maxlen=3),
        "defaultdict": defaultdict(list, {"a": [1]}),
        "counter": Counter("aab"),
        "ordered dict": OrderedDict([("b", 1), ("a", 2)]),
        "ellipsis": ...,
        "complex": 1 + 2j,
        "decimal": Decimal("-1.10"),
        "fraction": Fraction(1, 3),
        "range": range(1, 10, 2),
        "slice": slice(1, None, 2),
        "date": dt.date(2024, 2, 29),
        "datetime": dt.datetime(2024, 2, 29, 12, 30, 1, 5),
        "datetime utc": dt.datetime(2024, 2, 29, tzinfo=dt.UTC),
        "datetime zone": dt.datetime(2024, 10, 27, 2, 30, tzinfo=berlin, fold=1),
        "datetime offset": dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=-3), "X")),
        "time": dt.time(1, 2, 3, tzinfo=dt.UTC),
        "timedelta": dt.timedelta(-1, 5, 7),
        "zone": berlin,
        "uuid": UUID("12345678-1234-5678-1234-567812345678"),
        "path": PurePosixPath("/a/b"),
        "windows path": PureWindowsPath("C:/a"),
        "pattern": re.compile("a.*", re.IGNORECASE | re.DOTALL),
        "ip address": ipaddress.ip_address("::1"),
        "ip network": ipaddress.ip_network("10.0.0.0/8"),
        "ip interface": ipaddress.ip_interface("10.0.0.1/8"),
    }


def class_samples() -> dict[str, Any]:
    """Values of the classes above and of the engine; everything compares by `==`."""
    from stepgraph.types import Command, Interrupt, Overwrite, Send

    return {
        "enum": Color.RED,
        "enum number": Color.BLUE,
        "enum other value": Color.ODD,
        "int enum": Rank.LOW,
        "str enum": Word.YES,
        "flags": Rights.READ | Rights.WRITE,
        "enum as key": {Color.RED: 1, Word.YES: 2},
        "nested enum": Outer.Kind.A,
        "named tuple": Point(1),
        "dataclass": Item("a", [Item("b")]),
        "frozen dataclass": Frozen("k", Point(1, 2)),
        "slotted dataclass": Slotted(1, "t"),
        "slots of a base": SlotChild(1, [SlotBase(2)]),
        "derived fields": Derived(3, 4),
        "nested dataclass": Outer.Inner(1),
        "model": Person(name="ann", color=Color.BLUE),
        "nested model": Outer.Model(kind=Outer.Kind.A),
        "model with extra": Open(a=1, b={"c": (1,)}),
        "generic model": Page[int](items=[1]),
        "recursive model": Tree(value=1, children=[Tree(value=2)]),
        "send": Send("node", {"a": (1,)}),
        "send with timeout": Send("node", 1, timeout=2.0),
        "sends": [Send("node", {"a": n, "text": "t"}) for n in range(10)],
        "sends of several kinds": [
            Send(f"node {n % 2}", {"a": [n], "b": (n,)}, timeout=None if n % 3 else 2.0) for n in range(10)
        ],
        "command": Command(update={"a": 1}, goto=[Send("n", 1), "m"]),
        "command answer": Command(resume=None),
        "interrupt": Interrupt("question", id="abc", response_schema={"type": "string"}),
        "overwrite": Overwrite([1]),
    }


def samples() -> dict[str, Any]:
    """All of them."""
    return plain_samples() | class_samples()
