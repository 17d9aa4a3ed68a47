"""LangChain's messages and documents come back as they are."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from checkpoint.serde.compare import round_trip
from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

messages: Any = pytest.importorskip("langchain_core.messages")
documents: Any = pytest.importorskip("langchain_core.documents")

CALL = {"name": "t", "args": {"x": 1}, "id": "c1"}
USAGE = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
VALUES = [
    messages.HumanMessage("hi", id="1"),
    messages.HumanMessage([{"type": "text", "text": "hi"}], name="ann"),
    messages.SystemMessage("s"),
    messages.AIMessage("yo", tool_calls=[CALL], usage_metadata=USAGE, response_metadata={"m": (1,)}),
    messages.AIMessageChunk("c", tool_call_chunks=[{"name": "t", "args": "{", "id": "1", "index": 0}]),
    messages.ToolMessage("r", tool_call_id="c1", artifact={"z": {(1, 2)}}, status="error"),
    messages.FunctionMessage("f", name="n"),
    messages.ChatMessage("c", role="r"),
    messages.RemoveMessage(id="x"),
    documents.Document("p", metadata={"a": 1}),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("strict", [False, True])
def test_message_comes_back(value: Any, strict: bool) -> None:
    back = round_trip([value], JsonPlusSerializer(strict=strict))[0]
    assert type(back) is type(value)
    assert back == value
    assert repr(back) == repr(value)
    assert back.model_fields_set == value.model_fields_set


def test_messages_come_back_where_langchain_was_not_imported_yet() -> None:
    data = JsonPlusSerializer().pack(messages.HumanMessage("hi", id="1"))
    code = (
        "import sys\n"
        "from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer\n"
        "assert 'langchain_core' not in sys.modules\n"
        f"print(JsonPlusSerializer().unpack({data!r}).pretty_repr())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "hi" in done.stdout
