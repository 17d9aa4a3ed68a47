"""What a saver keeps of a graph of channels: one that triggers nodes is a value like any other."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpoint.savers import open_saver
from stepgraph.channels import (
    BinaryOperatorAggregate,
    EphemeralValue,
    LastValue,
    LastValueAfterFinish,
    NamedBarrierValueAfterFinish,
    Topic,
)
from stepgraph.pregel import NodeBuilder, Pregel

from .both import Face, each_driver, thread
from .plain_saver import PlainSaver

pytestmark = each_driver

FIRST = {"last": "xx", "once": "xx", "topic": ["xx"], "sum": "xx"}
END = {"last": "xx", "sum": "xx", "by_last": "xx1", "by_once": "xx2", "by_topic": "xx3", "by_sum": "xx4"}


@pytest.fixture(params=["memory", "sqlite", "plain"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "plain":
        yield PlainSaver()
        return
    with open_saver(request.param, tmp_path) as face:
        yield face.saver


def double_and_name(saver: Any, **options: Any) -> Any:
    """`start` writes a channel of each kind, each of which triggers a node that writes a plain one."""
    nodes = {
        "start": NodeBuilder()
        .subscribe_only("input")
        .do(lambda text: text * 2)
        .write_to("last", "once", "topic", "sum")
    }
    for number, channel in enumerate(FIRST, 1):
        nodes[f"on_{channel}"] = (
            NodeBuilder()
            .subscribe_only(channel)
            .do(lambda found, number=number: f"{''.join(found)}{number}")
            .write_to(f"by_{channel}")
        )
    return Pregel(
        nodes=nodes,
        channels={
            "input": EphemeralValue(str),
            "last": LastValue(str),
            "once": EphemeralValue(str),
            "topic": Topic(str),
            "sum": BinaryOperatorAggregate(str, operator.add),
            **{f"by_{channel}": LastValue(str) for channel in FIRST},
        },
        input_channels=["input"],
        output_channels=["last", "by_last", "by_once", "by_topic", "by_sum"],
        checkpointer=saver,
        **options,
    )


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_the_value_of_a_channel_that_triggered_nodes_is_stored(
    saver: Any, driver: str, durability: Any
) -> None:
    graph = Face(double_and_name(saver), driver)
    graph.invoke({"input": "x"}, thread(), durability=durability)
    assert graph.get_state(thread()).values == END
    if durability != "exit":
        between = [
            state for state in graph.get_state_history(thread()) if state.next and state.metadata["step"] == 0
        ]
        assert [state.values for state in between] == [FIRST]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_nodes_that_a_channel_triggered_before_a_stop_read_its_value(
    saver: Any, driver: str, durability: Any
) -> None:
    waiting = [f"on_{channel}" for channel in FIRST]
    stopping = Face(double_and_name(saver, interrupt_before_nodes=waiting), driver)
    stopping.invoke({"input": "x"}, thread(), durability=durability)
    state = stopping.get_state(thread())
    assert (sorted(state.next), state.values) == (sorted(waiting), FIRST)
    Face(double_and_name(saver), driver).invoke(None, thread(), durability=durability)
    assert stopping.get_state(thread()).values == END


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("kind", [LastValueAfterFinish(str), NamedBarrierValueAfterFinish(str, {"x"})])
def test_a_channel_that_waits_for_the_end_triggers_its_node_after_a_stop_too(
    saver: Any, driver: str, durability: Any, kind: Any
) -> None:
    def build(**options: Any) -> Any:
        nodes = {
            "first": NodeBuilder().subscribe_only("input").do(lambda text: text).write_to("more", "late"),
            "second": NodeBuilder().subscribe_only("more").do(lambda text: text * 2).write_to("twice"),
            "last": NodeBuilder().subscribe_only("late").do(lambda _: "last").write_to("output"),
        }
        plain = {name: LastValue(str) for name in ("input", "more", "twice", "output")}
        channels = {**plain, "late": kind.copy()}
        graph: Any = Pregel(
            nodes=nodes,
            channels=channels,
            input_channels=["input"],
            output_channels=["twice", "output"],
            checkpointer=saver,
            **options,
        )
        return Face(graph, driver)

    stopping = build(interrupt_before_nodes=["last"])
    assert stopping.invoke({"input": "x"}, thread(), durability=durability) == {"twice": "xx"}
    assert stopping.get_state(thread()).next == ("last",)
    build().invoke(None, thread(), durability=durability)
    state = stopping.get_state(thread())
    assert (state.next, state.values) == ((), {"input": "x", "more": "x", "twice": "xx", "output": "last"})
