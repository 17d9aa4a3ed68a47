"""What has no stored form raises at the write, and says what and where."""

from __future__ import annotations

import pickle
import threading
from collections import defaultdict, deque
from typing import Any

import pytest

from checkpoint.serde.compare import round_trip
from checkpoint.serde.samples import Item, Person, Slotted
from stepgraph.checkpoint.serde.errors import NotRestorableWarning, NotStorableError
from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from stepgraph.checkpoint.serde.policy import forget_warnings
from stepgraph.types import Command, Send

lock = threading.Lock()


class Thing:
    pass


def fail(value: Any) -> NotStorableError:
    with pytest.raises(NotStorableError) as caught:
        JsonPlusSerializer().pack(value)
    return caught.value


@pytest.mark.parametrize(
    "value", [Thing(), lock, print, Thing, int, lambda: 1, object(), iter([]), (n for n in []), {}.keys()]
)
def test_values_without_a_stored_form_are_type_errors(value: Any) -> None:
    assert isinstance(fail(value), TypeError)
    assert isinstance(fail([value]), TypeError)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (lock, ""),
        ({"x": [0, 1, 2, lock]}, "['x'][3]"),
        ({"x": [Item("a", [lock])]}, "['x'][0].tags[0]"),
        ({"x": (1, {"y": lock})}, "['x'][1]['y']"),
        ([Slotted(1, lock)], "[0].text"),  # type: ignore[arg-type]
        ([Person.model_construct(name=lock)], "[0].name"),
        ([Send("n", {"a": lock})], "[0].arg['a']"),
        ([Command(update={"a": lock})], "[0].update['a']"),
        ([deque([lock])], "[0][0]"),
        ({(1, lock): 1}, " key (1, "),
    ],
)
def test_message_names_the_place(value: Any, path: str) -> None:
    error = fail(value)
    assert error.path.startswith(path)
    assert "_thread.lock" in str(error)


def test_message_names_the_type_and_what_to_do() -> None:
    text = str(fail({"f": print}))
    assert "value['f']" in text
    assert "builtin_function_or_method (print)" in text
    assert "pickle_fallback" in text


def test_error_can_be_told_from_further_out() -> None:
    error = fail({"f": print}).within("state['x']")
    assert str(error).startswith("Cannot store state['x']['f']: ")
    assert pickle.loads(pickle.dumps(error)).path == "['f']"


def test_cycles_are_refused() -> None:
    items: list[Any] = [1]
    items.append({"back": items})
    assert "contains itself" in str(fail({"a": items}))
    item = Item("a")
    item.tags.append((item,))
    error = fail({"a": item})
    assert "contains itself" in str(error)
    assert error.path == "['a']"


def test_cycle_through_a_tuple_is_refused() -> None:
    items: list[Any] = []
    items.append((items,))
    assert "contains itself" in str(fail(items))


def test_too_deep_nesting_of_objects_is_refused() -> None:
    item: Any = None
    for _ in range(5000):
        item = Item("a", [item])
    assert "nested too deeply" in str(fail(item))


def test_state_after_a_failure_is_clean() -> None:
    serializer = JsonPlusSerializer()
    with pytest.raises(NotStorableError):
        serializer.pack([Item("a"), lock])
    assert serializer.unpack(serializer.pack([Item("a"), 1])) == [Item("a"), 1]


def test_interrupt_from_the_keyboard_is_not_swallowed() -> None:
    class Rude(Thing):
        pass

    def interrupt(writer: Any, obj: Any) -> Any:
        raise KeyboardInterrupt

    from stepgraph.checkpoint.serde.families import ENCODERS

    ENCODERS[Rude] = interrupt
    try:
        with pytest.raises(KeyboardInterrupt):
            JsonPlusSerializer().pack({"a": [Rude()]})
    finally:
        del ENCODERS[Rude]


def test_factory_without_a_stored_form_warns() -> None:
    forget_warnings()
    with pytest.warns(NotRestorableWarning, match="factory"):
        back = round_trip(defaultdict(lambda: 3, {"a": 1}))
    assert type(back) is defaultdict
    assert (dict(back), back.default_factory) == ({"a": 1}, None)


def test_pickle_is_used_when_asked_for() -> None:
    serializer = JsonPlusSerializer(pickle_fallback=True)
    back = serializer.loads_typed(serializer.dumps_typed({"thing": Thing(), "plain": (1,)}))
    assert type(back["thing"]) is Thing
    assert back["plain"] == (1,)


def test_what_cannot_be_pickled_raises_too() -> None:
    with pytest.raises(NotStorableError, match="cannot be pickled"):
        JsonPlusSerializer(pickle_fallback=True).pack([lock])
