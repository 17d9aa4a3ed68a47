"""`compile(concurrency="reject")` on savers that other processes share: a run has a lease while it is at work.

Another process is another saver on the same file.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import operator
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.checkpoint.holds import Hold
from stepgraph.checkpoint.sqlite import SqliteSaver
from stepgraph.errors import EmptyInputError, ThreadBusyError
from stepgraph.graph import START, StateGraph
from stepgraph.pregel.drivers import heart
from stepgraph.types import interrupt

THREAD: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


class Place:
    """A file that several processes use."""

    def __init__(self, stack: ExitStack, path: Path) -> None:
        self._stack = stack
        self._path = str(path / "checkpoints.db")

    def saver(self) -> SqliteSaver:
        """That of another process."""
        return self._stack.enter_context(SqliteSaver.from_conn_string(self._path))

    def graph(self, second: Any = None, concurrency: Any = "reject") -> Any:
        """A graph of two nodes, in another process."""
        builder = StateGraph(State).add_node("a", lambda state: {"log": ["a"]})
        builder.add_node("b", second or (lambda state: {"log": ["b"]}))
        builder.add_edge(START, "a").add_edge("a", "b")
        return builder.compile(self.saver(), concurrency=concurrency)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as stack:
        yield Place(stack, tmp_path)


def free(place: Place) -> bool:
    """Whether another process may begin a run on the thread."""
    saver = place.saver()
    hold = Hold("1", "asking", "asking", 60.0)
    try:
        saver.begin_hold(hold)
    except ThreadBusyError:
        return False
    saver.end_hold(hold)
    return True


def test_a_run_in_another_process_is_refused_and_both_are_named(place: Place) -> None:
    stream = place.graph().stream({}, THREAD)
    next(stream)
    with pytest.raises(ThreadBusyError, match="maybe in another process") as refused:
        place.graph().invoke({}, THREAD)
    assert refused.value.cause == "lease"
    assert refused.value.run_id
    assert refused.value.other_run_id
    assert refused.value.run_id != refused.value.other_run_id
    assert list(stream) == [{"b": {"log": ["b"]}}]
    assert place.graph().invoke({}, THREAD) == {"log": ["a", "b", "a", "b"]}


def test_a_refused_run_in_one_process_names_both_runs_too(place: Place) -> None:
    graph = place.graph()
    stream = graph.stream({}, THREAD)
    next(stream)
    with pytest.raises(ThreadBusyError, match="in use") as refused:
        graph.invoke({}, {**THREAD, "run_id": "mine"})
    assert refused.value.run_id == "mine"
    assert refused.value.other_run_id
    stream.close()
    assert free(place)


def test_run_ids_that_a_person_gave_are_named(place: Place) -> None:
    stream = place.graph().stream({}, {**THREAD, "run_id": "first"})
    next(stream)
    with pytest.raises(ThreadBusyError, match="run first, maybe in another process, so run second did not"):
        place.graph().invoke({}, {**THREAD, "run_id": "second"})
    stream.close()


def test_a_run_without_rejection_needs_no_lease(place: Place) -> None:
    stream = place.graph(concurrency="detect").stream({}, THREAD)
    next(stream)
    assert free(place)
    stream.close()


def test_a_refused_run_does_nothing(place: Place) -> None:
    stream = place.graph().stream({}, THREAD)
    next(stream)
    other = place.graph()
    for _ in range(2):
        with pytest.raises(ThreadBusyError):
            other.invoke({"log": ["x"]}, THREAD)
    list(stream)
    assert other.get_state(THREAD).values == {"log": ["a", "b"]}


async def consume(graph: Any, **options: Any) -> None:
    async for _ in graph.astream({}, THREAD, **options):
        pass


def run(graph: Any, use: str) -> None:
    if use == "invoke":
        graph.invoke({}, THREAD)
    elif use == "stream":
        list(graph.stream({}, THREAD))
    elif use == "ainvoke":
        asyncio.run(graph.ainvoke({}, THREAD))
    else:
        asyncio.run(consume(graph))


USES = ["invoke", "stream", "ainvoke", "astream"]


@pytest.mark.parametrize("use", USES)
def test_a_run_that_ends_leaves_its_thread(place: Place, use: str) -> None:
    seen: list[bool] = []

    def second(state: State) -> State:
        seen.append(free(place))
        return {}

    run(place.graph(second), use)
    assert seen == [False]
    assert free(place)


@pytest.mark.parametrize("use", USES)
def test_a_run_that_fails_leaves_its_thread(place: Place, use: str) -> None:
    def second(state: State) -> State:
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        run(place.graph(second), use)
    assert free(place)


@pytest.mark.parametrize("use", USES)
def test_a_run_that_pauses_leaves_its_thread(place: Place, use: str) -> None:
    run(place.graph(lambda state: interrupt("well?")), use)
    assert free(place)


@pytest.mark.parametrize("use", ["invoke", "ainvoke"])
def test_a_run_without_input_leaves_its_thread(place: Place, use: str) -> None:
    graph = place.graph()
    with pytest.raises(EmptyInputError):
        graph.invoke(None, THREAD) if use == "invoke" else asyncio.run(graph.ainvoke(None, THREAD))
    assert free(place)


def test_a_stream_that_is_dropped_leaves_its_thread(place: Place) -> None:
    stream = place.graph().stream({}, THREAD)
    next(stream)
    del stream
    gc.collect()
    assert free(place)


def test_a_cancelled_run_leaves_its_thread(place: Place) -> None:
    async def work() -> None:
        begun = asyncio.Event()

        async def second(state: State) -> State:
            begun.set()
            await asyncio.Event().wait()
            return {}

        task = asyncio.ensure_future(place.graph(second).ainvoke({}, THREAD))
        await asyncio.wait_for(begun.wait(), 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())
    assert free(place)


def held_until(saver: SqliteSaver) -> float:
    with saver.cursor() as cursor:
        found = cursor.execute("SELECT held_until FROM stepgraph_threads WHERE thread_id = '1'").fetchone()
    return float(found[0])


def wait_for(what: Any) -> None:
    """Wait until something holds; a run's heart beats in a thread of its own."""
    end = monotonic() + 20
    while not what():
        assert monotonic() < end, "it never came to hold"
        sleep(0.005)


@pytest.fixture
def quick_hearts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases are good for long, and are renewed often: a test must hold on a busy machine."""
    monkeypatch.setattr(heart, "_BEATS", 1000.0)


@pytest.mark.usefixtures("quick_hearts")
def test_the_lease_of_a_long_node_is_renewed(place: Place) -> None:
    looking = place.saver()

    def second(state: State) -> State:
        for _ in range(3):
            before = held_until(looking)
            wait_for(lambda: held_until(looking) > before)  # noqa: B023
        assert not free(place)
        return {}

    place.graph(second).invoke({}, THREAD)
    assert free(place)


def test_the_thread_of_a_process_that_died_is_taken_over(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    place.saver().begin_hold(Hold("1", "dead", "token", -1.0))
    with caplog.at_level(logging.WARNING, "stepgraph.pregel"):
        assert place.graph().invoke({}, {**THREAD, "run_id": "alive"}) == {"log": ["a", "b"]}
    assert [record.getMessage() for record in caplog.records] == [
        "Thread '1' was held by run dead, whose process seems to have died. Run alive takes over: it goes on from the newest"
        " checkpoint."
    ]


@pytest.mark.usefixtures("quick_hearts")
def test_who_lost_its_lease_is_stopped_and_told(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    """1. A run begins; 2. its lease lapses, as if its process had slept; 3. another run works on the thread; 4. the first
    goes on, and stops at its next save."""

    def second(state: State) -> State:
        with place.saver().cursor() as cursor:
            cursor.execute(
                "UPDATE stepgraph_threads SET held_until = 0, token = 'other' WHERE thread_id = '1'"
            )
        place.graph().invoke({"log": ["x"]}, THREAD)
        wait_for(lambda: "was not heard of" in caplog.text)
        return {"log": ["late"]}

    first = place.graph(second)
    with (
        caplog.at_level(logging.WARNING, "stepgraph.pregel"),
        pytest.raises(ThreadBusyError, match="moved on"),
    ):
        first.invoke({}, THREAD, durability="sync")
    assert place.graph().get_state(THREAD).values == {"log": ["a", "x", "a", "b"]}


@pytest.mark.usefixtures("quick_hearts")
def test_a_heart_ends_with_the_runs_of_its_saver(place: Place) -> None:
    graph = place.graph()
    graph.invoke({}, THREAD)
    wait_for(lambda: all(thread.name != "SqliteSaver-holds" for thread in threading.enumerate()))
    graph.invoke({}, THREAD)
    assert free(place)


def test_a_conflict_names_both_runs_and_the_root(place: Place) -> None:
    def second(state: State) -> State:
        place.graph(concurrency="detect").invoke({}, THREAD)
        return {}

    with pytest.raises(ThreadBusyError, match=r"namespace '' \(the root\), was moved on by run") as refused:
        place.graph(second, "detect").invoke({}, THREAD, durability="sync")
    assert refused.value.run_id
    assert refused.value.other_run_id
    assert refused.value.run_id != refused.value.other_run_id


def test_a_conflict_with_an_update_says_so(place: Place) -> None:
    def second(state: State) -> State:
        place.graph().update_state(THREAD, {"log": ["edited"]})
        return {}

    with pytest.raises(ThreadBusyError, match="was moved on by a call of update_state") as refused:
        place.graph(second, "detect").invoke({}, THREAD, durability="sync")
    assert (refused.value.cause, refused.value.other_run_id) == ("update_state", None)
