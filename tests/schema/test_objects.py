"""State dicts into typed objects, and instances back into dicts."""

import enum
import operator
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import Annotated, Any, Generic, NamedTuple, Optional, Protocol, TypedDict, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepgraph.schema.objects import fields_of, is_schema_class, mapper_for

T = TypeVar("T")


class Dict(TypedDict, total=False):
    x: int


@dataclass
class Data:
    x: int
    y: int = 5
    tags: Annotated[list, operator.add] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    x: int
    y: int = 2


@dataclass
class Late:
    x: int
    total: int = field(init=False, default=0)


@dataclass
class Box(Generic[T]):
    item: T


class Plain:
    x: int
    y: str = "a"


class Made:
    x: int

    def __init__(self, x: int = 3) -> None:
        self.x = x * 10


class Slotted:
    __slots__ = ("x", "y")
    x: int
    y: int


class Pair(NamedTuple):
    x: int
    y: int = 4


class Shape(Protocol):
    x: int


class Colour(enum.Enum):
    name_of_it: str
    RED = "red"


class TestBuilding:
    @pytest.mark.parametrize(
        "schema", [Dict, list, dict, int, Optional[int], Any, Annotated[list, operator.add]]
    )
    def test_dicts_and_bare_values_need_no_mapper(self, schema: Any) -> None:
        assert mapper_for(schema) is None

    def test_a_mapper_is_made_once(self) -> None:
        assert mapper_for(Data) is mapper_for(Data)

    def test_missing_fields_take_the_defaults_of_the_class(self) -> None:
        assert mapper_for(Data)({"x": 1}) == Data(1, 5, [])  # type: ignore[misc]

    def test_defaults_are_not_shared_between_objects(self) -> None:
        build = mapper_for(Data)
        assert build is not None
        build({"x": 1}).tags.append("a")
        assert build({"x": 1}).tags == []

    def test_a_missing_required_field_is_an_error_that_says_what_the_state_holds(self) -> None:
        build = mapper_for(Data)
        assert build is not None
        with pytest.raises(TypeError, match="'x'") as caught:
            build({"y": 1})
        assert any("Data" in note and "y" in note for note in caught.value.__notes__)

    def test_frozen_slotted_keyword_dataclass(self) -> None:
        assert mapper_for(Frozen)({"x": 1, "y": 3}) == Frozen(x=1, y=3)  # type: ignore[misc]

    def test_fields_outside_init_are_set_too(self) -> None:
        made = mapper_for(Late)({"x": 1, "total": 7})  # type: ignore[misc]
        assert (made.x, made.total) == (1, 7)

    def test_init_only_variables_with_a_default(self) -> None:
        @dataclass
        class WithInitVar:
            x: int
            scale: InitVar[int] = 2

            def __post_init__(self, scale: int) -> None:
                self.x *= scale

        assert mapper_for(WithInitVar)({"x": 3}).x == 6  # type: ignore[misc]

    def test_generic_dataclass_with_arguments(self) -> None:
        assert mapper_for(Box[int])({"item": 1}) == Box(1)  # type: ignore[misc]

    def test_annotated_class_without_init(self) -> None:
        made = mapper_for(Plain)({"x": 1})  # type: ignore[misc]
        assert (type(made), made.x, made.y) == (Plain, 1, "a")

    def test_annotated_class_with_init(self) -> None:
        assert mapper_for(Made)({"x": 1}).x == 10  # type: ignore[misc]

    def test_named_tuple(self) -> None:
        assert mapper_for(Pair)({"x": 1}) == Pair(1, 4)  # type: ignore[misc]


class TestReading:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (Data(1), {"x": 1, "y": 5, "tags": []}),
            (Frozen(x=1), {"x": 1, "y": 2}),
            (Box("a"), {"item": "a"}),
            (Pair(1), {"x": 1, "y": 4}),
            (Made(2), {"x": 20}),
            (Plain(), {"y": "a"}),
        ],
    )
    def test_the_fields_of_an_instance(self, value: Any, expected: dict[str, Any]) -> None:
        assert fields_of(value) == expected

    @pytest.mark.parametrize(
        "value",
        [None, 1, "a", [1], (1, 2), {"x": 1}, {1}, b"", Data, Colour.RED, ValueError("x"), object(), len],
    )
    def test_other_values_have_none(self, value: Any) -> None:
        assert fields_of(value) is None

    def test_attributes_that_are_not_set_are_left_out(self) -> None:
        made = Slotted()
        made.y = 2
        assert fields_of(made) == {"y": 2}

    def test_nested_objects_stay_as_they_are(self) -> None:
        inner = Data(1)
        fields = fields_of(Box(inner))
        assert fields is not None
        assert fields["item"] is inner

    def test_a_reducer_field_at_its_default_is_not_given(self) -> None:
        assert fields_of(Data(5), given_only=True) == {"x": 5, "y": 5}

    def test_a_reducer_field_with_another_value_is_given(self) -> None:
        assert fields_of(Data(5, tags=["a"]), given_only=True) == {"x": 5, "y": 5, "tags": ["a"]}

    def test_a_reducer_field_without_a_default_is_always_given(self) -> None:
        @dataclass
        class Required:
            tags: Annotated[list, operator.add]

        assert fields_of(Required([]), given_only=True) == {"tags": []}

    def test_reducers_that_only_the_caller_knows(self) -> None:
        @dataclass
        class Update:
            tags: list = field(default_factory=list)
            n: int = 0

        assert fields_of(Update(), given_only=True, reducers={"tags"}) == {"n": 0}

    def test_a_value_that_cannot_be_compared_is_given(self) -> None:
        class Strange:
            def __eq__(self, other: object) -> bool:
                raise ValueError("ambiguous")

            __hash__ = None  # type: ignore[assignment]

        @dataclass
        class State:
            x: Annotated[Any, lambda a, b: b] = 0

        strange = Strange()
        read = fields_of(State(strange), given_only=True)
        assert read is not None
        assert read["x"] is strange

    def test_odd_metadata_in_a_returned_class_is_no_error(self) -> None:
        @dataclass
        class Odd:
            x: Annotated[int, lambda only_one: only_one] = 1

        assert fields_of(Odd()) == {"x": 1}

    @given(st.integers(), st.integers(), st.lists(st.integers()))
    def test_reading_what_was_built_gives_the_same(self, x: int, y: int, tags: list[int]) -> None:
        values = {"x": x, "y": y, "tags": tags}
        build: Callable[[dict[str, Any]], Any] | None = mapper_for(Data)
        assert build is not None
        assert fields_of(build(values)) == values


class TestSchemaClasses:
    @pytest.mark.parametrize("annotation", [Dict, Data, Frozen, Box, Box[int], Plain, Made, Pair])
    def test_classes_with_fields_are_schemas(self, annotation: Any) -> None:
        assert is_schema_class(annotation)

    @pytest.mark.parametrize(
        "annotation",
        [
            Any,
            dict,
            list,
            int,
            str,
            None,
            Optional[Dict],
            dict[str, int],
            Shape,
            Colour,
            ValueError,
            T,
            object,
            "Dict",
        ],
    )
    def test_other_annotations_are_not(self, annotation: Any) -> None:
        assert not is_schema_class(annotation)
