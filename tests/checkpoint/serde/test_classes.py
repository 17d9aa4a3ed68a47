"""Objects of a person's classes come back as they were, without running their code."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Optional, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AnyUrl,
    BaseModel,
    Field,
    HttpUrl,
    PostgresDsn,
    RootModel,
    SecretBytes,
    SecretStr,
    field_validator,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass

from checkpoint.serde import samples as sample_module
from checkpoint.serde.compare import round_trip, same
from checkpoint.serde.samples import (
    Color,
    Derived,
    Item,
    Money,
    Open,
    Page,
    Person,
    Point,
    Problem,
    Rights,
    SlotChild,
    Slotted,
    Tree,
    WithCache,
    class_samples,
)
from stepgraph.checkpoint.serde.errors import NotRestorableWarning, PlainDataWarning
from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from stepgraph.checkpoint.serde.policy import forget_warnings


@pytest.fixture(autouse=True)
def _every_warning_again() -> None:
    forget_warnings()


@pytest.mark.parametrize("name", class_samples())
def test_sample_comes_back(name: str) -> None:
    value = class_samples()[name]
    assert same(round_trip(value), value)


@given(st.recursive(st.integers(), lambda inner: st.builds(Item, st.text(), st.lists(inner, max_size=3))))
def test_nested_dataclasses_come_back(value: Any) -> None:
    assert same(round_trip(value), value)


@given(st.builds(Person, name=st.text(), age=st.integers(), color=st.sampled_from(Color)))
def test_models_come_back(value: Person) -> None:
    back = round_trip(value)
    assert back == value
    assert back.model_fields_set == value.model_fields_set


@given(st.sampled_from(Color) | st.builds(lambda a, b: a | b, *[st.sampled_from(Rights)] * 2))
def test_members_of_enums_are_the_same_objects(value: Any) -> None:
    assert round_trip([value])[0] is value


def test_no_init_and_no_post_init_runs() -> None:
    back = round_trip(Derived(3, 5))
    assert (back.base, back.product, back.runs) == (3, 15, 1)


def test_attributes_beyond_the_fields_are_kept() -> None:
    item = Item("a")
    item.note = (1, 2)  # type: ignore[attr-defined]
    assert round_trip(item).note == (1, 2)


def test_missing_attributes_stay_missing() -> None:
    item = Item("a")
    del item.tags
    slotted = SlotChild(1, 2)
    del slotted.two
    back, back_slotted = round_trip([item, slotted])
    assert back.tags == []
    assert back_slotted.one == 1


def test_cached_properties_are_not_stored() -> None:
    value = WithCache(2)
    assert value.double == 4
    back = round_trip(value)
    assert back.__dict__ == {"size": 2}
    assert back.double == 4


def test_generic_dataclass_comes_back() -> None:
    back = round_trip(Box[int](1))
    assert back == Box(1)


def test_private_and_extra_attributes_are_kept() -> None:
    person = Person(name="a")
    person._secret = 9
    back, extra = round_trip([person, Open(a=1, b={2: 3})])
    assert back._secret == 9
    assert extra.model_extra == {"b": {2: 3}}


def test_constructed_models_keep_what_they_hold() -> None:
    value = Person.model_construct(name=3, age="x")
    back = round_trip(value)
    assert (back.name, back.age, back.model_fields_set) == (3, "x", {"name", "age"})
    assert not hasattr(round_trip(Page.model_construct()), "items")


def test_validators_do_not_run() -> None:
    value = Picky(n=1)
    value.__dict__["n"] = -1
    assert round_trip(value).n == -1


@pytest.mark.parametrize(
    "cls",
    [
        Page[int],
        Page[list[str]],
        Page[Optional[Person]],
        Page[Item | None],
        Page[dict[str, Any]],
        Page[Literal["a", 1]],
        Page[Page[int]],
    ],
)
def test_type_arguments_of_models_are_kept(cls: Any) -> None:
    assert type(round_trip(cls(items=[]))) is cls


def test_type_argument_without_a_description_warns() -> None:
    with pytest.warns(NotRestorableWarning, match="without its type arguments"):
        data = JsonPlusSerializer().pack(Page[tuple[int, object] | type[int]](items=[]))
    assert type(JsonPlusSerializer().unpack(data)) is Page


@pytest.mark.parametrize(
    "value",
    [
        SecretStr("a"),
        SecretBytes(b"a"),
        AnyUrl("https://a.b/c?d=1"),
        HttpUrl("https://a.b"),
        PostgresDsn("postgres://u:p@h:1/d"),
        AnyUrl("x://y"),
        RootModel[list[int]]([1]),
    ],
)
def test_types_of_pydantic_come_back(value: Any) -> None:
    assert same(round_trip(value), value)


def test_pydantic_dataclass_comes_back() -> None:
    assert same(round_trip(Checked(1)), Checked(1))


def test_field_that_the_class_has_got_since_takes_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    data = JsonPlusSerializer().pack([Item("a"), Person(name="b"), Point(1, 2), Slotted(1, "t")])

    @dataclasses.dataclass
    class NewItem:
        name: str
        tags: list[Any] = dataclasses.field(default_factory=list)
        size: int = 7
        marks: list[int] = dataclasses.field(default_factory=lambda: [1])

    class NewPerson(Person):
        nick: str = "none"
        marks: list[int] = Field(default_factory=lambda: [2])
        _more: int = 3

    class NewPoint(NamedTuple):
        x: int
        y: int
        z: int = 9

    @dataclasses.dataclass(slots=True)
    class NewSlotted:
        number: int
        extra: int = 4

    for name, cls in (("Item", NewItem), ("Person", NewPerson), ("Point", NewPoint), ("Slotted", NewSlotted)):
        monkeypatch.setattr(sample_module, name, cls)
    with pytest.warns(PlainDataWarning, match="'text'"):
        item, person, point, slotted = JsonPlusSerializer().unpack(data)
    assert (item.name, item.size, item.marks) == ("a", 7, [1])
    assert (person.name, person.nick, person.marks, person._secret, person._more) == ("b", "none", [2], 5, 3)
    assert point == (1, 2, 9)
    assert (slotted.number, slotted.extra) == (1, 4)


def test_field_without_a_default_that_the_class_has_got_since_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    data = JsonPlusSerializer().pack([Item("a"), Point(1)])

    @dataclasses.dataclass
    class NewItem:
        name: str
        owner: str

    class NewPoint(NamedTuple):
        x: int
        z: int

    monkeypatch.setattr(sample_module, "Item", NewItem)
    monkeypatch.setattr(sample_module, "Point", NewPoint)
    with pytest.warns(PlainDataWarning) as caught:
        item, point = JsonPlusSerializer().unpack(data)
    assert item.name == "a"
    assert not hasattr(item, "owner")
    assert point == {"x": 1, "y": 0}
    assert {"owner" in str(warning.message) or "['z']" in str(warning.message) for warning in caught} == {
        True
    }


def test_member_that_is_gone_comes_back_as_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    data = JsonPlusSerializer().pack([Color.RED, Color.ODD])

    class NewColor(enum.Enum):
        GREEN = "green"

    monkeypatch.setattr(sample_module, "Color", NewColor)
    with pytest.warns(PlainDataWarning, match="no such member"):
        assert JsonPlusSerializer().unpack(data) == ["red", "ODD"]


def test_class_that_was_defined_anew_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    serializer = JsonPlusSerializer()
    data = serializer.pack(Item("a"))
    assert type(serializer.unpack(data)) is Item

    @dataclasses.dataclass
    class NewItem:
        name: str
        tags: list[Any]

    monkeypatch.setattr(sample_module, "Item", NewItem)
    assert type(serializer.unpack(data)) is NewItem


def test_class_made_in_a_function_warns_and_comes_back_in_this_process() -> None:
    @dataclasses.dataclass
    class Local:
        n: int

    class LocalModel(BaseModel):
        n: int

    with pytest.warns(NotRestorableWarning, match="defined inside a function"):
        back = round_trip([Local(1), LocalModel(n=2)])
    assert same(back, [Local(1), LocalModel(n=2)])


def test_subclass_of_a_builtin_comes_back_as_the_builtin_with_a_warning() -> None:
    with pytest.warns(NotRestorableWarning, match="Money"):
        back = round_trip([Money(3)])
    assert same(back, [3])


def test_allowed_subclass_of_a_builtin_comes_back_as_itself() -> None:
    money = Money(3)
    money.currency = "EUR"  # type: ignore[attr-defined]
    values = [money, Names([1, (2,)]), Lookup({1: 2}), Label("x")]
    serializer = JsonPlusSerializer().with_msgpack_allowlist([Money, Names, Lookup, Label])
    back = round_trip(values, serializer)
    assert same(back, values)
    assert back[0].currency == "EUR"


def test_exceptions_keep_class_arguments_notes_and_attributes() -> None:
    error = Problem(7, detail="deep")
    error.add_note("a note")
    back = round_trip({"error": error})["error"]
    assert type(back) is Problem
    assert (back.args, back.code, back.detail, back.__notes__) == (("problem 7",), 7, "deep", ["a note"])


@dataclasses.dataclass
class Box(Generic[TypeVar("Content")]):  # type: ignore[misc]
    content: Any
    kind: ClassVar[str] = "box"


class Picky(BaseModel):
    n: int

    @field_validator("n")
    @classmethod
    def positive(cls, n: int) -> int:
        if n < 0:
            raise ValueError("negative")
        return n


class MyUrl(AnyUrl):
    pass


@pydantic_dataclass
class Checked:
    n: int


class Names(list):  # type: ignore[type-arg]
    pass


class Lookup(dict):  # type: ignore[type-arg]
    pass


class Label(str):
    pass


def test_tree_of_models_comes_back() -> None:
    value = Tree(value=0, children=[Tree(value=n) for n in range(3)])
    assert same(round_trip(value), value)


def test_url_subclass_comes_back() -> None:
    assert same(round_trip(MyUrl("https://a.b")), MyUrl("https://a.b"))
