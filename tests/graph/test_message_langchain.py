"""`add_messages` on LangChain's messages."""

from __future__ import annotations

import pytest

messages = pytest.importorskip("langchain_core.messages", reason="LangChain is not installed")

from stepgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages  # noqa: E402

AI, Human, Remove = messages.AIMessage, messages.HumanMessage, messages.RemoveMessage


def test_a_message_without_an_id_is_given_one_in_place():
    said = Human("a")
    (kept,) = add_messages([], [said])
    assert kept is said
    assert said.id


def test_the_same_object_written_twice_stands_there_once():
    said = Human("a")
    assert add_messages(add_messages([], [said]), [said]) == [said]


def test_dicts_pairs_and_texts_become_messages():
    kept = add_messages([], [{"role": "user", "content": "a"}, ("ai", "b"), "c"])
    assert [(type(m), m.content) for m in kept] == [(Human, "a"), (AI, "b"), (Human, "c")]


def test_a_given_dict_is_not_changed():
    given = {"role": "user", "content": "a"}
    add_messages([], given)
    assert given == {"role": "user", "content": "a"}


def test_a_removal_as_a_dict_needs_no_content():
    assert add_messages([Human("a", id="1")], {"role": "remove", "id": "1"}) == []


def test_a_chunk_becomes_a_whole_message():
    (kept,) = add_messages([], [messages.AIMessageChunk("a", id="1")])
    assert type(kept) is AI


def test_removing_all_leaves_no_removal_behind():
    kept = add_messages(
        [Human("a", id="1")], [Remove(id=REMOVE_ALL_MESSAGES), Human("b", id="2"), Remove(id="1")]
    )
    assert kept == [Human("b", id="2")]


def test_messages_stay_dicts_where_plain_is_asked_for():
    kept = add_messages(format="plain")([], [{"role": "user", "content": "a", "id": "1"}, AI("b", id="2")])
    assert kept == [{"role": "user", "content": "a", "id": "1"}, AI("b", id="2")]


def test_dicts_kept_before_langchain_was_loaded_become_messages(without_langchain, monkeypatch):
    memo = {}
    kept = add_messages.fold([], [[{"role": "user", "content": "a", "id": "1"}]], memo)
    assert type(kept[0]) is dict
    monkeypatch.undo()
    kept = add_messages.fold(kept, [[AI("b", id="2")]], memo)
    assert kept == [Human("a", id="1"), AI("b", id="2")]


PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "abc"}}


def test_the_openai_format_keeps_ids():
    reducer = add_messages(format="langchain-openai")
    (kept,) = reducer([], [Human([PICTURE], id="1")])
    assert kept.content == [{"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,abc"}}]
    assert reducer([kept], [Human("no picture", id="1")]) == [Human("no picture", id="1")]


def test_a_message_that_becomes_several_replaces_all_of_them_when_written_again():
    reducer = add_messages(format="langchain-openai")

    def answer(text):
        result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": text}]}
        return Human([result, {"type": "text", "text": text}], id="1")

    call = AI("", id="0", tool_calls=[{"name": "f", "args": {}, "id": "t"}])
    first = reducer([call], [answer("first")])
    again = reducer(first, [answer("again")])
    assert len(first) == len(again) == 3
    assert "first" not in str(again)


def test_the_openai_format_is_stable():
    reducer = add_messages(format="langchain-openai")
    kept = reducer([], [Human([PICTURE, {"type": "text", "text": "see"}], id="1"), AI("ok", id="2")])
    assert reducer(kept, []) == kept
