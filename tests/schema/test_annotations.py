"""Resolving annotations: strings, wrappers, generics, names that cannot be found."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    NotRequired,
    Optional,
    Required,
    TypedDict,
    TypeVar,
    Union,
)

import pytest
from typing_extensions import ReadOnly

from stepgraph.schema.annotations import (
    annotation_of,
    bare_type,
    class_hints,
    metadata_of,
    strip_wrappers,
    substitute,
)

if TYPE_CHECKING:
    from nowhere import Message, Sequence2, missing_reducer

T = TypeVar("T")
K = TypeVar("K")


class Box(TypedDict, Generic[T]):
    item: T
    items: Annotated[list[T], operator.add]


class IntBox(Box[int]):
    more: NotRequired[str]


class PairBox(Box[K], Generic[K]):
    second: K


class Tree(TypedDict):
    children: list[Tree]
    parent: Tree | None


@dataclass
class Base(Generic[T]):
    value: T
    values: list[T] = field(default_factory=list)
    limit: ClassVar[int] = 3


@dataclass
class Derived(Base[str]):
    list: list[str] = field(default_factory=list)


def test_string_annotations_are_resolved() -> None:
    class State(TypedDict):
        x: int
        y: Optional[str]

    assert class_hints(State) == {"x": int, "y": Optional[str]}


def test_metadata_survives_string_annotations() -> None:
    assert metadata_of(class_hints(Box)["items"]) == (operator.add,)


def test_a_class_may_name_itself() -> None:
    assert class_hints(Tree) == {"children": list[Tree], "parent": Union[Tree, None]}


def test_wrappers_are_stripped_in_any_nesting() -> None:
    class State(TypedDict):
        a: Required[int]
        b: NotRequired[ReadOnly[int]]
        c: Annotated[NotRequired[int], "note"]
        d: NotRequired[Annotated[ReadOnly[int], "note"]]

    assert class_hints(State) == {
        "a": int,
        "b": int,
        "c": Annotated[int, "note"],
        "d": Annotated[int, "note"],
    }


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (int, int),
        (Annotated[int, "a"], int),
        (NotRequired[Annotated[list[int], "a"]], list[int]),
        (Optional[int], Optional[int]),
    ],
)
def test_bare_type_drops_wrappers_and_metadata(hint: Any, expected: Any) -> None:
    assert bare_type(hint) == expected


def test_strip_wrappers_keeps_an_annotated_without_wrappers_as_it_is() -> None:
    hint = Annotated[int, "note"]
    assert strip_wrappers(hint) is hint


def test_a_parametrised_generic_typed_dict_fills_in_its_argument() -> None:
    assert class_hints(Box[str]) == {"item": str, "items": Annotated[list[str], operator.add]}


def test_a_subclass_of_a_parametrised_typed_dict_fills_in_its_base() -> None:
    assert class_hints(IntBox) == {
        "item": int,
        "items": Annotated[list[int], operator.add],
        "more": str,
    }


def test_an_argument_is_handed_through_a_generic_subclass() -> None:
    assert class_hints(PairBox[bytes]) == {
        "item": bytes,
        "items": Annotated[list[bytes], operator.add],
        "second": bytes,
    }


def test_generic_dataclasses_fill_in_arguments() -> None:
    assert class_hints(Base[int]) == {"value": int, "values": list[int]}


def test_a_subclass_of_a_parametrised_dataclass_fills_in_its_base() -> None:
    assert class_hints(Derived)["values"] == list[str]


def test_a_field_that_is_called_like_a_builtin_does_not_hide_it() -> None:
    assert class_hints(Derived)["list"] == list[str]


def test_class_variables_are_no_fields() -> None:
    assert "limit" not in class_hints(Base)


def test_classes_inside_functions_see_the_names_of_the_function() -> None:
    class Inner(TypedDict):
        v: int

    class Outer(TypedDict):
        inner: Inner
        others: list[Outer]

    assert class_hints(Outer) == {"inner": Inner, "others": list[Outer]}


def test_names_two_functions_up_are_found() -> None:
    class Far(TypedDict):
        v: int

    def inside() -> type:
        class Near(TypedDict):
            far: Far

        return Near

    assert class_hints(inside()) == {"far": Far}


def test_an_unknown_name_becomes_any() -> None:
    class State(TypedDict):
        a: Message
        b: Annotated[list[Message], operator.add]
        c: Sequence2[str]
        d: int

    assert class_hints(State) == {"a": Any, "b": Annotated[list[Any], operator.add], "c": Any, "d": int}


def test_an_unknown_reducer_is_an_error_that_names_it() -> None:
    class State(TypedDict):
        items: Annotated[list, missing_reducer]

    with pytest.raises(NameError, match=r"missing_reducer.*'items' of .*State.*|'items'.*missing_reducer"):
        class_hints(State)


def test_malformed_annotations_say_where() -> None:
    class State(TypedDict):
        x: int

    State.__annotations__["x"] = "Annotated[int]"
    with pytest.raises(TypeError) as caught:
        class_hints(State)
    assert any("'x' of" in note and "State" in note for note in caught.value.__notes__)


def test_annotation_of_a_parameter_sees_closures() -> None:
    class Local(TypedDict):
        x: int

    def node(state: Local) -> list[Local]:
        return [state]

    assert annotation_of(node, "state") is Local
    assert annotation_of(node, "return") == list[Local]
    assert annotation_of(node, "other") is None


def test_substitute_leaves_unknown_variables() -> None:
    assert substitute(dict[K, T], {T: int}) == dict[K, int]
    assert substitute(T, {T: int}) is int
    assert substitute(int, {T: str}) is int


def test_a_schema_that_type_makes_of_another_has_all_its_fields() -> None:
    class State(TypedDict):
        items: Annotated[list[int], max]
        name: str

    made = type("Made", (State,), {"__annotations__": {**State.__annotations__, "name": Literal["a", "b"]}})
    assert class_hints(made) == {"items": Annotated[list[int], max], "name": Literal["a", "b"]}
