"""What a node of a graph of channels writes: whatever it returns, `None` too."""

from __future__ import annotations

from typing import Any

import pytest

from stepgraph.channels import EphemeralValue, LastValue
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.pregel import NodeBuilder, Pregel
from stepgraph.pregel.node import ChannelWriteEntry
from stepgraph.warnings import UnknownStateKeyWarning

from .both import Face, each_driver, thread

pytestmark = each_driver


def chain(first: NodeBuilder, driver: str) -> Any:
    """`first` reads `input`; what it writes to `middle` makes `last` write `output`."""
    last = NodeBuilder().subscribe_only("middle").do(lambda value: f"saw {value}").write_to("output")
    graph: Any = Pregel(
        nodes={"first": first, "last": last},
        channels={"input": EphemeralValue(str), "middle": LastValue(object), "output": LastValue(str)},
        input_channels="input",
        output_channels=["middle", "output"],
    )
    return Face(graph, driver)


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize(
    ("channels", "by_name", "seen"),
    [
        (["middle"], {}, None),
        ([], {"middle": 5}, 5),
        ([], {"middle": lambda value: f"{value} mapped"}, "None mapped"),
        ([], {"middle": lambda value: None}, None),
    ],
)
def test_a_node_that_returns_none_writes(
    driver: str, watched: bool, channels: Any, by_name: Any, seen: Any
) -> None:
    first = NodeBuilder().subscribe_only("input").do(lambda _: None).write_to(*channels, **by_name)
    graph = chain(first, driver)
    expected = {"middle": seen, "output": f"saw {seen}"}
    if watched:
        parts = graph.stream("x", stream_mode=["tasks", "values"])
        assert parts[-1] == ("values", expected)
    else:
        assert graph.invoke("x") == expected


def test_an_entry_may_skip_none(driver: str) -> None:
    entry = ChannelWriteEntry("middle", skip_none=True)
    first = NodeBuilder().subscribe_only("input").do(lambda _: None).write_to(entry)
    assert chain(first, driver).invoke("x") is None


def test_a_cycle_ends_where_nothing_is_written(driver: str) -> None:
    entry = ChannelWriteEntry("value", skip_none=True)
    grow = (
        NodeBuilder()
        .subscribe_only("value")
        .do(lambda text: text * 2 if len(text) < 10 else None)
        .write_to(entry)
    )
    graph: Any = Pregel(
        nodes={"grow": grow},
        channels={"value": LastValue(str)},
        input_channels="value",
        output_channels="value",
    )
    assert Face(graph, driver).invoke("a") == "a" * 16


def test_a_write_to_a_channel_that_does_not_exist_is_reported_and_stored_nowhere(driver: str) -> None:
    saver = InMemorySaver()
    graph: Any = Pregel(
        nodes={"n": NodeBuilder().subscribe_only("input").do(str.upper).write_to("middel", "middle")},
        channels={"input": LastValue(str), "middle": LastValue(str)},
        input_channels=["input"],
        output_channels=["middle"],
        checkpointer=saver,
    )
    with pytest.warns(
        UnknownStateKeyWarning, match="'n' of graph .* wrote key 'middel'.* Did you mean 'middle'"
    ):
        assert Face(graph, driver).invoke({"input": "x"}, thread()) == {"middle": "X"}
    stored = saver.get_tuple(thread())
    assert stored is not None
    assert stored.checkpoint["channel_values"] == {"input": "x", "middle": "X"}


def test_an_input_for_a_channel_that_does_not_exist_is_reported(driver: str) -> None:
    graph: Any = Pregel(
        nodes={"n": NodeBuilder().subscribe_only("input").do(str.upper).write_to("output")},
        channels={"input": LastValue(str), "output": LastValue(str)},
        input_channels=["input"],
        output_channels=["output"],
    )
    with pytest.warns(UnknownStateKeyWarning, match="'The input' of graph .* wrote key 'inputs'"):
        assert Face(graph, driver).invoke({"input": "x", "inputs": "y"}) == {"output": "X"}
