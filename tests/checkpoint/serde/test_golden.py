"""Bytes of yesterday are read: our own format, and what LangGraph's serializer wrote."""

from __future__ import annotations

import json
import sys
from base64 import b64decode
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from checkpoint.serde.compare import same
from checkpoint.serde.golden.write_langgraph import KEY, NOT_WRITABLE
from checkpoint.serde.golden.write_ours import library_samples
from checkpoint.serde.samples import Point, plain_samples, samples
from stepgraph.channels.delta import DeltaSnapshot
from stepgraph.checkpoint.serde.encrypted import EncryptedSerializer
from stepgraph.checkpoint.serde.errors import CorruptPayloadError
from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from stepgraph.types import Command, Interrupt, PregelTask, Send

FOLDER = Path(__file__).parent / "golden"
OURS = json.loads((FOLDER / "sg1.json").read_text())
THEIRS = json.loads((FOLDER / "langgraph-4.3.2.json").read_text())
NOT_WRITTEN = (*NOT_WRITABLE, "dict with number keys", "dict with tuple keys", "path")
MESSAGES = {
    "message": ("HumanMessage", "hi"),
    "message with a call": ("AIMessage", ""),
    "message of a tool": ("ToolMessage", "r"),
    "message chunk": ("AIMessageChunk", "c"),
}


def ours(name: str) -> Any:
    tag, data = OURS[name]
    return JsonPlusSerializer().loads_typed((tag, b64decode(data)))


def theirs(name: str) -> Any:
    tag, data = THEIRS[name]
    return JsonPlusSerializer().loads_typed((tag, b64decode(data)))


@pytest.mark.parametrize("name", samples())
def test_sample_of_our_format_is_read(name: str) -> None:
    assert same(ours(name), samples()[name])


@pytest.mark.parametrize("name", samples())
def test_sample_of_our_format_is_written_the_same_way(name: str) -> None:
    tag, data = JsonPlusSerializer().dumps_typed(samples()[name])
    assert [tag, data] == [OURS[name][0], b64decode(OURS[name][1])]


@pytest.mark.parametrize("name", library_samples())
def test_library_value_of_our_format_is_read(name: str) -> None:
    back, value = ours(name), library_samples()[name]
    assert type(back) is type(value)
    if isinstance(value, np.ndarray):
        assert (back.dtype, back.shape, back.tobytes()) == (value.dtype, value.shape, value.tobytes())
    elif isinstance(value, pd.DataFrame):
        pd.testing.assert_frame_equal(back, value)
    elif isinstance(value, pd.Series):
        pd.testing.assert_series_equal(back, value)
    elif isinstance(value, pl.DataFrame):
        assert back.equals(value)
    elif isinstance(value, BaseException):
        assert back.args == value.args
    else:
        assert back == value


def _as_langgraph_has_it(value: Any) -> Any:
    """What LangGraph's format leaves of a value: tuples are lists, and subclasses of builtins the builtins."""
    if isinstance(value, list | tuple):
        return [_as_langgraph_has_it(item) for item in value]
    if isinstance(value, dict):
        return {key: _as_langgraph_has_it(item) for key, item in value.items()}
    return value


@pytest.mark.parametrize("name", [name for name in plain_samples() if name not in NOT_WRITTEN])
def test_plain_value_that_langgraph_wrote_is_read(name: str) -> None:
    value = plain_samples()[name]
    back = theirs(name)
    if name == "text with surrogates":
        assert back == "a?"
    elif name == "deque":
        assert same(back, deque([1, 2]))
    elif name.startswith("datetime"):
        assert back.replace(fold=0) == value.replace(fold=0) or back.utcoffset() == value.utcoffset()
    else:
        assert same(back, _as_langgraph_has_it(value))


@pytest.mark.parametrize(
    "name",
    [
        "enum",
        "enum number",
        "named tuple",
        "dataclass",
        "slotted dataclass",
        "derived fields",
        "model",
        "generic model",
        "recursive model",
        "overwrite",
    ],
)
def test_object_that_langgraph_wrote_is_read(name: str) -> None:
    expected = Point(1, 2) if name == "named tuple" else samples()[name]
    assert same(theirs(name), expected)


def test_values_of_graphs_that_langgraph_wrote_are_read() -> None:
    assert theirs("send") == Send("node", {"a": 1})
    assert theirs("send with timeout") == Send("node", 1, timeout=2.0)
    assert theirs("command") == Command(update={"a": 1}, goto="m", resume=3)
    assert theirs("interrupt") == Interrupt("question", id="abc")
    assert theirs("delta") == DeltaSnapshot([1, 2])
    task = theirs("task")
    assert type(task) is PregelTask
    assert (task.id, task.name) == ("id", "name")


def test_frozen_dataclass_that_langgraph_wrote_is_read() -> None:
    back = theirs("frozen dataclass")
    assert (type(back), back.key, tuple(back.at)) == (type(samples()["frozen dataclass"]), "k", (1, 2))


def test_arrays_that_langgraph_wrote_are_read() -> None:
    assert theirs("array").tolist() == [[0, 1, 2], [3, 4, 5]]
    back = theirs("array fortran")
    assert back.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert back.flags.f_contiguous


@pytest.mark.parametrize("name", MESSAGES)
def test_message_that_langgraph_wrote_is_read(name: str) -> None:
    messages = pytest.importorskip("langchain_core.messages")
    back = theirs(name)
    cls, content = MESSAGES[name]
    assert type(back) is getattr(messages, cls)
    assert back.content == content


def test_document_that_langgraph_wrote_is_read() -> None:
    documents = pytest.importorskip("langchain_core.documents")
    assert theirs("document") == documents.Document("text", metadata={"a": 1})


@pytest.mark.filterwarnings("ignore::stepgraph.checkpoint.serde.errors.PlainDataWarning")
@pytest.mark.parametrize("name", [*MESSAGES, "document"])
def test_message_is_plain_where_langchain_is_not_installed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = {"langchain_core", "langchain_core.messages", "langchain_core.documents"}
    for module in absent | {module for module in sys.modules if module.startswith("langchain_core")}:
        monkeypatch.setitem(sys.modules, module, None)
    back = theirs(name)
    assert isinstance(back, dict)
    assert {"content", "page_content"} & set(back)


def test_pickle_that_langgraph_wrote_is_read_when_asked_for() -> None:
    tag, data = THEIRS["pickle"]
    assert JsonPlusSerializer(pickle_fallback=True).loads_typed((tag, b64decode(data))) == 1 + 2j
    with pytest.raises(NotImplementedError):
        theirs("pickle")


@pytest.mark.parametrize("mode", [9, 11])
def test_what_langgraph_encrypted_is_read(mode: int) -> None:
    tag, data = THEIRS[f"encrypted {mode}"]
    serializer = EncryptedSerializer.from_pycryptodome_aes(key=KEY, mode=mode)
    assert serializer.loads_typed((tag, b64decode(data))) == {"a": [1, "x" * 40]}
    other = EncryptedSerializer.from_aes_keys([b"f" * 16])
    with pytest.raises(CorruptPayloadError, match="none of the 1 keys"):
        other.loads_typed((tag, b64decode(data)))
