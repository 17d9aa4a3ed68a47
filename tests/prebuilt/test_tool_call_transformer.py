"""`run.tool_calls` of the v3 stream."""

from __future__ import annotations

import asyncio

from typing_extensions import Annotated, TypedDict  # noqa: UP035

from prebuilt.calls import asking, plain_call
from stepgraph.graph import START, StateGraph
from stepgraph.graph.message import add_messages
from stepgraph.prebuilt import ToolCallTransformer, ToolNode, ToolRuntime


class State(TypedDict):
    messages: Annotated[list, add_messages(format="plain")]


def count(to: int, runtime: ToolRuntime) -> str:
    """Count."""
    for number in range(to):
        runtime.emit_output_delta(number)
    return "counted"


def fail() -> str:
    """Fail."""
    raise ValueError("bad")


def graph():
    node = ToolNode([count, fail], handle_tool_errors=True)
    return StateGraph(State).add_node("tools", node).add_edge(START, "tools").compile()


def test_each_call_is_a_stream_of_what_it_shows():
    run = graph().stream_events(
        asking(plain_call("count", {"to": 2})), version="v3", transformers=[ToolCallTransformer]
    )
    (seen,) = [(call, call.completed, list(call.output_deltas)) for call in run.tool_calls]
    call, completed_at_first, deltas = seen
    assert (call.tool_call_id, call.tool_name, call.input) == ("1", "count", {"to": 2})
    assert (completed_at_first, deltas) == (False, [0, 1])
    assert (call.completed, call.output, call.error) == (True, "counted", None)


def test_a_failed_call_says_what_it_failed_with():
    run = graph().stream_events(
        asking(plain_call("fail", {})), version="v3", transformers=[ToolCallTransformer]
    )
    (call,) = list(run.tool_calls)
    assert (call.completed, call.output, call.error) == (True, None, "bad")
    assert "status=error" in repr(call)


def test_calls_are_streamed_in_an_asynchronous_run():
    async def main():
        run = await graph().astream_events(
            asking(plain_call("count", {"to": 2})), version="v3", transformers=[ToolCallTransformer]
        )
        return [
            (call.tool_name, [delta async for delta in call.output_deltas]) async for call in run.tool_calls
        ]

    assert asyncio.run(main()) == [("count", [0, 1])]


def test_a_call_that_the_run_cuts_off_has_failed_with_it():
    class Mux:
        is_async = False

    transformer = ToolCallTransformer()
    transformer._on_register(Mux())
    opened = []
    transformer._log.push = opened.append
    params = {
        "namespace": [],
        "data": {"event": "tool-started", "tool_call_id": "1", "tool_name": "count", "input": {}},
    }
    assert transformer.process({"method": "tools", "params": params})
    transformer.fail(RuntimeError("cut off"))
    assert (opened[0].completed, opened[0].error) == (True, "cut off")
