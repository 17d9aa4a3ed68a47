"""Which classes come back is decided by mode and allowlist; what does not is said once."""

from __future__ import annotations

import dataclasses
import importlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpoint.serde.compare import round_trip
from checkpoint.serde.samples import Color, Item, Outer, Person, Point, Problem
from stepgraph.checkpoint.serde.errors import NotRestorableWarning, PlainDataWarning
from stepgraph.checkpoint.serde.event_hooks import SerdeEvent, emit_serde_event, register_serde_event_listener
from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from stepgraph.checkpoint.serde.policy import forget_warnings
from stepgraph.errors import InvalidUpdateError
from stepgraph.types import Command, RetryPolicy, Send

VALUES = [Item("a"), Person(name="a"), Point(1, 2), Color.RED]
PLAIN = [{"name": "a", "tags": []}, {"name": "a", "age": 0, "color": "red"}, {"x": 1, "y": 2}, "red"]


@pytest.fixture(autouse=True)
def _every_warning_again(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_warnings()
    monkeypatch.delenv("LANGGRAPH_STRICT_MSGPACK", raising=False)


@pytest.fixture
def events() -> Iterator[list[SerdeEvent]]:
    seen: list[SerdeEvent] = []
    unregister = register_serde_event_listener(seen.append)
    yield seen
    unregister()


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[bytes, bytes]]:
    """Bytes with an object of a class in a module that is not loaded any more, and of one that looks similar."""
    monkeypatch.syspath_prepend(str(tmp_path))
    packed = []
    for package in ("shop_app", "shop_apple"):
        folder = tmp_path / package
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        (folder / "models.py").write_text(
            "import dataclasses\n@dataclasses.dataclass\nclass Order:\n    n: int = 0\n"
        )
        module = importlib.import_module(f"{package}.models")
        packed.append(JsonPlusSerializer().pack(module.Order(7)))
    _unload()
    yield packed[0], packed[1]
    _unload()


def _unload() -> None:
    for name in [name for name in sys.modules if name.startswith("shop_app")]:
        del sys.modules[name]


def read(data: bytes, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlainDataWarning)
        return JsonPlusSerializer(**options).unpack(data)


def test_loaded_classes_come_back_by_default() -> None:
    assert round_trip(VALUES) == VALUES


@pytest.mark.parametrize(
    "options",
    [{"strict": True}, {"allowed_msgpack_modules": None}, {"allowed_msgpack_modules": []}],
)
def test_strict_gives_plain_data(options: dict[str, Any]) -> None:
    data = JsonPlusSerializer().pack(VALUES)
    assert read(data, **options) == PLAIN


def test_environment_makes_reading_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    data = JsonPlusSerializer().pack(VALUES)
    monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", "true")
    assert read(data) == PLAIN
    assert read(data, strict=False) == VALUES
    assert read(data, allowed_msgpack_modules=True) == VALUES


def test_strict_restores_what_the_allowlist_names() -> None:
    data = JsonPlusSerializer().pack(VALUES)
    module = Item.__module__
    assert read(data, allowed_msgpack_modules=[Item, (module, "Point"), (*module.split("."), "Color")]) == [
        VALUES[0],
        {"name": "a", "age": 0, "color": Color.RED},
        VALUES[2],
        VALUES[3],
    ]


def test_allowlist_can_be_extended_without_changing_the_serializer() -> None:
    data = JsonPlusSerializer().pack(VALUES)
    strict = JsonPlusSerializer(strict=True)
    wide = strict.with_msgpack_allowlist([Item, Person, Point, Color])
    assert wide.unpack(data) == VALUES
    assert wide.strict
    with pytest.warns(PlainDataWarning):
        assert strict.unpack(data) == PLAIN


def test_serializer_can_be_made_strict_without_changing_it() -> None:
    data = JsonPlusSerializer().pack(VALUES)
    normal = JsonPlusSerializer()
    strict = normal.as_strict([Item])
    with pytest.warns(PlainDataWarning):
        assert strict.unpack(data) == [VALUES[0], *PLAIN[1:]]
    assert normal.unpack(data) == VALUES
    assert not normal.strict


def test_strict_knows_nested_classes_by_qualified_name() -> None:
    value = [Outer.Kind.A, Outer.Inner(1)]
    data = JsonPlusSerializer().pack(value)
    assert read(data, allowed_msgpack_modules=[Outer.Kind, (Outer.__module__, "Outer.Inner")]) == value


def test_strict_restores_builtin_types_and_those_of_graphs() -> None:
    value = [Send("a", (1,)), Command(goto="x"), RetryPolicy().initial_interval, {(1,)}]
    assert round_trip(value, JsonPlusSerializer(strict=True)) == value
    errors = round_trip([ValueError("a"), InvalidUpdateError("b")], JsonPlusSerializer(strict=True))
    assert [type(error) for error in errors] == [ValueError, InvalidUpdateError]


def test_strict_warns_at_the_write() -> None:
    with pytest.warns(NotRestorableWarning, match="allowlist"):
        JsonPlusSerializer(strict=True).pack(Item("a"))


def test_allowlisted_class_writes_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        JsonPlusSerializer(allowed_msgpack_modules=[Item]).pack(Item("a"))


def test_class_of_a_function_comes_back_in_strict_mode_if_the_class_is_given() -> None:
    @dataclasses.dataclass
    class Local:
        n: int

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert round_trip(Local(1), JsonPlusSerializer(allowed_msgpack_modules=[Local])) == Local(1)


def test_one_warning_for_a_class() -> None:
    data = JsonPlusSerializer().pack([Item("a"), Item("b"), Problem(1)])
    with pytest.warns(PlainDataWarning) as caught:
        [JsonPlusSerializer(strict=True).unpack(data) for _ in range(3)]
    texts = [str(warning.message) for warning in caught if warning.category is PlainDataWarning]
    assert len(texts) == 2
    assert "allowed_msgpack_modules=[('checkpoint.serde.samples', 'Item')]" in texts[0]


def test_class_that_is_not_loaded_is_plain_and_the_warning_says_how_to_allow_it(
    app: tuple[bytes, bytes],
) -> None:
    with pytest.warns(PlainDataWarning, match=r"allowed_modules=\['shop_app.models'\]"):
        assert JsonPlusSerializer().unpack(app[0]) == {"n": 7}
    assert "shop_app.models" not in sys.modules


def test_class_that_is_loaded_later_comes_back_then(app: tuple[bytes, bytes]) -> None:
    serializer = JsonPlusSerializer()
    with pytest.warns(PlainDataWarning):
        serializer.unpack(app[0])
    module = importlib.import_module("shop_app.models")
    assert serializer.unpack(app[0]) == module.Order(7)


@pytest.mark.parametrize("prefixes", [["shop_app."], ["shop_app"], ["shop_app.models"], "shop_app."])
def test_modules_below_an_allowed_prefix_are_imported(app: tuple[bytes, bytes], prefixes: Any) -> None:
    assert type(read(app[0], allowed_modules=prefixes)).__name__ == "Order"
    assert read(app[1], allowed_modules=prefixes) == {"n": 7}
    assert "shop_apple.models" not in sys.modules


def test_named_class_is_imported(app: tuple[bytes, bytes]) -> None:
    assert type(read(app[0], allowed_msgpack_modules=[("shop_app.models", "Order")])).__name__ == "Order"


def test_lax_imports_what_the_data_names(app: tuple[bytes, bytes]) -> None:
    assert type(read(app[0], allowed_msgpack_modules=True)).__name__ == "Order"


@pytest.mark.filterwarnings("ignore::stepgraph.checkpoint.serde.errors.PlainDataWarning")
def test_allowed_module_that_cannot_be_imported_is_plain(app: tuple[bytes, bytes]) -> None:
    data = app[0].replace(b"shop_app.models", b"shop_app.absent")
    with pytest.warns(PlainDataWarning, match="cannot be imported"):
        assert JsonPlusSerializer(allowed_modules=["shop_app"]).unpack(data) == {"n": 7}


def test_plain_objects_can_be_keys_and_members_of_sets() -> None:
    data = JsonPlusSerializer().pack([{Point(1, 2): "a"}, {Point(1, 2)}, frozenset([Color.ODD])])
    first, second, third = read(data, strict=True)
    assert list(first.values()) == ["a"]
    assert len(second) == 1
    assert third == frozenset(["ODD"])


@pytest.mark.parametrize("wrong", ["app.models", 3, ("one",), (1, 2)])
def test_wrong_allowlists_are_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="allowlist"):
        JsonPlusSerializer(allowed_msgpack_modules=[wrong])


def test_events_tell_of_unlisted_classes(events: list[SerdeEvent]) -> None:
    data = JsonPlusSerializer().pack([Item("a"), Point(1)])
    JsonPlusSerializer().with_msgpack_allowlist([Point]).unpack(data)
    assert events == [{"kind": "msgpack_unregistered_allowed", "module": Item.__module__, "name": "Item"}]
    events.clear()
    read(data, strict=True)
    assert [event["kind"] for event in events] == ["msgpack_blocked", "msgpack_blocked"]


def test_failing_listener_stops_nothing(events: list[SerdeEvent], caplog: pytest.LogCaptureFixture) -> None:
    def fail(event: SerdeEvent) -> None:
        raise RuntimeError("listener")

    unregister = register_serde_event_listener(fail)
    later: list[SerdeEvent] = []
    unregister_later = register_serde_event_listener(later.append)
    emit_serde_event({"kind": "k", "module": "m", "name": "n"})
    assert later == events == [{"kind": "k", "module": "m", "name": "n"}]
    assert "listener" in caplog.text
    for end in (unregister, unregister, unregister_later):
        end()
    emit_serde_event({"kind": "k", "module": "m", "name": "n"})
    assert len(later) == 1
