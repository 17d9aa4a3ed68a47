"""What happens when a node has failed for good: its error handler goes on, also in another process."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.errors import NodeCancelledError, NodeError, NodeTimeoutError
from stepgraph.graph import START, StateGraph
from stepgraph.runtime import Runtime
from stepgraph.types import Command, RetryPolicy, Send, interrupt

from .conftest import Runner, await_until, chain, thread, wait_until


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


class Narrow(TypedDict, total=False):
    name: str


class Wide(Narrow, total=False):
    log: Annotated[list[Any], operator.add]


def fails(state: State) -> State:
    raise ValueError("no")


def handles(state: State, error: NodeError) -> State:
    return {"log": [f"{error.node}: {error.error!r}"]}


def after(state: State) -> State:
    return {"log": ["after"]}


def test_the_handler_gets_the_failure_after_the_last_attempt(runner: Runner) -> None:
    runs = []

    def down(state: State) -> State:
        runs.append(1)
        raise ConnectionError("down")

    graph = chain(
        State, runner.node(down), error_handler=runner.node(handles), retry_policy=RetryPolicy(max_attempts=3)
    ).compile()
    assert runner.invoke(graph, {"log": ["in"]}) == {"log": ["in", "down: ConnectionError('down')"]}
    assert len(runs) == 3


def test_edges_of_a_failed_node_do_not_fire(runner: Runner) -> None:
    graph = chain(State, runner.node(fails), runner.node(after), error_handler=handles).compile()
    assert runner.invoke(graph, {"log": []}) == {"log": ["fails: ValueError('no')"]}


def test_the_handler_says_where_to_go_on(runner: Runner) -> None:
    def redirects(state: State, error: NodeError) -> Command[Any]:
        return Command(update={"log": ["redirect"]}, goto=[Send("after", {}), "after"])

    graph = chain(
        State, runner.node(fails), runner.node(after), error_handler=runner.node(redirects)
    ).compile()
    assert runner.invoke(graph, {"log": []}) == {"log": ["redirect", "after", "after"]}


def by_type(state: State, failure: NodeError) -> State:
    return {"log": [failure.node]}


def by_name(state, error):  # type: ignore[no-untyped-def]
    return {"log": [error.node]}


def only_the_error(error: NodeError) -> State:
    return {"log": [error.node]}


def only_the_state(state: State) -> State:
    return {"log": ["fails"]}


def with_runtime(state: State, runtime: Runtime, *, error: NodeError) -> State:
    assert runtime.execution_info is not None
    assert runtime.execution_info.node_attempt == 1
    return {"log": [error.node]}


@pytest.mark.parametrize("handler", [by_type, by_name, only_the_error, only_the_state, with_runtime])
def test_a_handler_asks_for_what_it_wants(runner: Runner, handler: Any) -> None:
    graph = chain(State, runner.node(fails), error_handler=runner.node(handler)).compile()
    assert runner.invoke(graph, {"log": []}) == {"log": ["fails"]}


@pytest.mark.parametrize("handler", ["after", 5, object()])
def test_what_cannot_be_called_is_refused_when_it_is_declared(handler: Any) -> None:
    with pytest.raises(TypeError, match="error_handler of node 'fails' must be a function"):
        StateGraph(State).add_node(fails, error_handler=handler)


def test_the_handler_reads_by_its_own_annotation_else_as_its_node(runner: Runner) -> None:
    seen: dict[str, Any] = {}

    def reads_a_part(state: Narrow) -> Wide:
        raise ValueError

    def as_the_node(state, error):  # type: ignore[no-untyped-def]
        seen["as the node"] = state

    def as_it_says(state: Wide, error: NodeError) -> None:
        seen["as it says"] = state

    builder = StateGraph(Wide)
    builder.add_node("a", runner.node(reads_a_part), error_handler=runner.node(as_the_node))
    builder.add_node("b", runner.node(reads_a_part), error_handler=runner.node(as_it_says))
    builder.add_edge(START, "a").add_edge(START, "b")
    runner.invoke(builder.compile(), {"name": "n", "log": [1]})
    assert seen == {"as the node": {"name": "n"}, "as it says": {"name": "n", "log": [1]}}


def test_the_handler_does_not_see_what_the_node_did_to_its_input(runner: Runner) -> None:
    def spoils(state: State) -> State:
        state["log"].append("spoilt")
        raise ValueError

    def looks(state: State, error: NodeError) -> State:
        return {"log": [list(state["log"])]}

    graph = chain(State, runner.node(spoils), error_handler=runner.node(looks)).compile()
    assert runner.invoke(graph, {"log": ["in"]}) == {"log": ["in", ["in"]]}


def test_each_failed_send_has_a_handler_of_its_own_in_its_place(runner: Runner) -> None:
    def odd(state: dict[str, int]) -> State:
        if state["number"] % 2:
            raise ValueError(state["number"])
        return {"log": [state["number"]]}

    def explains(state: dict[str, int], error: NodeError) -> State:
        return {"log": [f"{state['number']} is odd"]}

    builder = StateGraph(State).add_node("odd", runner.node(odd), error_handler=runner.node(explains))
    builder.add_conditional_edges(
        START, lambda state: [Send("odd", {"number": n}) for n in range(4)], ["odd"]
    )
    graph = builder.compile(InMemorySaver())
    assert runner.invoke(graph, {"log": []}, thread()) == {"log": [0, "1 is odd", 2, "3 is odd"]}


def test_siblings_are_not_disturbed(runner: Runner) -> None:
    builder = chain(State, runner.node(fails), error_handler=runner.node(handles))
    builder.add_node("sibling", runner.node(after)).add_edge(START, "sibling")
    for mode in ("values", "updates"):
        runner.stream(builder.compile(), {"log": []}, stream_mode=mode)
    assert runner.invoke(builder.compile(), {"log": []}) == {"log": ["fails: ValueError('no')", "after"]}


def test_a_waiting_edge_from_a_failed_node_stays_half_filled(runner: Runner) -> None:
    builder = chain(State, runner.node(fails), error_handler=runner.node(handles))
    builder.add_node("sibling", runner.node(after)).add_edge(START, "sibling")
    builder.add_node("both", after).add_edge(["fails", "sibling"], "both")
    with pytest.warns(UserWarning, match="half filled"):
        assert runner.invoke(builder.compile(), {"log": []}) == {"log": ["fails: ValueError('no')", "after"]}


def test_events_show_the_failure_and_the_handler(runner: Runner) -> None:
    graph = chain(State, runner.node(fails), error_handler=runner.node(handles)).compile()
    parts = runner.stream(graph, {"log": []}, stream_mode=["tasks", "updates"])
    shown = [(mode, part.get("name"), part.get("error")) for mode, part in parts]
    error = shown[1][2]
    assert isinstance(error, ValueError)
    assert shown == [
        ("tasks", "fails", None),
        ("tasks", "fails", error),
        ("updates", None, None),
        ("tasks", "__error_handler__fails", None),
    ]
    assert parts[2] == ("updates", {"__error_handler__fails": {"log": ["fails: ValueError('no')"]}})


def test_a_handler_that_fails_fails_the_run_and_is_asked_again(runner: Runner) -> None:
    runs: list[str] = []

    def once(state: State) -> State:
        runs.append("node")
        raise ValueError("no")

    def unsure(state: State, error: NodeError) -> State:
        runs.append("handler")
        if runs.count("handler") == 1:
            raise RuntimeError("unsure")
        return {"log": [repr(error.error)]}

    graph = chain(State, runner.node(once), error_handler=runner.node(unsure)).compile(InMemorySaver())
    with pytest.raises(RuntimeError, match="unsure") as raised:
        runner.invoke(graph, {"log": []}, thread())
    assert isinstance(raised.value.__context__, ValueError)
    assert "'__error_handler__once'" in raised.value.__notes__[0]
    state = graph.get_state(thread())
    assert state.next == ("once",)
    assert repr(state.tasks[0].error) == "ValueError('no')"
    assert runner.invoke(graph, None, thread()) == {"log": ["ValueError('no')"]}
    assert runs == ["node", "handler", "handler"]


def test_a_crash_before_the_handler_resumes_with_it_and_the_stored_failure(runner: Runner) -> None:
    runs: list[str] = []

    def once(state: State) -> State:
        runs.append("node")
        raise ValueError("no")

    def crashes(state: State, error: NodeError) -> State:
        raise KeyboardInterrupt

    def judge(error: Exception) -> bool:
        runs.append("judge")
        return False

    saver = InMemorySaver()
    retry = RetryPolicy(retry_on=judge)
    graph = chain(State, once, error_handler=crashes, retry_policy=retry).compile(saver)
    with pytest.raises(KeyboardInterrupt):
        graph.invoke({"log": []}, thread())
    graph = chain(State, once, error_handler=runner.node(handles), retry_policy=retry).compile(saver)
    parts = runner.stream(graph, None, thread(), stream_mode=["tasks", "updates"])
    assert [part.get("name") for mode, part in parts if mode == "tasks"] == [
        "once",
        "__error_handler__once",
        "__error_handler__once",
    ]
    assert graph.get_state(thread()).values == {"log": ["once: ValueError('no')"]}
    assert runs == ["node", "judge"]


def test_a_handler_that_finished_is_not_repeated(runner: Runner) -> None:
    runs: list[str] = []
    broken = [True]
    saver = InMemorySaver()

    def is_stored() -> bool:
        stored = saver.get_tuple(thread())  # type: ignore[arg-type]
        return stored is not None and any(value == ["handled"] for _, _, value in stored.pending_writes or ())

    def notes(state: State, error: NodeError) -> State:
        runs.append("handler")
        return {"log": ["handled"]}

    def sibling(state: State) -> State:
        wait_until(is_stored)
        return fail_once()

    async def async_sibling(state: State) -> State:
        await await_until(is_stored)
        return fail_once()

    def fail_once() -> State:
        if broken:
            raise KeyError("sibling")
        return {"log": ["sibling"]}

    builder = chain(State, runner.node(fails), error_handler=notes)
    builder.add_node("sibling", async_sibling if runner.nodes == "async nodes" else sibling)
    builder.add_edge(START, "sibling")
    graph = builder.compile(saver)
    with pytest.raises(KeyError):
        runner.invoke(graph, {"log": []}, thread())
    state = graph.get_state(thread())
    assert (state.values, state.next) == ({"log": ["handled"]}, ("sibling",))
    broken.clear()
    assert runner.invoke(graph, None, thread()) == {"log": ["handled", "sibling"]}
    assert runs == ["handler"]


def test_a_handler_may_ask_a_person(runner: Runner) -> None:
    runs: list[str] = []

    def once(state: State) -> State:
        runs.append("node")
        raise ValueError("no")

    def asks(state: State, error: NodeError) -> State:
        return {"log": [interrupt(f"{error.node} failed, go on?")]}

    builder = chain(State, runner.node(once), error_handler=runner.node(asks))
    builder.add_node("sibling", runner.node(after)).add_edge(START, "sibling")
    graph = builder.compile(InMemorySaver())
    asked = runner.invoke(graph, {"log": []}, thread())
    assert [i.value for i in asked["__interrupt__"]] == ["once failed, go on?"]
    assert [i.value for i in graph.get_state(thread()).interrupts] == ["once failed, go on?"]
    assert runner.invoke(graph, None, thread())["__interrupt__"] == asked["__interrupt__"]
    assert runner.invoke(graph, Command(resume="yes"), thread()) == {"log": ["yes", "after"]}
    assert runs == ["node"]


def test_a_graph_may_handle_an_error_and_pause_inside(runner: Runner) -> None:
    def asks(state: State) -> State:
        return {"log": [interrupt("inside?")]}

    inner = chain(State, runner.node(after), runner.node(asks)).compile()
    builder = (
        StateGraph(State).add_node("fails", runner.node(fails), error_handler=inner).add_edge(START, "fails")
    )
    graph = builder.compile(InMemorySaver())
    assert runner.invoke(graph, {"log": []}, thread())["__interrupt__"][0].value == "inside?"
    inside = graph.get_state(thread(), subgraphs=True).tasks[0].state
    assert inside.next == ("asks",)
    assert inside.config["configurable"]["checkpoint_ns"].startswith("fails:")
    assert runner.invoke(graph, Command(resume="done"), thread()) == {"log": ["after", "done"]}


def test_a_handler_may_hand_over_to_the_parent(runner: Runner) -> None:
    def leaves(state: State, error: NodeError) -> Command[Any]:
        return Command(graph=Command.PARENT, update={"log": ["left"]}, goto="after")

    inner = chain(State, runner.node(fails), error_handler=runner.node(leaves)).compile()
    builder = StateGraph(State).add_node("inner", inner).add_node("after", after).add_edge(START, "inner")
    assert runner.invoke(builder.compile(), {"log": []}) == {"log": ["left", "after"]}


def test_the_failure_of_a_graph_inside_is_handled_outside(runner: Runner) -> None:
    inner = chain(State, runner.node(after), runner.node(fails)).compile()
    builder = StateGraph(State).add_node("inner", inner, error_handler=handles).add_edge(START, "inner")
    graph = builder.compile(InMemorySaver())
    assert runner.invoke(graph, {"log": []}, thread()) == {"log": ["inner: ValueError('no')"]}


def test_a_time_limit_is_handled() -> None:
    import asyncio

    async def slow(state: State) -> State:
        await asyncio.sleep(60)
        return {"log": ["slow"]}

    def notes(state: State, error: NodeError) -> State:
        return {"log": [type(error.error)]}

    graph = chain(State, slow, error_handler=notes, timeout=0.02).compile()
    assert graph.invoke({"log": []}) == {"log": [NodeTimeoutError]}
    assert asyncio.run(graph.ainvoke({"log": []})) == {"log": [NodeTimeoutError]}


def test_a_node_that_cancels_itself_is_handled(runner: Runner) -> None:
    import asyncio

    def cancels(state: State) -> State:
        raise asyncio.CancelledError

    def notes(state: State, error: NodeError) -> State:
        return {"log": [type(error.error)]}

    graph = chain(State, runner.node(cancels), error_handler=runner.node(notes)).compile()
    assert runner.invoke(graph, {"log": []}) == {"log": [NodeCancelledError]}


def test_what_is_no_failure_reaches_no_handler(runner: Runner) -> None:
    def stops(state: State) -> State:
        raise SystemExit(3)

    graph = chain(State, runner.node(stops), error_handler=runner.node(handles)).compile()
    with pytest.raises(SystemExit):
        runner.invoke(graph, {"log": []})


def test_hidden_nodes_are_named_after_their_nodes() -> None:
    builder = chain(State, fails, after, error_handler=handles)
    builder.set_node_defaults(error_handler=handles)
    graph = builder.compile()
    assert list(graph.nodes) == [
        "__start__",
        "__error_handler__fails",
        "fails",
        "after",
        "__default_error_handler__",
    ]
    assert graph.node_error_handler_map == {
        "fails": "__error_handler__fails",
        "after": "__default_error_handler__",
    }


def test_without_its_handler_a_stored_failure_runs_the_node_again(runner: Runner) -> None:
    def crashes(state: State, error: NodeError) -> State:
        raise KeyboardInterrupt

    saver = InMemorySaver()
    with pytest.raises(KeyboardInterrupt):
        chain(State, fails, error_handler=crashes).compile(saver).invoke({"log": []}, thread())

    def mended(state: State) -> State:
        return {"log": ["mended"]}

    graph = StateGraph(State).add_node("fails", runner.node(mended)).add_edge(START, "fails").compile(saver)
    assert runner.invoke(graph, None, thread()) == {"log": ["mended"]}


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_handled_failure_is_stored_whatever_the_durability(runner: Runner, durability: str) -> None:
    def asks(state: State) -> State:
        return {"log": [interrupt("?")]}

    builder = chain(State, runner.node(fails), error_handler=runner.node(handles))
    builder.add_node("asks", runner.node(asks)).add_edge(START, "asks")
    graph = builder.compile(InMemorySaver())
    runner.invoke(graph, {"log": []}, thread(), durability=durability)
    assert graph.get_state(thread()).values == {"log": ["fails: ValueError('no')"]}
    final = runner.invoke(graph, Command(resume="yes"), thread(), durability=durability)
    assert final == {"log": ["yes", "fails: ValueError('no')"]}
