"""Whether a conversation's calls are answered, looked at once a run."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from stepgraph.prebuilt.agent_model import validate_history


def asking(key):
    return AIMessage("", tool_calls=[{"name": "x", "args": {}, "id": key}])


def answering(key):
    return ToolMessage("y", tool_call_id=key)


class Counted(list):
    """Counts how many of its messages are taken out as a part."""

    taken = 0

    def __getitem__(self, place):
        found = super().__getitem__(place)
        self.taken += len(found)
        return found


def test_only_what_came_after_the_last_look_is_looked_at():
    memo = {}
    history = Counted([HumanMessage("hi"), asking("1"), answering("1")])
    validate_history(history, memo)
    assert history.taken == 3
    later = Counted([*history, asking("2"), answering("2")])
    validate_history(later, memo)
    assert later.taken == 2


@pytest.mark.parametrize("memo", [None, {}], ids=["alone", "in a run"])
def test_an_open_call_is_found_whenever_it_came(memo):
    history = [HumanMessage("hi"), asking("1"), answering("1")]
    validate_history(history, memo)
    with pytest.raises(ValueError, match="do not have a corresponding ToolMessage"):
        validate_history([*history, asking("2")], memo)
    validate_history([*history, asking("2"), answering("2")], memo)


def test_a_history_that_was_changed_is_looked_at_from_its_beginning():
    memo = {}
    history = [HumanMessage("hi"), asking("1"), answering("1")]
    validate_history(history, memo)
    with pytest.raises(ValueError, match="do not have a corresponding ToolMessage"):
        validate_history([HumanMessage("hi"), *history[1:2], HumanMessage("well?")], memo)
    with pytest.raises(ValueError, match="do not have a corresponding ToolMessage"):
        validate_history(history[:2], memo)
