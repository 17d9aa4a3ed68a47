"""What old serializers wrote beyond the golden files: JSON, old interrupts, classes that are not there."""

from __future__ import annotations

import json
import uuid
from contextlib import suppress
from typing import Any

import ormsgpack
import pytest
from ormsgpack import Ext, packb

from checkpoint.serde.samples import Color, Item, Person
from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.errors import CorruptPayloadError, PlainDataWarning
from stepgraph.checkpoint.serde.jsonplus import (
    InvalidModuleError,
    JsonPlusSerializer,
    _msgpack_ext_hook_to_json,
)
from stepgraph.checkpoint.serde.policy import forget_warnings
from stepgraph.types import Command, Interrupt, Overwrite, Send

ID = "00000000-0000-0000-0000-000000000005"


@pytest.fixture(autouse=True)
def _every_warning_again() -> None:
    forget_warnings()


def from_json(value: Any, **options: Any) -> Any:
    return JsonPlusSerializer(**options).loads_typed(("json", json.dumps(value).encode()))


def from_msgpack(code: int, *parts: Any, **options: Any) -> Any:
    data = packb(Ext(code, packb(list(parts))))
    return JsonPlusSerializer(**options).loads_typed(("msgpack", data))


def envelope(*path: str, **rest: Any) -> dict[str, Any]:
    return {"lc": 2, "type": "constructor", "id": list(path), **rest}


@pytest.mark.parametrize(
    ("stored", "value"),
    [
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}),
        (envelope("uuid", "UUID", args=[ID], method=None), uuid.UUID(ID)),
        (envelope("builtins", "set", args=[[1, 2]], method=[None, "construct"]), {1, 2}),
        (envelope("langgraph", "types", "Send", kwargs={"node": "n", "arg": 1}), Send("n", 1)),
        (envelope("langgraph", "constants", "Send", args=["n", {"a": 1}]), Send("n", {"a": 1})),
        ({"list": [envelope("uuid", "UUID", args=[ID])]}, {"list": [uuid.UUID(ID)]}),
        ({"lc": 1, "type": "secret", "id": ["KEY"]}, {"lc": 1, "type": "secret", "id": ["KEY"]}),
    ],
)
def test_old_json_is_read(stored: Any, value: Any) -> None:
    assert from_json(stored) == value


def test_old_json_of_a_loaded_class_is_read() -> None:
    stored = envelope("checkpoint", "serde", "samples", "Item", kwargs={"name": "a", "tags": [1]})
    assert from_json(stored) == Item("a", [1])


def test_method_named_by_old_json_is_read() -> None:
    stored = envelope("datetime", "datetime", method="fromisoformat", args=["2020-01-01T00:00:00"])
    assert from_json(stored).year == 2020


@pytest.mark.parametrize(
    "options", [{}, {"allowed_json_modules": True}, {"allowed_json_modules": [("os", "system")]}]
)
def test_functions_named_by_old_json_are_not_called(options: Any) -> None:
    stored = envelope("os", "system", args=["exit 1"])
    with pytest.warns(PlainDataWarning, match="os.system"):
        assert from_json(stored, **options) == stored


def test_old_json_of_a_message_is_read() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    stored = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "HumanMessage"],
        "kwargs": {"content": "hi", "type": "human"},
    }
    assert from_json(stored) == messages.HumanMessage("hi")


def test_broken_json_is_a_clear_error() -> None:
    for data in (b"{", b"\xff", b"[" * 100_000, json.dumps(envelope("uuid", "UUID", args=["x"])).encode()):
        with pytest.raises(CorruptPayloadError, match="JSON"):
            JsonPlusSerializer().loads_typed(("json", data))


def test_old_interrupts_are_read() -> None:
    fields = {"value": "q", "resumable": True, "ns": ["a:1", "b:2"], "when": "during"}
    back = from_msgpack(codes.LEGACY_KEYWORDS, "langgraph.types", "Interrupt", fields)
    assert type(back) is Interrupt
    assert back.value == "q"
    assert len(back.id) == 32


def test_old_command_without_an_answer_carries_none() -> None:
    fields = {"graph": None, "update": {"a": 1}, "resume": None, "goto": []}
    back = from_msgpack(codes.LEGACY_KEYWORDS, "langgraph.types", "Command", fields)
    assert type(back) is Command
    assert not back.resume_given
    fields = {"value": 1, "type": "__overwrite__"}
    assert from_msgpack(codes.LEGACY_KEYWORDS, "langgraph.types", "Overwrite", fields) == Overwrite(1)


def test_set_of_tuples_that_langgraph_lost_is_found_again() -> None:
    assert from_msgpack(codes.LEGACY_SINGLE, "builtins", "set", [[1, 2], [3, [4]]]) == {(1, 2), (3, (4,))}


def test_old_objects_of_absent_classes_are_plain() -> None:
    with pytest.warns(PlainDataWarning, match="absent.Thing"):
        assert from_msgpack(codes.LEGACY_KEYWORDS, "absent", "Thing", {"a": 1}) == {"a": 1}
    assert from_msgpack(codes.LEGACY_MODEL_2, "absent", "Thing", {"a": 1}, "model_validate_json") == {"a": 1}
    assert from_msgpack(codes.LEGACY_SINGLE, "absent", "Thing", 5) == 5
    assert from_msgpack(codes.LEGACY_POSITIONAL, "absent", "Thing", [5]) == [5]
    assert from_msgpack(codes.LEGACY_METHOD, "absent", "Thing", 5, "load") == 5


@pytest.mark.filterwarnings("ignore::stepgraph.checkpoint.serde.errors.PlainDataWarning")
@pytest.mark.parametrize("code", [0, 1, 2, 3, 4, 5])
def test_old_data_calls_no_function(code: int) -> None:
    for module, name in (
        ("os", "system"),
        ("builtins", "eval"),
        ("subprocess", "Popen"),
        ("builtins", "bytearray"),
    ):
        argument: Any = {"command": "true"} if code in (2, 4, 5) else ["true"] if code == 1 else "true"
        back = from_msgpack(code, module, name, argument, "run", allowed_msgpack_modules=True)
        assert back == argument


def test_strict_holds_for_old_data() -> None:
    item = packb(
        Ext(codes.LEGACY_KEYWORDS, packb(["checkpoint.serde.samples", "Item", {"name": "a", "tags": []}]))
    )
    assert JsonPlusSerializer().loads_typed(("msgpack", item)) == Item("a")
    with pytest.warns(PlainDataWarning, match="allowlist"):
        assert JsonPlusSerializer(strict=True).loads_typed(("msgpack", item)) == {"name": "a", "tags": []}


def test_old_model_that_is_no_longer_valid_is_constructed() -> None:
    fields = {"name": "a", "age": "old"}
    back = from_msgpack(codes.LEGACY_MODEL_2, Person.__module__, "Person", fields, "model_validate_json")
    assert type(back) is Person
    assert back.age == "old"


@pytest.mark.parametrize("code", range(8))
def test_damaged_old_data_raises_nothing_but_that_error(code: int) -> None:
    for content in (b"", packb([]), packb(["a"]), packb([1, 2, 3, 4]), packb(["uuid", "UUID", 7, None])):
        with suppress(CorruptPayloadError):
            JsonPlusSerializer().loads_typed(("msgpack", packb(Ext(code, content))))


def test_tools_see_stored_values_as_json() -> None:
    value = {
        "id": uuid.UUID(ID),
        "item": Item("a", [(1, {2})]),
        "person": Person(name="b", color=Color.BLUE),
        "error": ValueError("bad"),
        "keys": {1: "x"},
    }
    back = ormsgpack.unpackb(JsonPlusSerializer().pack(value), ext_hook=_msgpack_ext_hook_to_json)
    assert back["id"] == ID
    assert back["item"] == {"name": "a", "tags": [[1, [2]]]}
    assert back["person"] == {"name": "b", "age": 0, "color": 2}
    assert "bad" in back["error"]
    assert json.dumps(back)


def test_tools_see_old_values_as_json() -> None:
    data = packb(Ext(codes.LEGACY_KEYWORDS, packb(["checkpoint.serde.samples", "Item", {"name": "a"}])))
    assert ormsgpack.unpackb(data, ext_hook=_msgpack_ext_hook_to_json) == {"name": "a"}
    send = JsonPlusSerializer().pack(Send("n", {"a": 1}))
    assert ormsgpack.unpackb(send, ext_hook=_msgpack_ext_hook_to_json) == Send("n", {"a": 1})


def test_given_hook_replaces_restoring() -> None:
    serializer = JsonPlusSerializer(__unpack_ext_hook__=_msgpack_ext_hook_to_json)
    assert serializer.loads_typed(serializer.dumps_typed([Item("a")])) == [{"name": "a", "tags": []}]
    with pytest.raises(CorruptPayloadError):
        serializer.loads_typed(("msgpack", b"\xc1"))


def test_module_error_keeps_its_message() -> None:
    assert InvalidModuleError("not allowed").message == "not allowed"
