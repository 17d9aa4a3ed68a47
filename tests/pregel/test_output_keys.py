"""`output_keys`: which channels a run answers."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest

from stepgraph.graph import START, StateGraph


class State(TypedDict, total=False):
    count: int
    name: str


def a_graph() -> Any:
    builder = StateGraph(State).add_node("a", lambda state: {"count": 1, "name": "Ann"})
    return builder.add_edge(START, "a").compile()


def test_only_the_named_channels_are_answered() -> None:
    assert a_graph().invoke({}, output_keys=["name"]) == {"name": "Ann"}
    assert a_graph().invoke({}, output_keys="name") == "Ann"


@pytest.mark.parametrize("keys", ["nope", ["name", "nope"]])
def test_a_name_that_is_no_channel_is_refused(keys: Any) -> None:
    with pytest.raises(ValueError, match=r"'nope'.*no channel.*'count', 'name'"):
        a_graph().invoke({}, output_keys=keys)
    with pytest.raises(ValueError, match=r"'nope'.*no channel"):
        list(a_graph().stream({}, output_keys=keys))
