"""Small graphs whose runs are looked at as events."""

from __future__ import annotations

import operator
from typing import Annotated, Any

from typing_extensions import TypedDict

from stepgraph.graph import START, StateGraph


class Log(TypedDict):
    log: Annotated[list, operator.add]


def one(state: Log) -> dict[str, Any]:
    return {"log": ["one"]}


def two(state: Log) -> dict[str, Any]:
    return {"log": ["two"]}


def bad(state: Log) -> dict[str, Any]:
    raise ValueError("boom")


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


def brief(event: Any) -> tuple[str, tuple[str, ...], Any]:
    """Method, nodes of the namespace, and data of an event."""
    params = event["params"]
    return event["method"], tuple(part.partition(":")[0] for part in params["namespace"]), params["data"]
