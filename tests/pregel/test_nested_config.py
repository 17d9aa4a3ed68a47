"""A graph that is a node runs with the config it was given by `with_config`, over what it inherits."""

from __future__ import annotations

import operator
from typing import Annotated

import pytest
from typing_extensions import TypedDict

from pregel.both import Face, each_driver, thread
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.errors import GraphRecursionError
from stepgraph.graph import END, START, StateGraph
from stepgraph.types import Command, interrupt


class Log(TypedDict):
    log: Annotated[list, operator.add]


def nested(node, config, path=None, **options):
    inner = StateGraph(Log).add_node("node", node).add_edge(START, "node")
    if path is not None:
        inner.add_conditional_edges("node", path, ["node", END])
    graph = StateGraph(Log).add_node("sub", inner.compile().with_config(config)).add_edge(START, "sub")
    return graph.compile(**options)


@each_driver
def test_its_nodes_find_it(driver):
    seen = []

    def look(state, config):
        seen.append((config["tags"], config["metadata"]["m"], config["configurable"]["key"]))
        return {}

    own = {"tags": ["inner"], "metadata": {"m": 1}, "configurable": {"key": 2}}
    Face(nested(look, own), driver).invoke({"log": []}, {"tags": ["outer"]})
    assert seen == [(["outer", "inner"], 1, 2)]


@each_driver
def test_its_limit_is_its_own(driver):
    graph = nested(
        lambda state: {"log": [1]},
        {"recursion_limit": 3},
        lambda state: "node" if len(state["log"]) < 10 else END,
    )
    with pytest.raises(GraphRecursionError):
        Face(graph, driver).invoke({"log": []})


@each_driver
def test_its_limit_holds_after_a_pause(driver):
    def ask(state):
        return {"log": [interrupt("q")] if not state["log"] else [1]}

    graph = nested(
        ask,
        {"recursion_limit": 3},
        lambda state: "node" if len(state["log"]) < 10 else END,
        checkpointer=InMemorySaver(),
    )
    face = Face(graph, driver)
    face.invoke({"log": []}, thread())
    with pytest.raises(GraphRecursionError):
        face.invoke(Command(resume="yes"), thread())
