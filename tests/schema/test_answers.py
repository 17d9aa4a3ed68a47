"""Answers of people: checked with Pydantic where it is installed, else by the own checker."""

import datetime
import enum
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NewType, NotRequired, Optional, TypedDict, Union

import pytest
import typing_extensions
from hypothesis import given
from hypothesis import strategies as st

from stepgraph.schema.adapters import load_pydantic
from stepgraph.schema.check import check_value
from stepgraph.schema.json_schema import answer_json_schema, check_answer

Count = NewType("Count", int)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Approval(TypedDict):
    approved: bool
    reason: NotRequired[str]


class Form(typing_extensions.TypedDict, total=False):
    approvals: list[Approval]
    colour: Colour


@dataclass
class Decision:
    approved: bool
    weight: float = 1.0
    notes: list[str] = field(default_factory=list)


class Plain:
    x: int
    y: str = "a"


CHECKS = pytest.mark.parametrize("check", [check_answer, check_value], ids=["public", "own"])

FITTING: list[tuple[Any, Any, Any]] = [
    (int, 3, 3),
    (int, "3", 3),
    (int, 3.0, 3),
    (float, 3, 3.0),
    (float, "2.5", 2.5),
    (bool, "yes", True),
    (bool, 0, False),
    (str, "a", "a"),
    (None, None, None),
    (Any, {"a": [1]}, {"a": [1]}),
    (Optional[int], None, None),
    (Optional[int], "4", 4),
    (Union[int, str], "4", "4"),
    (Union[str, int], 4, 4),
    (Literal["y", "n"], "y", "y"),
    (list[int], ["1", 2], [1, 2]),
    (list[int], (1, 2), [1, 2]),
    (set[int], [1, 1], {1}),
    (tuple[int, str], [1, "a"], (1, "a")),
    (tuple[int, ...], ["1"], (1,)),
    (dict[str, int], {"a": "1"}, {"a": 1}),
    (Annotated[int, "note"], "1", 1),
    (Count, "1", 1),
    (Colour, "red", Colour.RED),
    (Approval, {"approved": "true"}, {"approved": True}),
    (Approval, {"approved": True, "reason": "r", "other": 1}, {"approved": True, "reason": "r"}),
    (
        Form,
        {"approvals": [{"approved": 1}], "colour": "blue"},
        {"approvals": [{"approved": True}], "colour": Colour.BLUE},
    ),
    (Form, {}, {}),
    (Decision, {"approved": True}, Decision(True)),
    (Decision, Decision(False), Decision(False)),
    (datetime.date, datetime.date(2020, 1, 2), datetime.date(2020, 1, 2)),
]

UNFIT: list[tuple[Any, Any]] = [
    (int, "x"),
    (int, 1.5),
    (int, None),
    (float, "x"),
    (bool, "maybe"),
    (bool, 2),
    (str, 3),
    (type(None), 0),
    (Optional[int], "x"),
    (Literal["y", "n"], "z"),
    (list[int], "12"),
    (list[int], [1, "x"]),
    (list[int], {"a": 1}),
    (tuple[int, str], [1]),
    (dict[str, int], [1]),
    (dict[str, int], {"a": "x"}),
    (Colour, "green"),
    (Approval, {}),
    (Approval, {"approved": "perhaps"}),
    (Approval, "approved"),
    (Form, {"approvals": [{"reason": "x"}]}),
    (Decision, {}),
    (Decision, {"approved": True, "weight": "heavy"}),
    (Decision, 3),
    (datetime.date, object()),
]


@CHECKS
@pytest.mark.parametrize(("schema", "value", "expected"), FITTING)
def test_a_fitting_answer_is_converted(check: Any, schema: Any, value: Any, expected: Any) -> None:
    checked = check(schema, value)
    assert checked == expected
    assert type(checked) is type(expected)


@CHECKS
@pytest.mark.parametrize(("schema", "value"), UNFIT)
def test_an_unfit_answer_is_a_value_error(check: Any, schema: Any, value: Any) -> None:
    with pytest.raises(ValueError):
        check(schema, value)


def test_the_own_checker_lists_all_faults_with_their_paths() -> None:
    with pytest.raises(ValueError, match="2 faults in the value for Form") as caught:
        check_value(Form, {"approvals": [{"approved": True}, {"approved": "perhaps"}], "colour": "green"})
    message = str(caught.value)
    assert "approvals.1.approved: expected true or false, got 'perhaps'" in message
    assert "colour: expected one of 'red', 'blue', got 'green'" in message


def test_the_own_checker_names_what_is_missing() -> None:
    with pytest.raises(ValueError, match="approved: a value is required"):
        check_value(Approval, {})


def test_annotated_classes_are_checked_and_built() -> None:
    made = check_answer(Plain, {"x": "1"})
    assert (type(made), made.x, made.y) == (Plain, 1, "a")


def test_a_class_that_refers_to_itself_is_checked() -> None:
    class Tree(TypedDict):
        children: "list[Tree]"

    assert check_answer(Tree, {"children": [{"children": []}]}) == {"children": [{"children": []}]}
    with pytest.raises(ValueError):
        check_answer(Tree, {"children": [{}]})


@pytest.mark.parametrize("schema", [None, {"type": "object", "required": ["x"]}])
def test_a_json_schema_and_none_take_every_answer(schema: Any) -> None:
    assert check_answer(schema, "anything") == "anything"
    assert answer_json_schema(schema) is schema


def test_the_schema_is_shown_as_json_schema() -> None:
    assert answer_json_schema(Approval) == {
        "properties": {
            "approved": {"title": "Approved", "type": "boolean"},
            "reason": {"title": "Reason", "type": "string"},
        },
        "required": ["approved"],
        "title": "Approval",
        "type": "object",
    }


@pytest.mark.skipif(load_pydantic() is None, reason="Pydantic is not installed")
def test_models_answer_with_an_instance_and_pydantics_error() -> None:
    from pydantic import BaseModel, ValidationError

    class Model(BaseModel):
        ok: bool
        n: int = 3

    assert check_answer(Model, {"ok": "yes"}) == Model(ok=True)
    with pytest.raises(ValidationError, match="Model"):
        check_answer(Model, {"n": "q"})
    assert answer_json_schema(Model) == Model.model_json_schema()


words = st.sampled_from(
    ["", "a", "b", "1", "-2", "+3", "1.0", "1.5", "1.", "x1", "yes", "No", "TRUE", "maybe"]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 100) | st.floats(-3, 3) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_checking_twice_gives_the_same(value: Any) -> None:
    hint = Union[int, float, str, None, list[Any], dict[str, Any]]
    checked = check_value(hint, value)
    assert check_value(hint, checked) == checked


@given(json_values)
def test_the_own_checker_takes_what_pydantic_takes_of_json_forms(value: Any) -> None:
    pydantic = load_pydantic()
    if pydantic is None:
        return
    for hint in (bool, int, Optional[int], str, list[int], dict[str, str], float, Literal["a", "b"]):
        adapter: Any = pydantic.TypeAdapter(hint)
        try:
            expected = adapter.validate_python(value)
        except ValueError:
            with pytest.raises(ValueError):
                check_value(hint, value)
        else:
            assert check_value(hint, value) == expected
