"""The dict form of a run's settings, as packages ask for it and change it."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from stepgraph.compat.internal.config import ensure_config, merge_configs, patch_config, patch_configurable
from stepgraph.graph import START, StateGraph
from stepgraph.utils.config import ensure_config as public


class State(TypedDict, total=False):
    seen: Any


def test_a_whole_config_has_every_key() -> None:
    assert ensure_config() == {
        "tags": [],
        "metadata": {},
        "callbacks": None,
        "recursion_limit": 10007,
        "configurable": {},
    }
    assert public is ensure_config


def test_later_configs_win_and_what_is_traced_goes_into_metadata() -> None:
    config = ensure_config(
        None, {"tags": ["a"], "configurable": {"thread_id": "t", "own": 1}}, {"tags": ["b"]}
    )
    assert config["tags"] == ["b"]
    assert config["metadata"] == {"thread_id": "t"}
    assert config["configurable"] == {"thread_id": "t", "own": 1}


def test_inside_a_node_the_config_around_it_is_the_base() -> None:
    def node(state: State) -> State:
        return {"seen": ensure_config({"tags": ["x"]})["configurable"]["mine"]}

    graph = StateGraph(State).add_node(node).add_edge(START, "node").compile()
    assert graph.invoke({}, {"configurable": {"mine": 7}}) == {"seen": 7}


def test_changes_are_made_on_copies() -> None:
    given = {"tags": ["k"], "configurable": {"a": 1}, "run_name": "r", "run_id": 3}
    assert patch_configurable(None, {"a": 1}) == {"configurable": {"a": 1}}
    assert patch_configurable(given, {"b": 2})["configurable"] == {"a": 1, "b": 2}
    patched = patch_config(given, callbacks=[1], recursion_limit=5, configurable={"b": 2})
    assert patched == {
        "tags": ["k"],
        "configurable": {"a": 1, "b": 2},
        "callbacks": [1],
        "recursion_limit": 5,
    }
    assert merge_configs({"tags": ["a"]}, None, given)["tags"] == ["a", "k"]
    assert given == {"tags": ["k"], "configurable": {"a": 1}, "run_name": "r", "run_id": 3}
    ensure_config(given)["configurable"]["c"] = 3
    assert given["configurable"] == {"a": 1}
