"""Joining the fields of several schemas into one set of channels."""

import operator
from functools import partial
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.channels.ephemeral_value import EphemeralValue
from stepgraph.channels.topic import Topic
from stepgraph.managed.is_last_step import RemainingSteps
from stepgraph.schema.fields import parse_schema
from stepgraph.schema.merge import merge_schemas, same_reducer


def merged(*schemas: Any) -> dict[str, Any]:
    return merge_schemas(map(parse_schema, schemas))


def join(left: list[Any], right: list[Any]) -> list[Any]:
    return left + right


class Plain(TypedDict):
    items: list
    other: int


class Added(TypedDict):
    items: Annotated[list, operator.add]


class Joined(TypedDict):
    items: Annotated[list, join]


class Topical(TypedDict):
    items: Annotated[list, Topic(str)]


@pytest.mark.parametrize("schemas", [(Plain, Added), (Added, Plain)])
def test_a_plain_field_takes_the_reducer_beside_it(schemas: tuple[Any, ...]) -> None:
    assert merged(*schemas)["items"].reducer is operator.add


def test_fields_of_all_schemas_are_there() -> None:
    assert list(merged(Added, Plain)) == ["items", "other"]


def test_the_same_reducer_in_two_schemas_is_one_field() -> None:
    class Again(TypedDict):
        items: Annotated[list, operator.add]

    assert merged(Added, Again)["items"].schema is Added


def test_two_reducers_are_an_error_that_names_both_and_where_they_stand() -> None:
    with pytest.raises(ValueError, match=r"'items'") as caught:
        merged(Added, Joined)
    message = str(caught.value)
    line = join.__code__.co_firstlineno
    assert "Added.items folds with add" in message
    assert "Joined.items folds with join" in message
    assert f"{__file__}:{line}" in message


def test_two_lambdas_are_two_reducers() -> None:
    class First(TypedDict):
        items: Annotated[list, lambda a, b: a + b]

    class Second(TypedDict):
        items: Annotated[list, lambda a, b: b + a]

    with pytest.raises(ValueError, match=r"First\.items.*Second\.items"):
        merged(First, Second)


def test_a_lambda_that_is_inherited_is_one_reducer() -> None:
    class First(TypedDict):
        items: "Annotated[list, lambda a, b: a + b]"

    class Heir(First):
        more: int

    assert list(merged(First, Heir)) == ["items", "more"]


def test_a_channel_beside_a_reducer_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"Topical\.items is a Topic"):
        merged(Added, Topical)


def test_equal_channels_are_one() -> None:
    class Again(TypedDict):
        items: Annotated[list, Topic(str)]

    assert merged(Topical, Again)["items"].schema is Topical


def test_channels_of_other_settings_are_two() -> None:
    class Again(TypedDict):
        items: Annotated[list, Topic(str, True)]

    with pytest.raises(ValueError, match="Topic"):
        merged(Topical, Again)


def test_channels_of_other_classes_are_two() -> None:
    class Again(TypedDict):
        items: Annotated[list, EphemeralValue]

    with pytest.raises(ValueError, match="EphemeralValue"):
        merged(Topical, Again)


def test_a_managed_value_beside_a_reducer_is_an_error() -> None:
    class Managed(TypedDict):
        items: RemainingSteps

    with pytest.raises(ValueError, match="managed value RemainingStepsManager"):
        merged(Added, Managed)


def test_a_declared_default_beside_none_holds() -> None:
    class WithDefault:
        items: Annotated[list, operator.add] = ["base"]

    assert merged(Added, WithDefault)["items"].make_default() == ["base"]
    assert merged(WithDefault, Added)["items"].make_default() == ["base"]


def test_partials_of_the_same_function_and_arguments_are_the_same_reducer() -> None:
    def capped(limit: int, left: list[Any], right: list[Any]) -> list[Any]:
        return (left + right)[-limit:]

    assert same_reducer(partial(capped, 3), partial(capped, 3))
    assert not same_reducer(partial(capped, 3), partial(capped, 4))


def test_closures_over_other_values_are_other_reducers() -> None:
    def capped(limit: int) -> Any:
        return lambda left, right: (left + right)[-limit:]

    assert same_reducer(capped(3), capped(3))
    assert not same_reducer(capped(3), capped(4))
