"""The machine as data: it is told what became of tasks and answers the next ones; nothing waits here."""

from __future__ import annotations

import operator
from contextvars import copy_context
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.errors import GraphRecursionError, InvalidUpdateError
from stepgraph.graph import END, START, StateGraph
from stepgraph.pregel.call import execute
from stepgraph.pregel.machine import Machine
from stepgraph.pregel.scope import Level, Scope
from stepgraph.types import Command, Interrupt, Overwrite, Send


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    word: str


def wrote(name: str, **more: Any) -> Any:
    return lambda state: {"log": [name], **more}


def machine_of(builder: StateGraph[Any], limit: int = 25, **level: Any) -> Machine:
    """A fresh machine without saver and stream."""
    scope = Scope({}, lambda: "checkpoint")
    scope.limit = limit
    placed = Level("")
    for name, value in level.items():
        setattr(placed, name, value)
    return Machine(builder.compile().plan, scope, placed)


def run_all(tasks: Any) -> None:
    for task in tasks:
        copy_context().run(execute, task)


def names(tasks: Any) -> list[str]:
    return [task.node.name for task in tasks]


def test_the_input_leads_to_the_nodes_after_start() -> None:
    machine = machine_of(StateGraph(State).add_node("a", wrote("a")).add_edge(START, "a"))
    tasks = machine.begin_input({"log": ["in"], "word": "w"})
    assert names(tasks) == ["a"]
    assert tasks[0].input == {"log": ["in"], "word": "w"}


def test_a_commit_answers_the_next_tasks_until_nothing_is_due() -> None:
    builder = StateGraph(State).add_node("a", wrote("a")).add_node("b", wrote("b"))
    machine = machine_of(builder.add_edge(START, "a").add_edge("a", "b"))
    tasks = machine.begin_input({"log": []})
    run_all(tasks)
    tasks = machine.commit(tasks)
    assert names(tasks) == ["b"]
    run_all(tasks)
    assert list(machine.commit(tasks)) == []
    assert machine.status == "done"
    assert machine.output() == {"log": ["a", "b"]}


def test_writes_are_folded_by_path_whoever_finished_first() -> None:
    builder = StateGraph(State).add_node("b", wrote("b")).add_node("a", wrote("a")).add_node("s", wrote("s"))
    builder.add_edge(START, "a").add_edge(START, "b")
    builder.add_conditional_edges(START, lambda state: [Send("s", {}), Send("s", {})])
    machine = machine_of(builder)
    start = machine.begin_input({"log": []})
    run_all(start)
    tasks = machine.commit(start)
    assert names(tasks) == ["a", "b", "s", "s"]
    run_all(reversed(tasks))
    machine.commit(tasks)
    assert machine.state["log"] == ["a", "b", "s", "s"]


def test_tasks_of_a_step_see_the_state_as_of_its_start() -> None:
    seen: dict[str, list[str]] = {}

    def note(name: str) -> Any:
        def node(state: State) -> State:
            seen[name] = list(state["log"])
            return {"log": [name]}

        return node

    builder = StateGraph(State).add_node("a", note("a")).add_node("b", note("b"))
    machine = machine_of(builder.add_edge(START, "a").add_edge(START, "b"))
    tasks = machine.begin_input({"log": ["in"]})
    run_all(tasks)
    machine.commit(tasks)
    assert seen == {"a": ["in"], "b": ["in"]}


def test_a_waiting_edge_fires_once_all_sources_have_run() -> None:
    builder = StateGraph(State)
    for name in ("a", "b", "b2", "c"):
        builder.add_node(name, wrote(name))
    builder.add_edge(START, "a").add_edge(START, "b").add_edge("b", "b2").add_edge(["a", "b2"], "c")
    machine = machine_of(builder)
    steps = []
    tasks = machine.begin_input({"log": []})
    while tasks:
        steps.append(names(tasks))
        run_all(tasks)
        tasks = machine.commit(tasks)
    assert steps == [["a", "b"], ["b2"], ["c"]]


def test_a_deferred_node_runs_when_nothing_else_does() -> None:
    builder = StateGraph(State)
    for name in ("a", "b", "c"):
        builder.add_node(name, wrote(name))
    builder.add_node("last", wrote("last"), defer=True)
    builder.add_edge(START, "a").add_edge("a", "last").add_edge("a", "b").add_edge("b", "c").add_edge(
        "c", "last"
    )
    machine = machine_of(builder)
    steps = []
    tasks = machine.begin_input({"log": []})
    while tasks:
        steps.append(names(tasks))
        run_all(tasks)
        tasks = machine.commit(tasks)
    assert steps == [["a"], ["b"], ["c"], ["last"]]


def test_two_writes_to_a_plain_field_name_the_field_and_the_writers() -> None:
    builder = StateGraph(State).add_node("a", wrote("a", word="1")).add_node("b", wrote("b", word="2"))
    machine = machine_of(builder.add_edge(START, "a").add_edge(START, "b"))
    tasks = machine.begin_input({"log": []})
    run_all(tasks)
    with pytest.raises(
        InvalidUpdateError, match=r"At key 'word': Can receive only one value per step\..*'a', 'b'"
    ):
        machine.commit(tasks)


def test_an_overwrite_wins_over_other_writes_of_a_plain_field() -> None:
    builder = (
        StateGraph(State).add_node("a", wrote("a", word="1")).add_node("b", wrote("b", word=Overwrite("2")))
    )
    machine = machine_of(builder.add_edge(START, "a").add_edge(START, "b"))
    tasks = machine.begin_input({"log": []})
    run_all(tasks)
    machine.commit(tasks)
    assert machine.state["word"] == "2"


def test_the_limit_says_how_to_raise_it() -> None:
    builder = StateGraph(State).add_node("a", wrote("a")).add_edge(START, "a").add_edge("a", "a")
    machine = machine_of(builder, limit=3)
    tasks = machine.begin_input({"log": []})
    with pytest.raises(GraphRecursionError, match=r"Recursion limit of 3 reached.*'a'.*recursion_limit"):
        while tasks:
            run_all(tasks)
            tasks = machine.commit(tasks)
    assert machine.state["log"] == ["a", "a", "a"]


def test_k_supersteps_need_a_limit_of_k_and_one() -> None:
    builder = StateGraph(State).add_node("a", wrote("a")).add_edge(START, "a").add_edge("a", END)
    machine = machine_of(builder, limit=2)
    tasks = machine.begin_input({"log": []})
    run_all(tasks)
    machine.commit(tasks)
    assert machine.status == "done"


def test_a_pause_stops_the_level_and_shows_finished_siblings() -> None:
    builder = StateGraph(State).add_node("a", wrote("a")).add_node("b", wrote("b"))
    machine = machine_of(builder.add_edge(START, "a").add_edge(START, "b"))
    first, second = machine.begin_input({"log": []})
    run_all([first])
    machine.done(first)
    machine.paused(second, (Interrupt("?", "id"),))
    assert list(machine.commit((first, second))) == []
    assert machine.status == "paused"
    assert machine.output() == {"log": ["a"]}
    assert [i.id for i in machine.interrupts()] == ["id"]


def test_a_hand_over_ends_the_level_with_the_commands_of_all_tasks() -> None:
    builder = StateGraph(State).add_node("a", wrote("a")).add_node("b", wrote("b"))
    machine = machine_of(builder.add_edge(START, "a").add_edge(START, "b"))
    first, second = machine.begin_input({"log": []})
    machine.handed_up(second, [Command(update={"log": ["up"]})])
    machine.handed_up(first, [Command(goto="x")])
    machine.commit((first, second))
    assert machine.status == "handed_up"
    assert machine.commands == [Command(goto="x"), Command(update={"log": ["up"]})]


def test_a_breakpoint_before_a_node_stops_without_running_it() -> None:
    builder = StateGraph(State).add_node("a", wrote("a")).add_node("b", wrote("b"))
    machine = machine_of(builder.add_edge(START, "a").add_edge("a", "b"), interrupt_before=["b"])
    tasks = machine.begin_input({"log": []})
    run_all(tasks)
    assert list(machine.commit(tasks)) == []
    assert machine.status == "breakpoint"


def test_every_reader_gets_containers_of_its_own() -> None:
    builder = StateGraph(State).add_node("a", wrote("a")).add_node("b", wrote("b"))
    machine = machine_of(builder.add_edge(START, "a").add_edge(START, "b"))
    given = ["in"]
    first, second = machine.begin_input({"log": given})
    assert first.input["log"] == second.input["log"] == given
    assert len({id(given), id(first.input["log"]), id(second.input["log"]), id(machine.state["log"])}) >= 3
    assert first.input["log"] is not second.input["log"]


def test_a_step_costs_no_look_at_nodes_that_are_not_due() -> None:
    builder = StateGraph(State)
    for number in range(200):
        builder.add_node(f"n{number}", wrote(str(number)))
        builder.add_edge(START if number == 0 else f"n{number - 1}", f"n{number}")
    machine = machine_of(builder, limit=500)
    looked: list[str] = []
    machine.plan.nodes = {}
    tasks = machine.begin_input({"log": []})
    while tasks:
        looked += names(tasks)
        run_all(tasks)
        tasks = machine.commit(tasks)
    assert looked == [f"n{number}" for number in range(200)]
