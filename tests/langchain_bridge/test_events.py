"""LangChain's own ways to look at a run while it runs: `astream_events` and `astream_log`."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from langchain_core.runnables import RunnableLambda

from langchain_bridge.recording import chain, model, one, two

pytestmark = pytest.mark.filterwarnings("ignore:astream")


def events(graph, version="v2", **options):
    async def run():
        return [event async for event in graph.astream_events({"log": ["in"]}, version=version, **options)]

    return asyncio.run(run())


def brief(found):
    return [(event["event"].removeprefix("on_"), event["name"]) for event in found]


async def aone(state):
    return {"log": ["one"]}


@pytest.mark.parametrize("node", [one, aone], ids=["sync", "async"])
def test_version_two(node):
    found = events(chain(("one", node), two))
    assert brief(found) == [
        ("chain_start", "LangGraph"),
        ("chain_start", "one"),
        ("chain_stream", "one"),
        ("chain_end", "one"),
        ("chain_stream", "LangGraph"),
        ("chain_start", "two"),
        ("chain_stream", "two"),
        ("chain_end", "two"),
        ("chain_stream", "LangGraph"),
        ("chain_end", "LangGraph"),
    ]
    assert found[2]["data"] == {"chunk": {"log": ["one"]}}
    assert found[4]["data"] == {"chunk": {"one": {"log": ["one"]}}}
    assert found[-1]["data"]["output"] == {"log": ["in", "one", "two"]}
    assert found[1]["parent_ids"] == [found[0]["run_id"]]


def test_tokens_of_models():
    def ask(state):
        return {"log": [model().invoke("x").content]}

    found = events(chain(ask))
    tokens = [event["data"]["chunk"].content for event in found if event["event"] == "on_chat_model_stream"]
    assert tokens == ["a", " ", "b"]
    assert ("chat_model_end", "GenericFakeChatModel") in brief(found)


def test_a_nested_graph():
    found = brief(events(chain(("sub", chain(one, name="Child")))))
    assert found.index(("chain_start", "Child")) < found.index(("chain_start", "one"))
    assert found.index(("chain_end", "Child")) < found.index(("chain_stream", "sub"))


def test_steps_of_a_sequence_stream_into_each_other():
    async def words(state):
        yield {"log": ["x"]}
        yield {"log": ["y"]}

    steps = RunnableLambda(lambda state: state) | RunnableLambda(words, name="words")
    found = [event for event in events(chain(("both", steps))) if event["name"] in ("both", "words")]
    assert [event["event"] for event in found if event["name"] == "words"].count("on_chain_stream") == 2


def test_modes_and_filters():
    found = events(chain(one), stream_mode=["values"], include_names=["LangGraph"])
    assert {event["name"] for event in found} == {"LangGraph"}
    assert found[1]["data"]["chunk"] == ("values", {"log": ["in"]})


def test_version_one():
    assert ("chain_stream", "one") in brief(events(chain(one), version="v1"))


def test_a_log_of_the_run():
    async def run():
        return [patch async for patch in chain(one).astream_log({"log": ["in"]})]

    found = asyncio.run(run())
    assert any(operation["path"] == "/logs/one" for patch in found for operation in patch.ops)


def test_the_events_of_a_sequence_around_a_graph():
    found = brief(events(RunnableLambda(lambda state: state) | chain(one, name="Graph")))
    assert ("chain_start", "Graph") in found
    assert ("chain_stream", "RunnableSequence") in found
