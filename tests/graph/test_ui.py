"""UI messages: the reducer, and pushing from inside a node."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import TypedDict

from stepgraph.graph import START, StateGraph
from stepgraph.graph.ui import delete_ui_message, push_ui_message, ui_message_reducer
from stepgraph.warnings import UnknownStateKeyWarning


def shown(key, merge=False, **props):
    return {"type": "ui", "id": key, "name": "chart", "props": props, "metadata": {"merge": merge}}


def removal(key):
    return {"type": "remove-ui", "id": key}


class State(TypedDict):
    ui: Annotated[list[Any], ui_message_reducer]


def stream(node, *modes):
    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile()
    return list(graph.stream({"ui": []}, {"tags": ["t"]}, stream_mode=list(modes)))


def test_a_message_with_another_id_is_appended():
    assert ui_message_reducer(shown("1"), [shown("2")]) == [shown("1"), shown("2")]


def test_a_message_with_a_known_id_takes_the_place_of_the_old_one():
    assert ui_message_reducer([shown("1", a=1), shown("2")], shown("1", b=2)) == [shown("1", b=2), shown("2")]


def test_a_merge_keeps_the_properties_that_it_does_not_name():
    merged = ui_message_reducer([shown("1", a=1, b=1)], [shown("1", merge=True, b=2)])
    assert merged == [shown("1", merge=True, a=1, b=2)]


def test_a_merge_changes_no_given_message():
    left, right = [shown("1", a=1)], [shown("1", merge=True, b=2)]
    ui_message_reducer(left, right)
    assert (left, right) == ([shown("1", a=1)], [shown("1", merge=True, b=2)])


def test_a_removal_takes_the_message_away():
    assert ui_message_reducer([shown("1"), shown("2")], [removal("1")]) == [shown("2")]


def test_removing_an_unknown_message_is_an_error_that_names_it():
    with pytest.raises(ValueError, match=r"doesn't exist \('7'\)"):
        ui_message_reducer([shown("1")], [removal("7")])


@pytest.mark.parametrize("value", [None, "text", (shown("1"),)])
def test_what_is_no_ui_message_is_refused(value):
    with pytest.raises(TypeError, match="Not a UI message"):
        ui_message_reducer([], value)


ENTRIES = st.one_of(
    st.builds(
        lambda key, merge, props: shown(key, merge, **props),
        st.sampled_from("abc"),
        st.booleans(),
        st.dictionaries(st.sampled_from("xy"), st.integers(0, 2)),
    ),
    st.builds(removal, st.sampled_from("abc")),
)
STEPS = st.lists(st.lists(st.lists(ENTRIES, max_size=4), min_size=1, max_size=3), max_size=5)


def outcome(reducer, base, writes):
    try:
        for write in writes:
            base = reducer(base, write)
    except ValueError as error:
        return str(error).split(")")[0]
    return base


@given(STEPS)
def test_folding_a_superstep_equals_merging_write_by_write(steps):
    kept = []
    for writes in steps:
        expected = outcome(ui_message_reducer, kept, writes)
        got = outcome(lambda base, group: ui_message_reducer.fold(base, group, {}), kept, [writes])
        assert got == expected
        kept = expected if isinstance(expected, list) else kept


@given(STEPS)
def test_the_same_writes_give_the_same_messages_as_langgraph(steps):
    peer = pytest.importorskip(
        "langgraph.graph.ui", reason="langgraph is not installed: nothing to compare with"
    )
    kept = []
    for writes in steps:
        expected = outcome(peer.ui_message_reducer, kept, writes)
        assert outcome(ui_message_reducer, kept, writes) == expected
        kept = expected if isinstance(expected, list) else kept


def test_a_pushed_message_is_streamed_at_once_and_kept():
    def node(state):
        push_ui_message("chart", {"a": 1}, id="1")

    custom, updates, values = stream(node, "custom", "updates", "values")[1:]
    message = {
        "type": "ui",
        "id": "1",
        "name": "chart",
        "props": {"a": 1},
        "metadata": {"merge": False, "run_id": None, "tags": ["t"], "name": None},
    }
    assert custom == ("custom", message)
    assert updates == ("updates", {"node": {"ui": message}})
    assert values == ("values", {"ui": [message]})


def test_a_pushed_message_names_the_chat_message_it_belongs_to():
    def node(state):
        push_ui_message("chart", {}, metadata={"own": 1}, message={"id": "m"})

    ((_, message),) = stream(node, "custom")
    assert message["id"]
    assert (message["metadata"]["message_id"], message["metadata"]["own"]) == ("m", 1)


def test_a_pushed_message_can_be_for_the_stream_only():
    def node(state):
        push_ui_message("chart", {}, state_key=None)

    events = stream(node, "custom", "updates")
    assert events[1] == ("updates", {"node": None})


def test_a_pushed_removal_takes_the_message_away():
    def node(state):
        push_ui_message("chart", {}, id="1")
        delete_ui_message("1")

    events = stream(node, "custom", "values")
    assert events[2] == ("custom", removal("1"))
    assert events[-1] == ("values", {"ui": []})


def test_what_a_node_pushes_comes_before_what_it_returns():
    def node(state):
        push_ui_message("chart", {"a": 1}, id="1")
        push_ui_message("chart", {"b": 1}, id="1", merge=True)
        return {"ui": [shown("2")]}

    (_, end) = stream(node, "values")[-1]
    assert [(message["id"], message["props"]) for message in end["ui"]] == [
        ("1", {"a": 1, "b": 1}),
        ("2", {}),
    ]


def test_pushing_to_a_field_that_no_schema_knows_is_reported():
    def node(state):
        push_ui_message("chart", {}, state_key="uis")

    with pytest.warns(UnknownStateKeyWarning, match="'uis'.*Did you mean 'ui'"):
        stream(node, "custom")


@pytest.mark.parametrize("push", [lambda: push_ui_message("chart", {}), lambda: delete_ui_message("1")])
def test_pushing_outside_of_a_node_is_an_error(push):
    with pytest.raises(RuntimeError, match="outside of a runnable context"):
        push()
