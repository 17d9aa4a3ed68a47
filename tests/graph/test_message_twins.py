"""`add_messages` beside the one of langgraph: the same writes, the same messages."""

from __future__ import annotations

import pytest

messages = pytest.importorskip("langchain_core.messages", reason="LangChain is not installed")
peer = pytest.importorskip(
    "langgraph.graph.message", reason="langgraph is not installed: nothing to compare with"
)

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from stepgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages  # noqa: E402

KEYS = st.sampled_from("abcde")
TEXTS = st.sampled_from(["x", "y", ""])


def pair(role, text):
    return (role, text)


def as_dict(role, text, key):
    return {"role": role, "content": text, "id": key}


def as_dict_without_id(role, text):
    return {"role": role, "content": text}


def made(kind, text, key):
    return ("message", kind, text, key)


def removal(key):
    return ("removal", key)


ROLES = st.sampled_from(["user", "human", "ai", "assistant", "system"])
KINDS = st.sampled_from(["HumanMessage", "AIMessage", "SystemMessage", "AIMessageChunk", "HumanMessageChunk"])
MESSAGE = st.builds(made, KINDS, TEXTS, st.one_of(KEYS, st.none()))
LOOSE = st.one_of(
    TEXTS,
    st.builds(pair, ROLES, TEXTS),
    st.builds(as_dict, ROLES, TEXTS, KEYS),
    st.builds(as_dict_without_id, ROLES, TEXTS),
)
ENTRY = st.one_of(MESSAGE, MESSAGE, LOOSE, st.builds(removal, KEYS))
CLEARING = st.lists(MESSAGE, max_size=3, unique_by=lambda m: m[3] or object()).map(
    lambda after: [removal(REMOVE_ALL_MESSAGES), *after]
)
WRITE = st.one_of(
    ENTRY, st.lists(ENTRY, max_size=5), st.builds(list.__add__, st.lists(ENTRY, max_size=2), CLEARING)
)


def build(entry):
    """A fresh object for each engine, because both set ids in place."""
    if isinstance(entry, list):
        return [build(item) for item in entry]
    if isinstance(entry, dict):
        return dict(entry)
    if isinstance(entry, tuple) and entry[0] == "message":
        return getattr(messages, entry[1])(entry[2], id=entry[3])
    if isinstance(entry, tuple) and entry[0] == "removal":
        return messages.RemoveMessage(id=entry[1])
    return entry


def seen(kept):
    """Messages without the ids that were made up: those stand as their order of appearance."""
    known = {}
    found = []
    for message in kept:
        key = message.id
        assert key is not None
        if len(key) > 20:
            key = known.setdefault(key, len(known))
        found.append((type(message), message.content, key))
    return found


def run(reducer, steps):
    kept = []
    for write in steps:
        try:
            kept = reducer(kept, build(write))
        except ValueError as error:
            return str(error).split(")")[0]
    return seen(kept)


@given(st.lists(WRITE, max_size=6))
def test_the_same_writes_give_the_same_messages(steps):
    assert run(add_messages, steps) == run(peer.add_messages, steps)


@given(st.lists(WRITE, max_size=6))
def test_the_index_of_a_run_changes_nothing(steps):
    memo = {}
    assert run(lambda kept, write: add_messages.fold(kept, [write], memo), steps) == run(
        peer.add_messages, steps
    )


CONTENT = st.one_of(
    TEXTS,
    st.lists(
        st.sampled_from(
            [
                {"type": "text", "text": "hello"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "abc"}},
                {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,abc"}},
                "loose text",
            ]
        ),
        min_size=1,
        max_size=3,
    ),
)


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(["HumanMessage", "AIMessage"]), CONTENT), max_size=3), max_size=4
    )
)
def test_the_openai_format_gives_the_same_contents(steps):
    def contents(module):
        reducer, kept = module(format="langchain-openai"), []
        for write in steps:
            kept = reducer(kept, [getattr(messages, kind)(content) for kind, content in write])
        return [(type(message), message.content) for message in kept]

    assert contents(add_messages) == contents(peer.add_messages)
