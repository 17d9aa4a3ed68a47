"""A handler that writes down what it hears, and small graphs and models to hear something of."""

from __future__ import annotations

import operator
import re
from typing import Annotated, Any

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from typing_extensions import TypedDict

from stepgraph.graph import START, StateGraph

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Log(TypedDict):
    log: Annotated[list, operator.add]


class Recorder(BaseCallbackHandler):
    """Events as tuples; runs are numbered in the order in which they begin, `None` above the first."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.metadata: dict[str, dict[str, Any]] = {}
        self.numbers: dict[Any, int] = {}

    def number(self, run_id: Any) -> int | None:
        return None if run_id is None else self.numbers.setdefault(run_id, len(self.numbers))

    def began(self, kind: str, name: Any, run_id: Any, parent_run_id: Any, tags: Any, metadata: Any) -> None:
        self.events.append((kind, name, self.number(run_id), self.number(parent_run_id), tags or []))
        self.metadata[name] = metadata

    def on_chain_start(
        self, serialized, inputs, *, run_id, parent_run_id=None, tags=None, metadata=None, **rest
    ):
        self.began("start", rest["name"], run_id, parent_run_id, tags, metadata)
        self.events.append(("input", self.number(run_id), inputs))

    def on_chain_end(self, outputs, *, run_id, **rest):
        self.events.append(("end", self.number(run_id), outputs))

    def on_chain_error(self, error, *, run_id, **rest):
        self.events.append(("error", self.number(run_id), type(error).__name__))

    def on_chat_model_start(
        self, serialized, messages, *, run_id, parent_run_id=None, tags=None, metadata=None, **rest
    ):
        self.began("model", "model", run_id, parent_run_id, tags, metadata)

    def on_tool_start(
        self, serialized, text, *, run_id, parent_run_id=None, tags=None, metadata=None, **rest
    ):
        self.began("tool", serialized["name"], run_id, parent_run_id, tags, metadata)

    def tree(self) -> list[tuple[str, Any]]:
        """Name of each run and name of the run it is in."""
        names = {event[2]: event[1] for event in self.events if event[0] in ("start", "model", "tool")}
        return [
            (event[1], names.get(event[3])) for event in self.events if event[0] in ("start", "model", "tool")
        ]

    def tags(self) -> dict[str, list[str]]:
        return {event[1]: event[4] for event in self.events if event[0] in ("start", "model", "tool")}

    def ends(self) -> list[tuple[Any, ...]]:
        return [event for event in self.events if event[0] in ("end", "error")]


class AwaitedRecorder(AsyncCallbackHandler):
    """The same as coroutine functions."""

    def __init__(self) -> None:
        self.heard = Recorder()

    async def on_chain_start(self, *given, **rest):
        self.heard.on_chain_start(*given, **rest)

    async def on_chain_end(self, *given, **rest):
        self.heard.on_chain_end(*given, **rest)

    async def on_chain_error(self, *given, **rest):
        self.heard.on_chain_error(*given, **rest)

    async def on_chat_model_start(self, *given, **rest):
        self.heard.on_chat_model_start(*given, **rest)


def one(state: Log) -> dict[str, Any]:
    return {"log": ["one"]}


def two(state: Log) -> dict[str, Any]:
    return {"log": ["two"]}


def chain(*nodes: Any, state: Any = Log, **options: Any) -> Any:
    """A graph whose nodes run one after the other; a node is a function, or a pair of name and action."""
    graph = StateGraph(state)
    before = START
    for node in nodes:
        name, action = node if isinstance(node, tuple) else (node.__name__, node)
        graph.add_node(name, action)
        graph.add_edge(before, name)
        before = name
    return graph.compile(**options)


def model(text: str = "a b") -> Any:
    """A chat model that answers this text, and streams it in parts."""
    return GenericFakeChatModel(messages=iter([AIMessage(text)] * 20))


def without_ids(value: Any) -> str:
    """The text of a value with ids numbered in the order in which they appear."""
    numbers: dict[str, str] = {}
    return UUID.sub(lambda found: numbers.setdefault(found[0], f"id{len(numbers)}"), str(value))
