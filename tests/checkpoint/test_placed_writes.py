"""Writes of tasks: stored without the tasks' ids, which follow from where they ran, and read with them."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.checkpoint.base import BaseCheckpointSaver
from stepgraph.checkpoint.changes import StepChanges
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.checkpoint.placed import FanWrites, Placed, PlacedWrites
from stepgraph.checkpoint.sqlite import SqliteSaver
from stepgraph.config import get_config
from stepgraph.graph import END, START, StateGraph
from stepgraph.types import Command, Overwrite, Send
from stepgraph.values.task_ids import pull_path, push_path, task_id

FIRST, SECOND, THIRD = (f"1f1ed069-861a-6e2e-bffe-ad38f80b907{n}" for n in (1, 2, 3))
SPACE = "outer:1"
CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t", "checkpoint_ns": SPACE}}


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "memory":
        yield InMemorySaver()
        return
    with SqliteSaver.from_conn_string(":memory:") as sqlite:
        yield sqlite


def changed(own: str, parent: str | None, values: dict[str, Any], *placed: Placed) -> StepChanges:
    return StepChanges(
        id=own,
        parent_id=parent,
        ts="",
        values=values,
        versions=dict.fromkeys(values, own),
        seen={},
        updated=sorted(values),
        returned=set(),
        placed=placed,
    )


def put(saver: Any, own: str, parent: str | None, values: dict[str, Any], *placed: Placed) -> None:
    saver.put_step(CONFIG, changed(own, parent, values, *placed), {"source": "loop", "step": 4})


def written(saver: Any, checkpoint_id: str) -> list[Any]:
    where = {"configurable": {**CONFIG["configurable"], "checkpoint_id": checkpoint_id}}
    return list(saver.get_tuple(where).pending_writes)


@pytest.mark.parametrize(
    ("values", "pairs", "wrote"),
    [
        ({"n": 5, "branch:to:b": None}, None, [("n", 5), ("branch:to:b", None)]),
        (
            {"text": "t" * 300, "items": [1, "x" * 300]},
            None,
            [("text", "t" * 300), ("items", [1, "x" * 300])],
        ),
        ({}, None, [("__no_writes__", None)]),
        ({"log": [1, 2]}, [("log", [2]), ("log", [1])], [("log", [2]), ("log", [1])]),
        ({"log": [{"a": 1}]}, [("log", Overwrite([{"a": 1}]))], [("log", Overwrite([{"a": 1}]))]),
    ],
)
def test_they_come_back_with_the_tasks_id(saver: Any, values: Any, pairs: Any, wrote: Any) -> None:
    put(saver, FIRST, None, {"n": 1})
    put(saver, SECOND, FIRST, values, PlacedWrites(4, "a", pairs))
    own = task_id(FIRST, SPACE, 4, "a", pull_path("a"))
    assert written(saver, FIRST) == [(own, *pair) for pair in wrote]
    assert changed(SECOND, FIRST, values, PlacedWrites(4, "a", pairs)).task_writes(SPACE) == [
        (own, pull_path("a"), wrote)
    ]


def test_they_stay_when_the_row_that_holds_them_is_stored_anew(saver: Any) -> None:
    put(saver, FIRST, None, {"n": 1, "text": "t" * 300})
    put(saver, SECOND, FIRST, {"n": 2, "text": "t" * 300 + "more"}, PlacedWrites(4, "a", None))
    before = written(saver, FIRST)
    whole = saver.get_tuple({"configurable": {**CONFIG["configurable"], "checkpoint_id": FIRST}})
    config = {"configurable": dict(CONFIG["configurable"])}
    saver.put(config, whole.checkpoint, whole.metadata, whole.checkpoint["channel_versions"])
    assert written(saver, FIRST) == before


SENDS = [Send("b", {"n": n}) for n in range(3)]
ITEMS = [[{"n": n}, f"item {n}" * 20] for n in range(12)]


def sent(index: int) -> str:
    return task_id(FIRST, SPACE, 4, "b", push_path(index))


def test_sends_come_back_in_order(saver: Any) -> None:
    put(saver, FIRST, None, {"n": 1})
    task = PlacedWrites(4, "a", [("n", 5)], sends=SENDS)
    put(saver, SECOND, FIRST, {"n": 5, "__pregel_tasks": [Send("c", 1), *SENDS]}, task)
    own = task_id(FIRST, SPACE, 4, "a", pull_path("a"))
    assert written(saver, FIRST) == [(own, "n", 5), *[(own, "__pregel_tasks", send) for send in SENDS]]


def test_sends_that_the_checkpoint_does_not_hold_come_back_too(saver: Any) -> None:
    put(saver, FIRST, None, {"n": 1})
    put(saver, SECOND, FIRST, {"n": 5}, PlacedWrites(4, "b", [], 7, SENDS))
    assert written(saver, FIRST) == [(sent(7), "__pregel_tasks", send) for send in SENDS]


@pytest.mark.parametrize("before", [[], ["earlier"]])
@pytest.mark.parametrize("wrote", [ITEMS, [*ITEMS[:-1], []], [*ITEMS[:-1], Overwrite([])], ITEMS[::-1]])
def test_what_many_tasks_wrote_comes_back_task_by_task(saver: Any, before: Any, wrote: Any) -> None:
    put(saver, FIRST, None, {"log": before})
    values = {"log": [*before, *[x for item in ITEMS for x in item]], "total": 66}
    fan = FanWrites(4, "b", 2, [("log", wrote), ("total", list(range(12)))], [("branch:to:c", None)])
    put(saver, SECOND, FIRST, values, PlacedWrites(4, "a", [("total", 0)]), fan)
    expected = [(task_id(FIRST, SPACE, 4, "a", pull_path("a")), "total", 0)]
    for n, value in enumerate(wrote):
        own = sent(2 + n)
        expected += [(own, "log", value), (own, "total", n), (own, "branch:to:c", None)]
    assert written(saver, FIRST) == expected


class Spread(TypedDict):
    log: Annotated[list[Any], operator.add]
    total: Annotated[int, operator.add]


def spread(state: Spread) -> list[Send]:
    return [Send("work", {"n": n}) for n in range(20)] + [Send("other", n) for n in range(2)]


def work(item: dict[str, int]) -> dict[str, Any]:
    return {"log": [[item["n"]]], "total": item["n"]} if item["n"] != 7 else {"total": 7}


def other(item: int) -> Command[Any]:
    return Command(update={"log": [item]}, goto="last")


def test_a_fan_stores_what_the_standard_protocol_stores() -> None:
    runs = []
    for saver in (InMemorySaver(), Standard()):
        graph = StateGraph(Spread)
        graph.add_node(work)
        graph.add_node(other)
        graph.add_node("last", lambda state: {"total": 1})
        graph.add_conditional_edges(START, spread, ["work", "other"])
        compiled = graph.compile(checkpointer=saver)
        compiled.invoke({"log": [], "total": 0}, {"configurable": {"thread_id": "1"}})
        history = list(saver.list({"configurable": {"thread_id": "1"}}))[::-1]
        runs.append([[w[1:] for w in found.pending_writes or ()] for found in history])
        ids = [w[0] for w in history[1].pending_writes or ()]
        first = history[1].checkpoint["id"]
        assert len(set(ids)) == 22
        assert ids[0] == task_id(first, "", 1, "work", push_path(0))
        assert ids[-1] == task_id(first, "", 1, "other", push_path(21))
    assert runs[0] == runs[1]


class State(TypedDict):
    n: int
    log: Annotated[list[str], operator.add]
    items: list[int]


ids: list[str] = []


def first(state: State) -> dict[str, Any]:
    ids.append(get_config()["configurable"]["__pregel_task_id"])
    return {"n": state["n"] + 1, "items": [*state.get("items", []), state["n"]]}


def second(state: State) -> Command[Any]:
    ids.append(get_config()["configurable"]["__pregel_task_id"])
    return Command(update={"log": [f"lap {state['n']}"]}, goto="first" if state["n"] < 4 else END)


def silent(state: State) -> None:
    ids.append(get_config()["configurable"]["__pregel_task_id"])


def laps(saver: BaseCheckpointSaver[Any]) -> Any:
    graph = StateGraph(State)
    graph.add_node(first)
    graph.add_node(silent)
    graph.add_node(second)
    graph.add_edge(START, "first")
    graph.add_edge("first", "silent")
    graph.add_edge("silent", "second")
    return graph.compile(checkpointer=saver)


class Standard(InMemorySaver):
    """An override of the standard protocol, which the engine gives whole checkpoints and every task's writes."""

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        super().put_writes(config, writes, task_id, task_path)


def stored(graph: Any) -> list[Any]:
    """What each checkpoint's tasks wrote, oldest first."""
    history = list(graph.checkpointer.list({"configurable": {"thread_id": "1"}}))
    return [found.pending_writes for found in reversed(history)]


def test_a_run_stores_what_the_standard_protocol_stores() -> None:
    runs = []
    for saver in (InMemorySaver(), Standard()):
        graph = laps(saver)
        ids.clear()
        graph.invoke({"n": 0, "log": []}, {"configurable": {"thread_id": "1"}})
        writes = stored(graph)
        assert [{w[0] for w in step} for step in writes[1:-1]] == [{own} for own in ids]
        runs.append([[w[1:] for w in step] for step in writes])
    assert runs[0] == runs[1]


@pytest.mark.parametrize("durability", ["sync", "async"])
def test_every_checkpoint_of_a_run_shows_its_tasks_results(saver: Any, durability: Any) -> None:
    graph = laps(saver)
    config = {"configurable": {"thread_id": "1"}}
    graph.invoke({"n": 0, "log": []}, config, durability=durability)
    results = [task.result for found in graph.get_state_history(config) for task in found.tasks]
    assert results[::-1][1:4] == [{"n": 1, "items": [0]}, {}, {"log": ["lap 1"]}]
    assert len(results) == 13
