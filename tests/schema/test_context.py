"""The context of a run against the context schema of its graph."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Literal, NotRequired, Optional, Protocol, TypedDict

import pytest

from stepgraph.schema.context import as_context


class Client:
    pass


@dataclass
class Data:
    user: str
    limit: float = 1.0
    client: Optional[Client] = None


class Settings(TypedDict):
    user: str
    mode: NotRequired[Literal["fast", "slow"]]
    tags: NotRequired[list[str]]
    client: NotRequired[Client]


class Plain:
    user: str
    limit: int = 3


class HasUser(Protocol):
    user: str


def test_an_instance_passes_as_it_is() -> None:
    context = Data("u")
    assert as_context(Data, context, "g") is context


def test_a_dict_becomes_an_object_of_the_class() -> None:
    assert as_context(Data, {"user": "u", "limit": 2}, "g") == Data("u", 2)


def test_a_dict_stays_a_dict_for_a_typed_dict() -> None:
    context = {"user": "u", "more": 1}
    assert as_context(Settings, context, "g") is context


def test_an_empty_dict_for_a_typed_dict_means_no_context() -> None:
    assert as_context(Settings, {}, "g") == {}


def test_a_dict_becomes_an_object_of_an_annotated_class() -> None:
    made = as_context(Plain, {"user": "u"}, "g")
    assert (type(made), made.user, made.limit) == (Plain, "u", 3)


def test_stand_ins_for_objects_are_welcome() -> None:
    stand_in = SimpleNamespace()
    assert as_context(Data, {"user": "u", "client": stand_in}, "g").client is stand_in
    assert as_context(Settings, {"user": "u", "client": stand_in}, "g")["client"] is stand_in


def test_a_protocol_takes_every_object() -> None:
    context = SimpleNamespace(user="u")
    assert as_context(HasUser, context, "g") is context


@pytest.mark.parametrize(
    ("schema", "context", "fault"),
    [
        (Data, {}, "'user' is missing"),
        (Data, {"user": 5}, "'user' must be str, not 5"),
        (Data, {"user": "u", "zz": 1}, "it has no field 'zz'"),
        (Data, "u", "it is a str, 'u'"),
        (Settings, {"mode": "fast"}, "'user' is missing"),
        (Settings, {"user": None}, "'user' must be str, not None"),
        (Settings, {"user": "u", "mode": "other"}, "'mode' must be"),
        (Settings, {"user": "u", "tags": "a"}, "'tags' must be list"),
        (Settings, Data("u"), "it must be Settings, not Data"),
        (str, 5, "it must be str, not 5"),
    ],
)
def test_what_does_not_fit_is_an_error_that_says_what_and_where(
    schema: Any, context: Any, fault: str
) -> None:
    with pytest.raises(TypeError) as caught:
        as_context(schema, context, "travel")
    message = str(caught.value)
    assert fault in message
    assert "'travel'" in message
    assert f"context_schema {schema.__name__}" in message


def test_models_validate_and_coerce() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Model(pydantic.BaseModel):  # type: ignore[name-defined,misc]
        user: str
        limit: int = 3

    assert as_context(Model, {"user": "u", "limit": "4"}, "g") == Model(user="u", limit=4)
    with pytest.raises(pydantic.ValidationError):
        as_context(Model, {}, "g")
