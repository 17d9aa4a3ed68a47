"""What a task finds around it: config, runtime, writer, context variables, graphs below it."""

from __future__ import annotations

import contextvars
import operator
from typing import Annotated, Any, TypedDict

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.config import get_config, get_stream_writer
from stepgraph.func import task
from stepgraph.graph import START, StateGraph
from stepgraph.runtime import Runtime, get_runtime
from stepgraph.types import Command

from .conftest import Ways


class State(TypedDict, total=False):
    numbers: Annotated[list[int], operator.add]
    number: int


def one_node(node: Any, saver: Any = None) -> Any:
    """A graph of one node."""
    return StateGraph(State).add_node("node", node).add_edge(START, "node").compile(saver)


def test_a_task_has_a_config_runtime_and_writer_of_its_own(ways: Ways) -> None:
    seen: dict[str, Any] = {}

    @ways.task
    def look() -> None:
        config, runtime = get_config(), get_runtime()
        seen["metadata"] = {k: v for k, v in config["metadata"].items() if k.startswith("langgraph")}
        seen["map"] = config["configurable"]["checkpoint_map"]
        seen["info"] = runtime.execution_info
        seen["previous"] = runtime.previous
        get_stream_writer()("from the task")

    def flow(_: int, *, previous: Any) -> Any:
        yield look()

    graph, thread = ways.entrypoint(flow), ways.thread()
    assert ways.stream(graph, 1, thread, stream_mode="custom") == ["from the task"]
    info = seen["info"]
    caller = info.checkpoint_ns.split("|")[0]
    assert info.checkpoint_ns == f"{caller}|look:{info.task_id}"
    assert seen["metadata"] == {
        "langgraph_step": 0,
        "langgraph_node": "look",
        "langgraph_triggers": ("__pregel_push",),
        "langgraph_path": ("__pregel_push", ("__pregel_pull", "flow"), 0, True),
        "langgraph_checkpoint_ns": info.checkpoint_ns,
    }
    assert seen["map"] == {"": info.checkpoint_id, caller: info.checkpoint_id}
    assert seen["previous"] is None


def test_what_the_caller_does_not_pass_is_injected(ways: Ways) -> None:
    @ways.task
    def named(config: Any) -> Any:
        return type(config).__name__

    @ways.task
    def mixed(number: int, runtime: Runtime[Any], *, store: Any = "own", writer: Any = None) -> Any:
        return number, type(runtime).__name__, store, callable(writer)

    def flow(_: int) -> Any:
        return (yield [named(), named("mine"), named(config=5), mixed(1), mixed(2, store="given")])

    assert ways.invoke(ways.entrypoint(flow), 1, ways.thread()) == [
        "dict",
        "str",
        "int",
        (1, "Runtime", None, True),
        (2, "Runtime", "given", True),
    ]


def test_context_variables_reach_a_task_and_do_not_leak_back(ways: Ways) -> None:
    variable = contextvars.ContextVar("variable", default="unset")

    @ways.task
    def change() -> str:
        found = variable.get()
        variable.set("changed")
        return found

    def flow(_: int) -> Any:
        variable.set("set")
        found = yield change()
        return found, variable.get()

    assert ways.invoke(ways.entrypoint(flow), 1, ways.thread()) == ("set", "set")


def test_a_graph_inside_a_task_lives_below_the_call(ways: Ways) -> None:
    child = StateGraph(State).add_node("leaf", lambda _: {"number": 5}).add_edge(START, "leaf").compile()

    @ways.task
    def run_child() -> Any:
        return child.invoke({"number": 1})["number"]

    def flow(_: int) -> Any:
        return (yield run_child())

    graph, thread = ways.entrypoint(flow), ways.thread()
    assert ways.invoke(graph, 1, thread) == 5
    spaces = {found.config["configurable"]["checkpoint_ns"] for found in ways.saver.list(thread)}
    below = next(space for space in spaces if space)
    assert [part.split(":")[0] for part in below.split("|")] == ["flow", "run_child"]


def test_a_graph_inside_a_task_hands_control_to_the_node_that_called(ways: Ways) -> None:
    child = (
        StateGraph(State)
        .add_node("leaf", lambda _: Command(graph=Command.PARENT, update={"number": 7}))
        .add_edge(START, "leaf")
        .compile()
    )

    @ways.task
    def run_child() -> Any:
        return child.invoke({"number": 1})

    def body(_: State) -> Any:
        yield run_child()

    out = ways.invoke(one_node(ways.flow(body), ways.saver), {"number": 0}, ways.thread())
    assert out["number"] == 7


def test_names_and_documentation_stay() -> None:
    @task
    def documented(number: int) -> int:
        """What it does."""
        return number

    assert (documented.__name__, documented.__doc__) == ("documented", "What it does.")
    assert task(documented.func, name="other").__name__ == "other"
    assert repr(documented) == "<task 'documented'>"


def test_nothing_is_left_on_a_node_that_calls_no_task() -> None:
    seen: list[Any] = []

    def node(state: State) -> State:
        from stepgraph.pregel.task import current_task

        seen.append(current_task())
        return {"number": 1}

    one_node(node, InMemorySaver()).invoke({"number": 0}, {"configurable": {"thread_id": "1"}})
    assert seen[0].calls is None
    assert seen[0].swallowed is None
