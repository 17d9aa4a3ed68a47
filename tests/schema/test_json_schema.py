"""Schemas for the outside: JSON schemas with and without Pydantic, Pydantic models."""

import datetime
import enum
import operator
import uuid
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NewType, NotRequired, Optional, TypedDict, Union

import pytest
import typing_extensions

from stepgraph.schema.adapters import load_pydantic
from stepgraph.schema.describe import describe, title_of
from stepgraph.schema.json_schema import json_schema_of, named_json_schema, pydantic_model_for


def pydantic_is_current() -> bool:
    pydantic: Any = load_pydantic()
    return pydantic is not None and tuple(map(int, pydantic.VERSION.split(".")[:2])) >= (2, 11)


Words = NewType("Words", str)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class One(enum.IntEnum):
    """Only one."""

    ONE = 1


class Inner(typing_extensions.TypedDict):
    z: Optional[int]


class OldInner(TypedDict):
    z: Optional[int]


@dataclass
class Data:
    """What it is."""

    x: int
    long_name: int = 5
    colour: Colour = Colour.RED


@dataclass
class Undocumented:
    x: int
    made: list = field(default_factory=lambda: ["a"])


class State(typing_extensions.TypedDict):
    """Doc
    of State.
    """

    x: int
    n: NotRequired[str]
    xs: Annotated[list[Inner], operator.add]
    inner: Inner
    data: Data
    colour: Colour
    words: Words
    anything: Any


class Tree(typing_extensions.TypedDict):
    children: "list[Tree]"


class OldTree(TypedDict):
    children: "list[OldTree]"
    parent: NotRequired[OldInner]


class NotForJson:
    def __init__(self, a: int) -> None: ...


DESCRIBED: list[tuple[Any, dict[str, Any]]] = [
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (str, {"type": "string"}),
    (None, {"type": "null"}),
    (Any, {}),
    (list, {"items": {}, "type": "array"}),
    (list[int], {"items": {"type": "integer"}, "type": "array"}),
    (set[int], {"items": {"type": "integer"}, "type": "array", "uniqueItems": True}),
    (tuple[int, ...], {"items": {"type": "integer"}, "type": "array"}),
    (
        tuple[int, str],
        {
            "maxItems": 2,
            "minItems": 2,
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "type": "array",
        },
    ),
    (dict, {"additionalProperties": True, "type": "object"}),
    (dict[str, int], {"additionalProperties": {"type": "integer"}, "type": "object"}),
    (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
    (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
    (Literal["a", "b"], {"enum": ["a", "b"], "type": "string"}),
    (Literal["a"], {"const": "a", "type": "string"}),
    (Literal[1, "a"], {"enum": [1, "a"]}),
    (Words, {"type": "string"}),
    (datetime.datetime, {"format": "date-time", "type": "string"}),
    (datetime.date, {"format": "date", "type": "string"}),
    (uuid.UUID, {"format": "uuid", "type": "string"}),
    (Colour, {"enum": ["red", "blue"], "title": "Colour", "type": "string"}),
    (One, {"description": "Only one.", "enum": [1], "title": "One", "type": "integer"}),
    (
        Inner,
        {
            "properties": {"z": {"anyOf": [{"type": "integer"}, {"type": "null"}], "title": "Z"}},
            "required": ["z"],
            "title": "Inner",
            "type": "object",
        },
    ),
]


class TestWithoutPydantic:
    @pytest.mark.parametrize(("schema", "expected"), DESCRIBED)
    def test_a_type_is_described(self, schema: Any, expected: dict[str, Any]) -> None:
        assert describe(schema) == expected

    def test_a_class_with_fields(self) -> None:
        described = describe(State)
        assert described["title"] == "State"
        assert described["description"] == "Doc\nof State."
        assert described["required"] == ["x", "xs", "inner", "data", "colour", "words", "anything"]
        assert described["properties"]["xs"] == {
            "items": {"$ref": "#/$defs/Inner"},
            "title": "Xs",
            "type": "array",
        }
        assert described["properties"]["inner"] == {"$ref": "#/$defs/Inner"}
        assert sorted(described["$defs"]) == ["Colour", "Data", "Inner"]

    def test_defaults_titles_and_descriptions_of_a_dataclass(self) -> None:
        described = describe(Data)
        assert described["description"] == "What it is."
        assert described["properties"]["long_name"] == {"default": 5, "title": "Long Name", "type": "integer"}
        assert described["properties"]["colour"] == {"$ref": "#/$defs/Colour", "default": "red"}
        assert described["required"] == ["x"]

    def test_a_signature_is_no_description(self) -> None:
        assert "description" not in describe(Undocumented)

    def test_a_class_that_refers_to_itself(self) -> None:
        described = describe(Tree)
        assert described["$ref"] == "#/$defs/Tree"
        assert described["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}

    def test_two_classes_of_one_name_are_kept_apart(self) -> None:
        def make(kind: Any) -> Any:
            class Same(TypedDict):
                x: kind

            return Same

        class Both(TypedDict):
            a: make(int)  # type: ignore[valid-type]
            b: make(str)  # type: ignore[valid-type]

        definitions = describe(Both)["$defs"]
        assert [entry["properties"]["x"]["type"] for entry in definitions.values()] == ["integer", "string"]

    def test_a_class_without_a_json_form_is_anything(self) -> None:
        assert describe(NotForJson) == {}

    def test_titles(self) -> None:
        assert title_of("thread_id") == "Thread Id"

    def test_the_result_can_be_changed_without_harm(self) -> None:
        describe(int)["type"] = "spoiled"
        assert describe(int) == {"type": "integer"}

    @pytest.mark.skipif(load_pydantic() is not None, reason="Pydantic is installed")
    def test_the_public_functions_use_it(self) -> None:
        assert json_schema_of(Inner) == describe(Inner)
        with pytest.raises(ImportError, match=r"stepgraph\[pydantic\]"):
            pydantic_model_for(Inner, "Input")


@pytest.mark.skipif(load_pydantic() is None, reason="Pydantic is not installed")
class TestWithPydantic:
    @pytest.mark.skipif(not pydantic_is_current(), reason="an older Pydantic words some schemas differently")
    @pytest.mark.parametrize(
        "schema", [schema for schema, _ in DESCRIBED] + [State, Data, Undocumented, Tree]
    )
    def test_the_own_generator_says_what_pydantic_says(self, schema: Any) -> None:
        assert describe(schema) == json_schema_of(schema)

    def test_models_keep_their_own_schema(self) -> None:
        from pydantic import BaseModel, Field

        class Model(BaseModel):
            tags: Annotated[list, operator.add] = Field(default_factory=list, description="the tags")
            other: int = Field(default=1, alias="OTHER")

        class Holder(typing_extensions.TypedDict):
            model: Model

        expected = {
            "properties": {
                "tags": {"description": "the tags", "items": {}, "title": "Tags", "type": "array"},
                "OTHER": {"default": 1, "title": "Other", "type": "integer"},
            },
            "title": "Model",
            "type": "object",
        }
        assert named_json_schema(Model, "GraphInput") == expected
        assert describe(Model) == expected
        assert describe(Holder) == json_schema_of(Holder)

    def test_a_typed_dict_of_typing_is_described_on_every_python(self) -> None:
        class Old(TypedDict):
            many: list[OldInner]
            maybe: NotRequired[Optional[OldInner]]

        described = json_schema_of(Old)
        assert described["properties"]["many"]["items"] == {"$ref": "#/$defs/OldInner"}
        assert described["required"] == ["many"]
        assert json_schema_of(OldTree)["$ref"] == "#/$defs/OldTree"

    def test_a_class_without_a_json_form_is_anything(self) -> None:
        class Holder(typing_extensions.TypedDict):
            odd: NotForJson

        assert json_schema_of(Holder)["properties"]["odd"] == {"title": "Odd"}

    def test_a_model_for_a_typed_dict_validates(self) -> None:
        class Old(TypedDict):
            many: list[OldInner]

        model = pydantic_model_for(Old, "GraphInput")
        assert model.__name__ == "GraphInput"
        assert model.model_validate({"many": [{"z": "3"}]}).root == {"many": [{"z": 3}]}

    def test_a_model_is_its_own_model(self) -> None:
        from pydantic import BaseModel

        class Model(BaseModel):
            x: int

        assert pydantic_model_for(Model, "GraphInput") is Model

    def test_a_model_for_an_annotated_class(self) -> None:
        class Plain:
            x: int
            y: str = "a"

        assert pydantic_model_for(Plain, "GraphInput").model_validate({"x": "1"}).model_dump() == {
            "x": 1,
            "y": "a",
        }

    def test_a_model_for_a_dataclass_and_a_bare_type(self) -> None:
        assert pydantic_model_for(Data, "GraphInput").model_validate({"x": "1"}).root == Data(1)
        assert pydantic_model_for(list[int], "GraphInput").model_validate(["1"]).root == [1]


class TestNames:
    def test_a_typed_dict_keeps_its_name(self) -> None:
        assert named_json_schema(Inner, "GraphInput")["title"] == "Inner"

    def test_a_bare_type_is_named_after_the_graph(self) -> None:
        assert named_json_schema(Annotated[list[int], operator.add], "GraphInput") == {
            "default": None,
            "items": {"type": "integer"},
            "title": "GraphInput",
            "type": "array",
        }

    def test_a_dataclass_is_named_after_the_graph_and_shows_what_factories_make(self) -> None:
        assert named_json_schema(Undocumented, "GraphInput") == {
            "properties": {
                "x": {"title": "X", "type": "integer"},
                "made": {"default": ["a"], "items": {}, "title": "Made", "type": "array"},
            },
            "required": ["x"],
            "title": "GraphInput",
            "type": "object",
        }

    def test_naming_does_not_change_what_is_remembered(self) -> None:
        named_json_schema(Undocumented, "GraphInput")
        assert json_schema_of(Undocumented)["title"] == "Undocumented"
        assert "default" not in json_schema_of(Undocumented)["properties"]["made"]
