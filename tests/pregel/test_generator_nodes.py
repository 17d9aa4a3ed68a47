"""Nodes written as generators: their result is the last value that they yield."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypedDict

import pytest

from stepgraph.errors import NodeError
from stepgraph.graph import START, StateGraph
from stepgraph.types import StreamWriter, interrupt


class State(TypedDict, total=False):
    word: str
    number: int


def counts(state: State) -> Iterator[Any]:
    for number in (1, 2, 3):
        yield {"number": number}


async def acounts(state: State) -> AsyncIterator[Any]:
    for number in (1, 2, 3):
        await asyncio.sleep(0)
        yield {"number": number}


def yields_nothing(state: State) -> Iterator[Any]:
    yield from ()


class Counts:
    def __call__(self, state: State) -> Iterator[Any]:
        yield from counts(state)

    def method(self, state: State) -> Iterator[Any]:
        yield from counts(state)


def with_more(more: int, state: State, writer: StreamWriter) -> Iterator[Any]:
    writer("seen")
    yield {"number": more}


def one(node: Any, **options: Any) -> Any:
    return StateGraph(State).add_node("node", node, **options).add_edge(START, "node").compile()


@pytest.mark.parametrize("driver", ["invoke", "ainvoke"])
@pytest.mark.parametrize(
    ("node", "number"),
    [
        (counts, 3),
        (acounts, 3),
        (Counts(), 3),
        (Counts().method, 3),
        (partial(with_more, 3), 3),
        (yields_nothing, None),
    ],
)
def test_the_last_value_is_the_result(node: Any, number: int | None, driver: str) -> None:
    graph = one(node)
    start: State = {"word": "in"}
    out = graph.invoke(start) if driver == "invoke" else asyncio.run(graph.ainvoke(start))
    assert out == ({"word": "in"} if number is None else {"word": "in", "number": number})


def test_a_generator_fails_and_pauses_where_a_function_would() -> None:
    def asks(state: State) -> Iterator[Any]:
        yield {"word": interrupt("which?")}

    def fails(state: State) -> Iterator[Any]:
        yield {"word": "lost"}
        raise ValueError("late")

    assert one(asks).invoke({"word": "in"})["__interrupt__"][0].value == "which?"
    with pytest.raises(ValueError, match="late"):
        one(fails).invoke({"word": "in"})


def test_an_error_handler_may_be_a_generator() -> None:
    def fails(state: State) -> State:
        raise ValueError("no")

    def handles(state: State, error: NodeError) -> Iterator[Any]:
        yield {"word": str(error.error)}

    assert one(fails, error_handler=handles).invoke({"word": "in"}) == {"word": "no"}


def test_a_generator_stays_where_the_graph_runs() -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(TypeError, match="no synchronous function"):
        one(counts, executor=pool)
