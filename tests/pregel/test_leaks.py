"""Nothing is left behind: no thread, no task, no warning, however a run ends; and one graph serves many at once."""

from __future__ import annotations

import asyncio
import gc
import operator
import threading
import time
import warnings
from typing import Annotated, Any, TypedDict

import pytest
from tests.pregel.both import thread

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.graph import START, StateGraph
from stepgraph.types import Send


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    who: int


def our_threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name.startswith("stepgraph")]


@pytest.fixture(autouse=True)
def nothing_left() -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
        for _ in range(100):
            if not our_threads():
                break
            time.sleep(0.05)
        gc.collect()
    assert our_threads() == []
    assert [str(w.message) for w in caught if issubclass(w.category, (RuntimeWarning, ResourceWarning))] == []


def fan(node: Any, count: int = 6, after: Any = None) -> StateGraph[Any]:
    builder = (
        StateGraph(State).add_node("n", node).add_node("after", after or (lambda state: {"log": ["after"]}))
    )
    builder.add_conditional_edges(START, lambda state: [Send("n", {"who": i}) for i in range(count)], ["n"])
    builder.add_edge("n", "after")
    return builder


def slow(state: State) -> State:
    time.sleep(0.01)
    return {"log": [state["who"]]}


def failing(state: State) -> State:
    if state["who"] == 2:
        raise ValueError("node 2")
    time.sleep(0.01)
    return {"log": [state["who"]]}


def test_after_a_run() -> None:
    assert fan(slow).compile().invoke({"log": []})["log"] == [0, 1, 2, 3, 4, 5, "after"]


def test_after_a_failing_node() -> None:
    with pytest.raises(ValueError, match="node 2"):
        fan(failing).compile().invoke({"log": []})


def test_after_a_failing_reducer() -> None:
    def refuse(old: list[Any], added: list[Any]) -> list[Any]:
        if added == [3]:
            raise TypeError("reducer")
        return old + added

    class Refusing(TypedDict, total=False):
        log: Annotated[list[Any], refuse]
        who: int

    builder = StateGraph(Refusing).add_node("n", lambda state: {"log": [state["who"]]})
    builder.add_conditional_edges(START, lambda state: [Send("n", {"who": i}) for i in range(6)], ["n"])
    graph = builder.compile(checkpointer=InMemorySaver())
    with pytest.raises(TypeError, match="reducer") as caught:
        graph.invoke({"log": []}, thread())
    assert any("field 'log'" in note for note in caught.value.__notes__)
    assert graph.get_state(thread()).values == {"log": []}


def test_after_a_failing_branch() -> None:
    def path(state: State) -> str:
        raise KeyError("path")

    builder = StateGraph(State).add_node("n", lambda state: {"log": ["n"]}).add_edge(START, "n")
    builder.add_conditional_edges("n", path)
    with pytest.raises(KeyError, match="path"):
        builder.compile().invoke({"log": []})


def test_after_a_failing_saver() -> None:
    class Broken(InMemorySaver):
        def put(self, *given: Any, **named: Any) -> Any:
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        fan(slow).compile(checkpointer=Broken()).invoke({"log": []}, thread())


@pytest.mark.parametrize("mode", ["values", "updates", "custom", "debug"])
def test_after_a_stream_that_was_left(mode: str) -> None:
    for number, _ in enumerate(fan(slow).compile().stream({"log": []}, stream_mode=[mode, "tasks"])):
        if number == 2:
            break


def test_after_the_callers_loop_body_failed() -> None:
    def read() -> None:
        for _ in fan(slow).compile().stream({"log": []}, stream_mode="tasks"):
            raise LookupError("body")

    with pytest.raises(LookupError, match="body"):
        read()


def test_what_was_finished_before_a_stream_was_left_is_kept() -> None:
    ran: list[str] = []

    def note(name: str) -> Any:
        return lambda state: (ran.append(name), {"log": [name]})[1]

    builder = StateGraph(State).add_node("a", note("a")).add_node("b", note("b"))
    graph = builder.add_edge(START, "a").add_edge("a", "b").compile(checkpointer=InMemorySaver())
    for _ in graph.stream({"log": []}, thread(), stream_mode="updates"):
        break
    assert graph.invoke(None, thread()) == {"log": ["a", "b"]}
    assert ran == ["a", "b"]


def test_after_ctrl_c_in_a_node() -> None:
    def interrupted(state: State) -> State:
        if state["who"] == 0:
            raise KeyboardInterrupt
        return slow(state)

    with pytest.raises(KeyboardInterrupt):
        fan(interrupted).compile(checkpointer=InMemorySaver()).invoke({"log": []}, thread())


def test_after_async_nodes_under_invoke() -> None:
    async def node(state: State) -> State:
        await asyncio.sleep(0.001)
        return {"log": [state["who"]]}

    assert fan(node).compile().invoke({"log": []})["log"] == [0, 1, 2, 3, 4, 5, "after"]


def test_async_nodes_under_invoke_inside_a_running_loop() -> None:
    async def node(state: State) -> State:
        await asyncio.sleep(0.001)
        return {"log": [state["who"]]}

    async def main() -> Any:
        return fan(node).compile().invoke({"log": []})

    assert asyncio.run(main())["log"] == [0, 1, 2, 3, 4, 5, "after"]


def test_after_a_cancelled_run() -> None:
    begun: list[str] = []
    ended: list[str] = []

    async def node(state: State) -> State:
        begun.append("n")
        try:
            await asyncio.sleep(30)
        finally:
            ended.append("n")
        return {}

    async def main() -> None:
        run = asyncio.create_task(fan(node).compile().ainvoke({"log": []}))
        while len(begun) < 6:
            await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert ended == ["n"] * 6
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_after_an_async_stream_that_was_closed() -> None:
    async def node(state: State) -> State:
        await asyncio.sleep(0.001 if state["who"] == 0 else 30)
        return {"log": [state["who"]]}

    async def main() -> None:
        stream = fan(node).compile().astream({"log": []}, stream_mode="updates")
        async for _ in stream:
            break
        await stream.aclose()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_one_graph_serves_a_hundred_threads() -> None:
    child = StateGraph(State).add_node("c", lambda state: {"log": ["c"]}).add_edge(START, "c").compile()
    builder = fan(lambda state: {"log": [state["who"]]}, 3)
    builder.add_node("child", child)
    builder.add_edge("after", "child")
    graph = builder.compile(checkpointer=InMemorySaver())
    wrong: list[Any] = []

    def work(number: int) -> None:
        expected: list[Any] = []
        for turn in range(3):
            out = graph.invoke({"log": [f"{number}-{turn}"]}, thread(str(number)))
            before = [*expected, f"{number}-{turn}", 0, 1, 2, "after"]
            expected = [*before, *before, "c"]
            if out["log"] != expected:
                wrong.append(out)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(100)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


def test_one_graph_serves_a_thousand_asyncio_tasks() -> None:
    async def node(state: State) -> State:
        await asyncio.sleep(0)
        return {"log": [state["who"]]}

    graph = fan(node, 3).compile(checkpointer=InMemorySaver())

    async def main() -> list[Any]:
        runs = [graph.ainvoke({"log": [number]}, thread(str(number))) for number in range(1000)]
        return await asyncio.gather(*runs)

    results = asyncio.run(main())
    assert [out["log"] for out in results] == [[number, 0, 1, 2, "after"] for number in range(1000)]
