"""Classes that a strict serializer may restore, from the annotations of schemas."""

import enum
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    Optional,
    TypedDict,
    TypeVar,
)

import pytest

from stepgraph.channels.topic import Topic
from stepgraph.schema.reachable import schema_types


class Level(enum.Enum):
    LOW = 1


@dataclass
class Leaf:
    level: Level


@dataclass
class Item:
    leaf: "Leaf"
    parent: "Optional[Item]"


class Extra:
    pass


class Pair(NamedTuple):
    left: Leaf
    right: Extra


class Elsewhere:
    pass


Wrapped = NewType("Wrapped", Elsewhere)
T = TypeVar("T", bound=Leaf)


@dataclass
class Box(Generic[T]):
    item: T


def reached(annotation: Any) -> set[type]:
    class State(TypedDict):
        x: annotation

    return schema_types([State]) - {State}


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (int, set()),
        (Any, set()),
        (Leaf, {Leaf, Level}),
        (Item, {Item, Leaf, Level}),
        (list[Leaf], {Leaf, Level}),
        (dict[str, Sequence[Optional[Leaf]]], {Leaf, Level}),
        (Annotated[list[Leaf], operator.add], {Leaf, Level}),
        (Annotated[list, Topic(Extra)], {Extra}),
        (Pair, {Pair, Leaf, Level, Extra}),
        (Wrapped, {Elsewhere}),
        (Box[Leaf], {Box, Leaf, Level}),
        (Box, {Box, Leaf, Level}),
        (Literal[Level.LOW], {Level}),
        (Callable[[Extra], Leaf], {Extra, Leaf, Level}),
        ("Leaf | None", {Leaf, Level}),
    ],
)
def test_classes_are_found_at_any_depth(annotation: Any, expected: set[type]) -> None:
    assert reached(annotation) == expected


def test_the_schemas_themselves_are_there_and_none_is_skipped() -> None:
    assert schema_types([Leaf, None]) == {Leaf, Level}


def test_bare_types() -> None:
    assert schema_types([list[Extra]]) == {Extra}


def test_odd_metadata_inside_is_no_error() -> None:
    @dataclass
    class Odd:
        x: Annotated[Extra, lambda only_one: only_one]

    assert reached(Odd) == {Odd, Extra}


def test_fields_of_models_are_followed() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Model(pydantic.BaseModel):  # type: ignore[name-defined,misc]
        item: Leaf
        others: list["Model"] = []

    assert reached(Model) == {Model, Leaf, Level}
