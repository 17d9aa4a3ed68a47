"""Pydantic models as schemas: fields, defaults, building, validation of single fields."""

import operator
from typing import Annotated, Any, Generic, Optional, TypeVar

import pytest

pydantic = pytest.importorskip("pydantic")

from pydantic import (  # noqa: E402
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    SkipValidation,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from stepgraph.channels.binop import BinaryOperatorAggregate  # noqa: E402
from stepgraph.channels.last_value import LastValue  # noqa: E402
from stepgraph.managed.is_last_step import RemainingSteps, RemainingStepsManager  # noqa: E402
from stepgraph.schema.callables import input_schema_of  # noqa: E402
from stepgraph.schema.fields import parse_schema  # noqa: E402
from stepgraph.schema.objects import fields_of, is_schema_class, mapper_for  # noqa: E402
from stepgraph.schema.validate import validator_for  # noqa: E402

T = TypeVar("T")


class State(BaseModel):
    n: Annotated[int, operator.add] = 5
    tags: Annotated[list[str], operator.add] = Field(default_factory=lambda: ["base"])
    name: str = Field(default="a", alias="NAME")
    size: int = Field(default=1, gt=0)


class Required(BaseModel):
    x: int
    y: int = 2


class Box(BaseModel, Generic[T]):
    item: T
    items: Annotated[list[T], operator.add] = []


class Node(BaseModel):
    value: int
    children: list["Node"] = []


class Checked(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    low: int = 0
    high: int = Field(default=3, alias="HIGH", frozen=True)
    text: str = ""
    tree: Optional[Node] = None
    few: list[Node] = Field(default_factory=list, max_length=2)

    @field_validator("high")
    @classmethod
    def above_low(cls, value: int, info: ValidationInfo) -> int:
        if value < info.data.get("low", 0):
            raise ValueError("high is below low")
        return value * 2

    @model_validator(mode="before")
    @classmethod
    def refuse_everything_before(cls, data: Any) -> Any:
        raise AssertionError("a validator of the whole model ran")

    @model_validator(mode="after")
    def refuse_everything_after(self) -> "Checked":
        raise AssertionError("a validator of the whole model ran")


class TestFields:
    def test_channels_by_field_name(self) -> None:
        spec = parse_schema(State)
        assert spec.kind == "pydantic"
        assert {name: type(channel) for name, channel in spec.channels.items()} == {
            "n": BinaryOperatorAggregate,
            "tags": BinaryOperatorAggregate,
            "name": LastValue,
            "size": LastValue,
        }

    def test_configuration_and_private_attributes_are_no_fields(self) -> None:
        class Model(BaseModel):
            model_config = ConfigDict(frozen=True)
            x: int
            _secret: int = 3

        assert list(parse_schema(Model).fields) == ["x"]

    def test_defaults(self) -> None:
        fields = parse_schema(State).fields
        assert fields["n"].make_default() == 5
        assert fields["tags"].make_default() == ["base"]
        assert parse_schema(Required).fields["x"].required
        assert not parse_schema(Required).fields["x"].has_default

    def test_a_mutable_default_is_copied(self) -> None:
        spec = parse_schema(Box[int]).fields["items"]
        spec.make_default().append(1)
        assert spec.make_default() == []

    def test_generic_models(self) -> None:
        fields = parse_schema(Box[int]).fields
        assert fields["item"].type is int
        assert fields["items"].type == list[int]
        assert fields["items"].reducer is operator.add

    def test_a_reducer_counts_although_field_adds_metadata(self) -> None:
        class Model(BaseModel):
            x: Annotated[list[int], operator.add] = Field(default_factory=list, min_length=0)
            y: Annotated[list[int], Field(max_length=3), operator.add] = []

        fields = parse_schema(Model).fields
        assert fields["x"].reducer is operator.add
        assert fields["y"].reducer is operator.add

    def test_markers_of_pydantic_are_no_reducers(self) -> None:
        class Model(BaseModel):
            x: Annotated[int, SkipValidation] = 0
            y: SkipValidation[int] = 0

        assert [field.reducer for field in parse_schema(Model).fields.values()] == [None, None]

    def test_managed_values(self) -> None:
        class Model(BaseModel):
            left: RemainingSteps = 0

        assert parse_schema(Model).managed == {"left": RemainingStepsManager}

    def test_inherited_fields(self) -> None:
        class Heir(State):
            more: int = 0

        assert list(parse_schema(Heir).fields) == ["n", "tags", "name", "size", "more"]
        assert parse_schema(Heir).fields["n"].reducer is operator.add

    def test_a_model_is_a_nodes_schema(self) -> None:
        def node(state: State) -> None: ...

        assert is_schema_class(Box[int])
        assert input_schema_of(node) is State


class TestBuilding:
    def test_by_field_name_whatever_the_alias(self) -> None:
        assert mapper_for(State)({"name": "b"}).name == "b"  # type: ignore[misc]

    def test_it_validates_and_coerces(self) -> None:
        assert mapper_for(Required)({"x": "12"}) == Required(x=12)  # type: ignore[misc]

    def test_a_refusal_is_pydantics_own_error_with_a_note(self) -> None:
        build = mapper_for(Required)
        assert build is not None
        with pytest.raises(ValidationError) as caught:
            build({"y": 1})
        assert any("Required" in note for note in caught.value.__notes__)

    def test_validators_of_the_whole_model_run(self) -> None:
        with pytest.raises(ValidationError, match="a validator of the whole model ran"):
            mapper_for(Checked)({"low": 1})  # type: ignore[misc]


class TestReading:
    def test_fields_by_name(self) -> None:
        assert fields_of(State(NAME="b", n=1)) == {"n": 1, "tags": ["base"], "name": "b", "size": 1}

    def test_reducer_fields_at_their_default_are_not_given_and_plain_ones_are(self) -> None:
        assert fields_of(State(), given_only=True) == {"name": "a", "size": 1}

    def test_a_default_that_was_set_by_hand_is_not_given_either(self) -> None:
        read = fields_of(State(n=5), given_only=True)
        assert read is not None
        assert "n" not in read

    def test_nested_models_stay_objects(self) -> None:
        node = Node(value=1)
        assert fields_of(Box[Node](item=node)) == {"item": node, "items": []}


class TestFieldValidation:
    def test_schemas_that_check_nothing_have_none(self) -> None:
        assert validator_for(dict) is None
        assert validator_for(list[int]) is None

    def test_a_validator_is_made_once(self) -> None:
        assert validator_for(State) is validator_for(State)

    def test_it_coerces(self) -> None:
        validate = validator_for(Required)
        assert validate is not None
        assert validate("x", "4") == 4

    def test_a_refusal_names_field_and_value_and_is_pydantics_error(self) -> None:
        validate = validator_for(Required)
        assert validate is not None
        with pytest.raises(ValidationError) as caught:
            validate("x", "four")
        assert caught.value.title in ("Required", "typed-dict")  # the latter before Pydantic 2.11
        assert caught.value.errors()[0]["loc"] == ("x",)
        assert any("'x'" in note and "'four'" in note for note in caught.value.__notes__)

    def test_an_unknown_field_is_not_checked(self) -> None:
        validate = validator_for(Required)
        assert validate is not None
        assert validate("elsewhere", object) is object

    def test_constraints_of_field_count(self) -> None:
        validate = validator_for(State)
        assert validate is not None
        with pytest.raises(ValidationError):
            validate("size", 0)

    def test_a_field_alone_runs_its_validators_and_not_the_models(self) -> None:
        validate = validator_for(Checked)
        assert validate is not None
        assert validate("high", "4") == 8

    def test_field_validators_see_the_other_fields(self) -> None:
        validate = validator_for(Checked)
        assert validate is not None
        assert validate("high", 4, {"low": 2, "text": "later"}) == 8
        with pytest.raises(ValidationError, match="high is below low"):
            validate("high", 4, {"low": 5})

    def test_the_models_configuration_counts(self) -> None:
        validate = validator_for(Checked)
        assert validate is not None
        assert validate("text", "  x ") == "x"

    def test_models_inside_models(self) -> None:
        validate = validator_for(Checked)
        assert validate is not None
        made = validate("tree", {"value": "1", "children": [{"value": 2}]})
        assert made == Node(value=1, children=[Node(value=2)])
        with pytest.raises(ValidationError):
            validate("few", [{"value": 1}] * 3)

    def test_a_model_that_refers_to_itself(self) -> None:
        validate = validator_for(Node)
        assert validate is not None
        assert validate("children", [{"value": 2}]) == [Node(value=2)]

    def test_generic_models(self) -> None:
        validate = validator_for(Box[int])
        assert validate is not None
        with pytest.raises(ValidationError):
            validate("item", "x")

    def test_root_models(self) -> None:
        validate = validator_for(RootModel[int])
        assert validate is not None
        assert validate("root", "3") == 3

    def test_every_field_of_a_model_agrees_with_the_model(self) -> None:
        class Model(BaseModel):
            a: int
            b: Optional[list[float]] = None
            c: dict[str, tuple[int, ...]] = {}
            d: Annotated[str, Field(min_length=2, validation_alias=AliasChoices("D", "dd"))] = "xx"

        validate = validator_for(Model)
        assert validate is not None
        values = {"a": "1", "b": ["2.5"], "c": {"k": ["3"]}, "d": "yy"}
        whole = Model.model_validate({**values, "D": "yy"})
        assert {name: validate(name, value) for name, value in values.items()} == whole.model_dump()
