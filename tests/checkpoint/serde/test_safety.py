"""Reading runs nothing that the bytes name, and damaged bytes are a clear error."""

from __future__ import annotations

import dataclasses
import enum
import importlib
import pickle
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ormsgpack import Ext, packb
from pydantic import BaseModel

from checkpoint.serde.samples import Color, Item, Person, samples
from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.errors import CorruptPayloadError, PlainDataWarning
from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from stepgraph.checkpoint.serde.policy import forget_warnings

HEADS = [
    codes.HEAD_DATACLASS,
    codes.HEAD_NAMEDTUPLE,
    codes.HEAD_ENUM,
    codes.HEAD_MODEL,
    codes.HEAD_EXCEPTION,
    codes.HEAD_SUBCLASS,
    codes.HEAD_SECRET,
    codes.HEAD_URL,
]
STATES: dict[int, tuple[list[Any], Any]] = {
    codes.HEAD_DATACLASS: ([["command"]], ["touch"]),
    codes.HEAD_NAMEDTUPLE: ([["command"]], ["touch"]),
    codes.HEAD_ENUM: ([], "touch"),
    codes.HEAD_MODEL: ([["command"], True, None], ["touch"]),
    codes.HEAD_EXCEPTION: ([], ["", ["touch"], {}, [], False, False]),
    codes.HEAD_SUBCLASS: (["str"], ["touch", None]),
    codes.HEAD_SECRET: ([], "touch"),
    codes.HEAD_URL: ([], "touch"),
}
calls: list[str] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    forget_warnings()
    calls.clear()


def document(kind: int, module: str, qualname: str, state: Any = None, parts: Any = None) -> bytes:
    """A document with one object of a class, as an attacker would write it."""
    default_parts, default_state = STATES[kind]
    head = packb([kind, module, qualname, *(default_parts if parts is None else parts)])
    body = packb(Ext(codes.OBJECT, b"\x00" + packb(default_state if state is None else state)))
    return packb(Ext(codes.DOCUMENT, packb([False, [head], body])))


def is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(is_plain, [*value.keys(), *value.values()]))
    if isinstance(value, list):
        return all(map(is_plain, value))
    return (
        value is None
        or type(value) in (str, int, float, bool, bytes)
        or type(value).__name__ == "RecordedError"
    )


@pytest.mark.filterwarnings("ignore::stepgraph.checkpoint.serde.errors.PlainDataWarning")
@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize(
    "target",
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("builtins", "exec"),
        ("builtins", "type"),
        ("builtins", "object"),
        ("subprocess", "Popen"),
        ("pickle", "loads"),
        ("pathlib", "Path"),
        ("functools", "partial"),
        ("importlib", "import_module"),
        ("stepgraph.checkpoint.serde.jsonplus", "JsonPlusSerializer"),
        ("", ""),
        ("os", "system.__call__"),
        ("os", "path.join"),
    ],
)
def test_functions_and_other_classes_are_never_called(kind: int, target: tuple[str, str]) -> None:
    assert is_plain(JsonPlusSerializer().unpack(document(kind, *target)))
    assert is_plain(JsonPlusSerializer(allowed_msgpack_modules=True).unpack(document(kind, *target)))


@pytest.mark.filterwarnings("ignore::stepgraph.checkpoint.serde.errors.PlainDataWarning")
@pytest.mark.parametrize("kind", HEADS)
def test_module_that_only_the_data_names_is_not_imported(
    kind: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"evil_module_{kind}"
    (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Thing: pass\n")
    value = JsonPlusSerializer().unpack(document(kind, name, "Thing"))
    assert is_plain(value)
    assert name not in sys.modules
    assert not (tmp_path / "ran").exists()


def test_module_getattr_is_not_triggered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "lazy_module.py").write_text(
        "import checkpoint.serde.test_safety as t\ndef __getattr__(name): t.calls.append(name)\n"
    )
    importlib.import_module("lazy_module")
    assert calls == []
    with pytest.warns(PlainDataWarning):
        JsonPlusSerializer().unpack(document(codes.HEAD_DATACLASS, "lazy_module", "Thing"))
    assert calls == []


def _note(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        return None

    return method


def _note_new(cls: Any, *args: Any, **kwargs: Any) -> Any:
    calls.append("new")
    return object.__new__(cls)


def trap(*names: str) -> Any:
    """Make these methods of a class note that they were called."""

    def set_methods(cls: Any) -> Any:
        for name in names:
            setattr(cls, name, _note_new if name == "__new__" else _note(name))
        return cls

    return set_methods


METHODS = (
    "__init__",
    "__post_init__",
    "__setstate__",
    "__reduce__",
    "__reduce_ex__",
    "__setattr__",
    "__new__",
)


@trap(*METHODS)
@dataclasses.dataclass
class TrapRecord:
    command: str


@trap(*METHODS)
@dataclasses.dataclass(slots=True)
class TrapSlots:
    command: str


class TrapModel(BaseModel):
    command: str

    def __init__(self, **data: Any) -> None:
        calls.append("init")

    def model_post_init(self, context: Any) -> None:
        calls.append("post init")

    def __setstate__(self, state: Any) -> None:
        calls.append("setstate")

    @classmethod
    def model_validate(cls, *args: Any, **kwargs: Any) -> Any:
        calls.append("validate")

    @classmethod
    def model_construct(cls, *args: Any, **kwargs: Any) -> Any:
        calls.append("construct")


class TrapError(Exception):
    def __new__(cls, *args: Any) -> Any:
        calls.append("new")
        return Exception.__new__(cls)

    def __init__(self, *args: Any) -> None:
        calls.append("init")

    def __setattr__(self, name: str, value: Any) -> None:
        calls.append("setattr")

    def __setstate__(self, state: Any) -> None:
        calls.append("setstate")

    @property
    def command(self) -> str:
        return "property"

    @command.setter
    def command(self, value: str) -> None:
        calls.append("property")


class TrapTuple(NamedTuple("Base", [("command", str)])):  # type: ignore[misc]
    def __new__(cls, *args: Any) -> Any:
        calls.append("new")
        return super().__new__(cls, *args)


class TrapEnum(enum.Enum):
    A = "a"

    @classmethod
    def _missing_(cls, value: object) -> Any:
        calls.append("missing")
        return cls.A


@dataclasses.dataclass
class TrapProperty:
    name: str

    @property
    def command(self) -> str:
        return ""

    @command.setter
    def command(self, value: str) -> None:
        calls.append("property")


@pytest.mark.filterwarnings("ignore::stepgraph.checkpoint.serde.errors.PlainDataWarning")
@pytest.mark.parametrize(
    ("kind", "cls"),
    [
        (codes.HEAD_DATACLASS, TrapRecord),
        (codes.HEAD_DATACLASS, TrapSlots),
        (codes.HEAD_DATACLASS, TrapProperty),
        (codes.HEAD_MODEL, TrapModel),
        (codes.HEAD_NAMEDTUPLE, TrapTuple),
        (codes.HEAD_ENUM, TrapEnum),
    ],
)
def test_no_method_of_a_class_runs(kind: int, cls: type) -> None:
    JsonPlusSerializer().unpack(document(kind, cls.__module__, cls.__qualname__))
    assert calls == []


def test_no_method_of_an_exception_runs() -> None:
    state = ["", ["touch"], {"command": "x", "__notes__": ["n"]}, [["OSError", "x"]], True, True]
    back = JsonPlusSerializer().unpack(document(codes.HEAD_EXCEPTION, __name__, "TrapError", state))
    assert calls == []
    assert back.args == ("touch",)


def test_class_of_another_kind_than_the_data_says_is_plain() -> None:
    for kind in (codes.HEAD_NAMEDTUPLE, codes.HEAD_MODEL, codes.HEAD_ENUM, codes.HEAD_EXCEPTION):
        with pytest.warns(PlainDataWarning, match="is no"):
            assert is_plain(JsonPlusSerializer().unpack(document(kind, Item.__module__, "Item")))
        forget_warnings()


@pytest.mark.filterwarnings("ignore::stepgraph.checkpoint.serde.errors.PlainDataWarning")
@pytest.mark.parametrize("name", ["__class__", "__dict__", "__init__", "__slots__", "__reduce__"])
def test_names_of_the_object_model_do_no_harm(name: str) -> None:
    data = document(codes.HEAD_DATACLASS, Item.__module__, "Item", [{"a": 1}], [[name]])
    back = JsonPlusSerializer().unpack(data)
    assert type(back) is Item
    attributes = ["", [], {name: 1}, [], False, False]
    data = document(codes.HEAD_EXCEPTION, "builtins", "ValueError", attributes)
    with suppress(CorruptPayloadError):
        assert type(JsonPlusSerializer().unpack(data)) is ValueError


def test_pickle_is_not_loaded_unless_asked_for() -> None:
    data = pickle.dumps(Color.RED)
    with pytest.raises(NotImplementedError, match="pickle_fallback"):
        JsonPlusSerializer().loads_typed(("pickle", data))
    with pytest.raises(CorruptPayloadError, match="pickle_fallback"):
        JsonPlusSerializer().unpack(packb(Ext(codes.PICKLE, data)))


def test_array_of_objects_is_not_believed() -> None:
    for dtype in ("O", "|O", [["a", "O"]], "not a type", 7, [["a"]]):
        with pytest.raises(CorruptPayloadError):
            JsonPlusSerializer().unpack(packb(Ext(codes.ARRAY, packb([dtype, [1], "C", b"12345678"]))))


@pytest.mark.parametrize("shape", [[2**62], [-1], ["x"], "ab", [10**12, 0], [2]])
def test_array_larger_than_its_bytes_is_not_believed(shape: Any) -> None:
    data = packb(Ext(codes.ARRAY, packb(["<i8", shape, "C", b"12345678"])))
    with pytest.raises(CorruptPayloadError):
        JsonPlusSerializer().unpack(data)


def test_array_of_empty_items_takes_no_memory() -> None:
    with pytest.raises(CorruptPayloadError):
        JsonPlusSerializer().unpack(packb(Ext(codes.ARRAY, packb(["<U0", [10**12], "C", b""]))))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\xc9\xff\xff\xff\xff\x20",
        b"\x91" * 100_000,
        packb(Ext(99, b"")),
        packb(Ext(codes.DOCUMENT, b"")),
        packb(Ext(codes.DOCUMENT, packb([True, [b"\x91\x01"], b"\x01"]))),
        packb(Ext(codes.DOCUMENT, packb([True, ["x"], b"\x01"]))),
        packb(Ext(codes.DOCUMENT, packb([True, [packb([77, "a", "b"])], b"\x01"]))),
        packb(Ext(codes.DOCUMENT, packb([True, [packb([1, b"a", "b", []])], b"\x01"]))),
        packb(Ext(codes.OBJECT, b"\x00\x90")),
        packb(Ext(codes.OBJECT, b"")),
        packb(Ext(codes.REFERENCE, b"\x00")),
        packb(Ext(codes.REPEATS, packb([[1], [5]]))),
        packb(Ext(codes.REPEATS, packb([[1], ["x"]]))),
        packb(Ext(codes.PAIRS, packb([[1], []]))),
        packb(Ext(codes.SET, packb(1))),
        packb(Ext(codes.DEQUE, packb([-1, []]))),
        packb(Ext(codes.DEFAULTDICT, packb(["eval", [], []]))),
        packb(Ext(codes.TEXT, b"\xff")),
        packb(Ext(codes.SINGLETON, b"")),
        packb(Ext(codes.COMPLEX, b"1")),
        packb(Ext(codes.DECIMAL, b"x")),
        packb(Ext(codes.FRACTION, packb([1, 0]))),
        packb(Ext(codes.FRACTION, packb(["1e999999999", None]))),
        packb(Ext(codes.DATETIME, b"yesterday")),
        packb(Ext(codes.ZONEINFO, b"../../etc/passwd")),
        packb(Ext(codes.ZONEINFO, b"No/Where")),
        packb(Ext(codes.UUID, b"x")),
        packb(Ext(codes.PATH, b"\x09a")),
        packb(Ext(codes.PATTERN, packb(["(", 0]))),
        packb(Ext(codes.IP, b"\x00x")),
        packb(Ext(codes.SEND, packb([1]))),
        packb(Ext(codes.SEND, packb([1, 2]))),
        packb(Ext(codes.COMMAND, packb([]))),
        packb(Ext(codes.INTERRUPT, packb(1))),
        packb(Ext(codes.POLARS_FRAME, b"no arrow")),
        packb(Ext(codes.FRAME, packb([1, 2, 3, 4]))),
        packb(Ext(codes.INDEX, packb(["other"]))),
        document(codes.HEAD_DATACLASS, Item.__module__, "Item", ["too", "many"]),
        document(codes.HEAD_DATACLASS, Item.__module__, "Item", {"a": 1}),
        document(codes.HEAD_MODEL, Person.__module__, "Person", 1),
        document(codes.HEAD_MODEL, Person.__module__, "Person", ["a", 1, 2]),
        document(codes.HEAD_MODEL, Person.__module__, "Person", parts=[["a"], [9], None]),
        document(codes.HEAD_EXCEPTION, "builtins", "ValueError", []),
        document(codes.HEAD_EXCEPTION, "builtins", "ExceptionGroup", ["", ["m"], {}, [], False, False]),
    ],
)
@pytest.mark.filterwarnings("ignore::stepgraph.checkpoint.serde.errors.PlainDataWarning")
def test_damaged_bytes_are_a_clear_error(data: bytes) -> None:
    with pytest.raises(CorruptPayloadError):
        JsonPlusSerializer().unpack(data)


def test_nested_extensions_do_not_overflow() -> None:
    data = b"\x01"
    for _ in range(5000):
        data = packb(Ext(codes.NESTED, data))
    with pytest.raises(CorruptPayloadError, match="nested too deeply"):
        JsonPlusSerializer().unpack(data)


@given(st.sampled_from(sorted(samples())), st.integers(0, 10_000), st.integers(0, 255), st.booleans())
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_changed_and_truncated_bytes_raise_only_that_error(name: str, at: int, byte: int, cut: bool) -> None:
    serializer = JsonPlusSerializer()
    data = bytearray(serializer.pack(samples()[name]))
    at %= len(data)
    if cut:
        del data[at:]
    else:
        data[at] = byte
    with suppress(CorruptPayloadError):
        serializer.unpack(bytes(data))


@given(st.binary(max_size=40), st.sampled_from([*range(8), *range(32, 101)]))
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_random_extensions_raise_only_that_error(data: bytes, code: int) -> None:
    for content in (data, packb(list(data)), packb(["os", "system", "true"])):
        with suppress(CorruptPayloadError):
            JsonPlusSerializer().unpack(packb(Ext(code, content)))


def test_unknown_tags_name_what_is_read() -> None:
    with pytest.raises(NotImplementedError, match="sg1"):
        JsonPlusSerializer().loads_typed(("sg9", b""))
    with pytest.raises(NotImplementedError, match="EncryptedSerializer"):
        JsonPlusSerializer().loads_typed(("sg1+aesgcm", b""))


def test_plain_documents_are_plain_msgpack() -> None:
    value = {"a": [1, "b", None, 2.5, b"c", True]}
    assert ormsgpack.unpackb(JsonPlusSerializer().pack(value)) == value
