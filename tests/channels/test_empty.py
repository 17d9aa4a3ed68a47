"""The empty value of a type."""

from __future__ import annotations

import collections
import collections.abc
import typing
from decimal import Decimal
from typing import Annotated, Any, NewType, NotRequired, Optional, Protocol, Required, TypedDict, Union

import pytest
from typing_extensions import ReadOnly, TypeAliasType

from stepgraph.channels.empty import empty_value, optional_container
from stepgraph.values.missing import MISSING


class State(TypedDict):
    a: int


class Open(Protocol):
    def read(self) -> str: ...


class NeedsArguments:
    def __init__(self, size: int) -> None:
        self.size = size


class Empty:
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Empty)

    __hash__ = None

    def __repr__(self):
        return "Empty()"


Names = NewType("Names", list)
Alias = TypeAliasType("Alias", list[int])


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (list, []),
        (list[int], []),
        (typing.List[int], []),  # noqa: UP006
        (dict[str, int], {}),
        (set, set()),
        (frozenset, frozenset()),
        (tuple[int, ...], ()),
        (int, 0),
        (float, 0.0),
        (bool, False),
        (str, ""),
        (bytes, b""),
        (complex, 0j),
        (Decimal, Decimal(0)),
        (collections.deque, collections.deque()),
        (collections.Counter, collections.Counter()),
        (typing.Sequence[int], []),
        (collections.abc.Sequence, []),
        (collections.abc.MutableSequence[int], []),
        (collections.abc.Set, set()),
        (collections.abc.MutableSet, set()),
        (collections.abc.Mapping[str, int], {}),
        (collections.abc.MutableMapping, {}),
        (State, {}),
        (Empty, Empty()),
        (Names, []),
        (Alias, []),
        (Required[list], []),
        (NotRequired[list[int]], []),
        (ReadOnly[dict], {}),
        (Annotated[list, "anything"], []),
        (Annotated[Required[list], 1], []),
    ],
    ids=repr,
)
def test_these_have_an_empty_value(annotation, expected):
    value = empty_value(annotation)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    "annotation",
    [
        None,
        type(None),
        Any,
        object,
        Optional[list],
        list | None,
        Union[int, str],
        "list",
        typing.Literal[1],
        collections.abc.Iterable,
        collections.abc.Callable,
        Open,
        NeedsArguments,
        typing.TypeVar("T"),
    ],
    ids=repr,
)
def test_these_have_none(annotation):
    assert empty_value(annotation) is MISSING


def test_every_call_makes_a_value_of_its_own():
    assert empty_value(list) is not empty_value(list)


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (Optional[list], []),
        (list[int] | None, []),
        (None | dict[str, int], {}),
        (Annotated[Optional[set], 1], set()),
        (NotRequired[Optional[collections.abc.Sequence[int]]], []),
        (Optional[collections.deque], collections.deque()),
    ],
    ids=repr,
)
def test_an_optional_container_is_known(annotation, expected):
    assert optional_container(annotation)() == expected


@pytest.mark.parametrize(
    "annotation",
    [
        list,
        Optional[int],
        Optional[str],
        Union[list, dict],
        Union[list, dict, None],
        None,
        Optional[Any],
        "list | None",
    ],
    ids=repr,
)
def test_anything_else_is_no_optional_container(annotation):
    assert optional_container(annotation) is None
