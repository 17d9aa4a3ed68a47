"""Writes samples with LangGraph's own serializer, in an environment that has it; see the README here."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import deque
from importlib.metadata import version
from pathlib import Path
from typing import Any

from checkpoint.serde.samples import (
    Color,
    Derived,
    Frozen,
    Item,
    Page,
    Person,
    Point,
    Slotted,
    Tree,
    plain_samples,
)

NOT_WRITABLE = (
    "complex",
    "fraction",
    "range",
    "slice",
    "ellipsis",
    "int big",
    "int big negative",
    "windows path",
)
KEY = b"0123456789abcdef"


def samples() -> dict[str, Any]:
    import numpy as np
    from langchain_core.documents import Document
    from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
    from langgraph.checkpoint.serde.types import _DeltaSnapshot
    from langgraph.types import Command, Interrupt, Overwrite, PregelTask, Send

    call = {"name": "search", "args": {"q": "x"}, "id": "c1"}
    plain = {name: value for name, value in plain_samples().items() if name not in NOT_WRITABLE}
    return plain | {
        "deque": deque([1, 2]),
        "enum": Color.RED,
        "enum number": Color.BLUE,
        "named tuple": Point(1, 2),
        "dataclass": Item("a", [Item("b")]),
        "frozen dataclass": Frozen("k", Point(1, 2)),
        "slotted dataclass": Slotted(1, "t"),
        "derived fields": Derived(3, 4),
        "model": Person(name="ann", color=Color.BLUE),
        "generic model": Page[int](items=[1]),
        "recursive model": Tree(value=1, children=[Tree(value=2)]),
        "send": Send("node", {"a": 1}),
        "send with timeout": Send("node", 1, timeout=2.0),
        "command": Command(update={"a": 1}, goto="m", resume=3),
        "interrupt": Interrupt("question", id="abc"),
        "overwrite": Overwrite([1]),
        "task": PregelTask("id", "name", ()),
        "delta": _DeltaSnapshot([1, 2]),
        "array": np.arange(6, dtype="<i2").reshape(2, 3),
        "array fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "message": HumanMessage("hi", id="1"),
        "message with a call": AIMessage("", tool_calls=[call], id="2"),
        "message of a tool": ToolMessage("r", tool_call_id="c1", id="3"),
        "message chunk": AIMessageChunk("c"),
        "document": Document("text", metadata={"a": 1}),
    }


def main() -> None:
    from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    serializer = JsonPlusSerializer()
    entries = {}
    for name, value in samples().items():
        try:
            entries[name] = serializer.dumps_typed(value)
        except TypeError as error:
            print(f"not written: {name}: {error}")
    entries["pickle"] = JsonPlusSerializer(pickle_fallback=True).dumps_typed(1 + 2j)
    for mode in (9, 11):
        cipher = EncryptedSerializer.from_pycryptodome_aes(key=KEY, mode=mode)
        entries[f"encrypted {mode}"] = cipher.dumps_typed({"a": [1, "x" * 40]})
    target = Path(__file__).with_name(f"langgraph-{version('langgraph-checkpoint')}.json")
    text = {name: [tag, b64encode(bytes(data)).decode()] for name, (tag, data) in entries.items()}
    target.write_text(json.dumps(text, indent=0) + "\n")


if __name__ == "__main__":
    main()
