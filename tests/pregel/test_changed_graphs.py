"""Threads that wait while their graph changes: what goes on silently, what is refused, and what migrations do."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.checkpoint.sqlite import SqliteSaver
from stepgraph.errors import GraphChangedError, NodeError
from stepgraph.func import entrypoint, task
from stepgraph.graph import END, START, StateGraph
from stepgraph.migrations import convert_field, remove_field, rename_field, rename_node
from stepgraph.types import Command, Send, interrupt
from stepgraph.warnings import GraphChangedWarning

from .both import Face, thread
from .plain_saver import PlainSaver


class Overriding(InMemorySaver):
    """A saver of ours whose `put` is another's: it gets the standard protocol."""

    def put(self, *given: Any) -> Any:
        return super().put(*given)


@pytest.fixture(params=["memory", "sqlite", "overriding", "plain"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A saver of each kind that the engine speaks to in another way."""
    if request.param == "sqlite":
        with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as opened:
            yield opened
    else:
        yield {"memory": InMemorySaver, "overriding": Overriding, "plain": PlainSaver}[request.param]()


@pytest.fixture(params=["sync", "async"])
def face(request: pytest.FixtureRequest) -> Callable[[Any], Face]:
    """The graph's methods, of one driver or the other."""
    return lambda graph: Face(graph, request.param)


def state(**fields: Any) -> Any:
    """A state with `done`, which collects, and other fields."""
    return TypedDict("State", {"done": Annotated[list, operator.add], **fields}, total=False)  # type: ignore[operator]


def asking(label: str = "asked") -> Callable[[Any], Any]:
    return lambda held: {"done": [f"{label}:{interrupt('?')}"]}


def line(schema: Any, nodes: dict[str, Any], **options: Any) -> Any:
    """Nodes one after the other."""
    builder = StateGraph(schema)
    names = list(nodes)
    for name, action in nodes.items():
        builder.add_node(name, action)
    for before, after in zip([START, *names], names):
        builder.add_edge(before, after)
    return builder.compile(**options)


def doing(label: str, **more: Any) -> Callable[[Any], Any]:
    return lambda held: {"done": [label], **more}


# ---- silently


def test_an_unchanged_graph_goes_on_and_shows_nothing_of_its_shape(saver: Any, face: Any) -> None:
    nodes = {"a": doing("a", x="v"), "ask": asking()}
    graph = face(line(state(x=str), nodes, checkpointer=saver))
    graph.invoke({"done": []}, thread())
    again = face(line(state(x=str), nodes, checkpointer=saver))
    assert again.invoke(Command(resume="yes"), thread()) == {"done": ["a", "asked:yes"], "x": "v"}
    assert not any("shape" in key for key in again.get_state(thread()).metadata)
    assert list(again.get_state(thread()).values) == ["done", "x"]
    if not isinstance(saver, PlainSaver):
        checkpoints = [found.checkpoint for found in saver.list(thread())]
        held = {name for c in checkpoints for name in (*c["channel_values"], *c["channel_versions"])}
        assert held == {"__start__", "branch:to:a", "branch:to:ask", "done", "x"}


def test_added_nodes_and_fields_other_edges_and_another_reducer_are_no_change_that_matters(
    saver: Any, face: Any
) -> None:
    def join(left: list[str], right: list[str]) -> list[str]:
        return [*left, *right]

    face(line(state(x=str), {"a": doing("a", x="v"), "ask": asking()}, checkpointer=saver)).invoke(
        {"done": []}, thread()
    )
    wider = state(x=str, more=int, done=Annotated[list, join])
    builder = StateGraph(wider).add_node("ask", asking()).add_node("b", doing("b", more=1))
    builder.add_node("a", doing("a")).add_edge(START, "b").add_edge("b", "ask").add_edge("ask", "a")
    graph = face(builder.compile(checkpointer=saver))
    assert graph.get_state(thread()).next == ("ask",)
    assert graph.invoke(Command(resume="yes"), thread()) == {"done": ["a", "asked:yes", "a"], "x": "v"}


@pytest.mark.parametrize("kept", [str | int, object, Any, str | None])
def test_a_field_whose_value_is_of_the_present_class_too_goes_on(saver: Any, kept: Any) -> None:
    line(state(x=str), {"a": doing("a", x="v"), "ask": asking()}, checkpointer=saver).invoke({}, thread())
    graph = line(state(x=kept), {"a": doing("a", x="v"), "ask": asking()}, checkpointer=saver)
    assert graph.invoke(Command(resume="y"), thread())["x"] == "v"


def test_a_thread_that_was_stored_without_a_shape_loads_as_ever(face: Any) -> None:
    saver = PlainSaver()
    nodes = {"a": doing("a", x="v"), "ask": asking()}
    face(line(state(x=str), nodes, checkpointer=saver)).invoke({"done": []}, thread())
    for rows in saver.rows.values():
        for checkpoint, _, _ in rows.values():
            checkpoint["channel_values"].pop("__graph_shape__", None)
            checkpoint["channel_versions"].pop("__graph_shape__", None)
    graph = face(line(state(x=int), nodes, checkpointer=saver))
    assert graph.invoke(Command(resume="yes"), thread()) == {"done": ["a", "asked:yes"], "x": "v"}


# ---- refused


def test_a_gone_node_that_is_due_is_named_and_nothing_is_written(saver: Any, face: Any) -> None:
    face(line(state(), {"a": doing("a"), "review": asking()}, checkpointer=saver)).invoke({}, thread())
    graph = face(line(state(), {"a": doing("a"), "check": asking()}, checkpointer=saver, name="orders"))
    stored = len(graph.get_state_history(thread()))
    with pytest.raises(GraphChangedError, match=r"rename_node\('review', 'check'\)") as refused:
        graph.invoke(Command(resume="yes"), thread())
    error = refused.value
    assert (error.graph, error.namespace, error.thread_id) == ("orders", "", "1")
    assert error.checkpoint_id == graph.get_state(thread()).config["configurable"]["checkpoint_id"]
    assert [(change.kind, change.name) for change in error.changes] == [("node", "review")]
    assert "orders" in str(error)
    assert error.checkpoint_id in str(error)
    assert len(graph.get_state_history(thread())) == stored


def test_looking_shows_what_a_thread_waits_for_although_the_node_is_gone(saver: Any, face: Any) -> None:
    face(line(state(), {"a": doing("a"), "review": asking()}, checkpointer=saver)).invoke({}, thread())
    found = face(line(state(), {"a": doing("a"), "z": doing("z")}, checkpointer=saver)).get_state(thread())
    assert found.next == ("review",)
    assert [question.value for question in found.interrupts] == ["?"]
    assert found.tasks[0].name == "review"


def test_a_gone_node_of_a_send_is_named(saver: Any, face: Any) -> None:
    def spread(held: Any) -> list[Send]:
        return [Send("work", {"n": 1}), Send("other", {"n": 2})]

    def graph(name: str) -> Any:
        builder = StateGraph(state()).add_node("a", doing("a")).add_edge(START, "a")
        builder.add_node(name, asking()).add_node("other", doing("other"))
        builder.add_conditional_edges("a", spread if name == "work" else lambda held: "other")
        return face(builder.compile(checkpointer=saver))

    graph("work").invoke({}, thread())
    changed = graph("labour")
    assert set(changed.get_state(thread()).next) == {"work"}
    with pytest.raises(GraphChangedError, match="'work'"):
        changed.invoke(None, thread())


def test_a_new_input_drops_what_was_due_as_ever(saver: Any, face: Any) -> None:
    face(line(state(), {"a": doing("a"), "review": asking()}, checkpointer=saver)).invoke({}, thread())
    graph = face(line(state(), {"a": doing("a"), "end": doing("end")}, checkpointer=saver))
    assert graph.invoke({"done": ["more"]}, thread())["done"] == ["a", "more", "a", "end"]


def test_update_state_leads_a_thread_past_a_gone_node(saver: Any, face: Any) -> None:
    face(line(state(), {"a": doing("a"), "review": asking()}, checkpointer=saver)).invoke({}, thread())
    graph = face(line(state(), {"a": doing("a"), "end": doing("end")}, checkpointer=saver))
    graph.update_state(thread(), {"done": ["by hand"]}, as_node="a")
    assert graph.get_state(thread()).next == ("end",)
    assert graph.invoke(None, thread())["done"] == ["a", "by hand", "end"]


@pytest.mark.parametrize(
    ("kept", "says"),
    [
        (int, "stored as str and is int now; it holds a str"),
        (Annotated[list, operator.add], "stored as str and is list with a reducer now"),
    ],
)
@pytest.mark.parametrize("given", [Command(resume="y"), {"done": []}, None])
def test_a_field_of_another_kind_is_named(saver: Any, face: Any, kept: Any, says: str, given: Any) -> None:
    nodes = {"a": doing("a", x="v"), "ask": asking()}
    face(line(state(x=str), nodes, checkpointer=saver)).invoke({}, thread())
    graph = face(line(state(x=kept), nodes, checkpointer=saver))
    with pytest.raises(GraphChangedError, match=says) as refused:
        graph.invoke(given, thread())
    assert "convert_field('x', function)" in str(refused.value)
    assert graph.get_state(thread()).next == ("ask",)


def test_a_gone_field_stops_a_run_under_way_and_warns_a_run_that_begins(saver: Any, face: Any) -> None:
    nodes = {"a": doing("a", x="v"), "ask": asking()}
    face(line(state(x=str), nodes, checkpointer=saver)).invoke({}, thread())
    shorter = {"a": doing("a"), "ask": asking()}
    graph = face(line(state(y=str), shorter, checkpointer=saver))
    with pytest.raises(GraphChangedError, match=r"rename_field\('x', 'y'\).*remove_field\('x'\)"):
        graph.invoke(Command(resume="yes"), thread())
    with pytest.warns(GraphChangedWarning, match="Field 'x' holds a value"):
        graph.invoke({"done": []}, thread())


def test_a_waiting_edge_that_is_gone_half_filled_is_named(saver: Any, face: Any) -> None:
    def graph(waits: bool) -> Any:
        builder = StateGraph(state()).add_node("a", doing("a")).add_node("b", asking("b"))
        builder.add_node("c", doing("c")).add_edge(START, "a").add_edge(START, "b")
        if waits:
            builder.add_edge(["a", "b"], "c")
        else:
            builder.add_edge("b", "c")
        return face(builder.compile(checkpointer=saver, interrupt_before=["b"]))

    builder = StateGraph(state()).add_node("a", doing("a")).add_node("m", doing("m"))
    builder.add_node("b", asking("b")).add_node("c", doing("c"))
    builder.add_edge(START, "a").add_edge(START, "m").add_edge("m", "b").add_edge(["a", "b"], "c")
    face(builder.compile(checkpointer=saver)).invoke({}, thread())
    with pytest.raises(GraphChangedError, match="'a' arrived at the waiting edge of 'a', 'b' before 'c'"):
        graph(False).invoke(Command(resume="y"), thread())
    assert graph(True).invoke(Command(resume="y"), thread())["done"] == ["a", "m", "b:y", "c"]


def test_a_node_that_was_a_graph_and_paused_inside_is_named(saver: Any, face: Any) -> None:
    inner = line(state(), {"inside": asking()}, name="inner")
    face(line(state(), {"a": doing("a"), "child": inner}, checkpointer=saver)).invoke({}, thread())
    graph = face(line(state(), {"a": doing("a"), "child": doing("x")}, checkpointer=saver))
    with pytest.raises(GraphChangedError, match="'child' was the graph 'inner' and paused inside it"):
        graph.invoke(Command(resume="y"), thread())


def test_a_change_inside_a_nested_graph_is_named_with_its_namespace(saver: Any, face: Any) -> None:
    def graph(name: str, **options: Any) -> Any:
        inner = line(state(), {"first": doing("first"), name: asking()}, name="inner")
        return face(line(state(), {"child": inner}, checkpointer=saver, **options))

    graph("inside").invoke({}, thread())
    changed = graph("within")
    with pytest.raises(GraphChangedError, match=r"rename_node\('inside', 'within', at='child'\)") as refused:
        changed.invoke(Command(resume="y"), thread())
    assert refused.value.graph == "inner"
    assert refused.value.namespace.startswith("child:")
    mended = graph("within", migrations=[rename_node("inside", "within", at="child")])
    assert mended.get_state(thread(), subgraphs=True).tasks[0].state.next == ("within",)
    assert mended.invoke(Command(resume="y"), thread())["done"] == ["first", "asked:y"]


# ---- migrated


def test_a_renamed_node_goes_on_where_it_asked_and_its_siblings_are_not_repeated(
    saver: Any, face: Any
) -> None:
    ran: list[str] = []

    def sibling(held: Any) -> Any:
        ran.append("sibling")
        return {"done": ["sibling"]}

    def graph(asks: str, beside: str, **options: Any) -> Any:
        builder = StateGraph(state()).add_node("a", doing("a")).add_edge(START, "a")
        builder.add_node(asks, asking()).add_node(beside, sibling).add_node("last", doing("last"))
        builder.add_edge("a", asks).add_edge("a", beside).add_edge([beside, asks], "last")
        return face(builder.compile(checkpointer=saver, **options))

    paused = graph("ask", "beside").invoke({}, thread())
    [question] = paused["__interrupt__"]
    renames = [rename_node("ask", "question"), rename_node("beside", "aside")]
    changed = graph("question", "aside", migrations=renames)
    seen = changed.get_state(thread())
    assert seen.next == ("question",)
    assert seen.interrupts == (question,)
    assert changed.invoke(Command(resume={question.id: "y"}), thread())["done"] == [
        "a",
        "asked:y",
        "sibling",
        "last",
    ]
    assert ran == ["sibling"]


def test_a_renamed_field_keeps_its_value_in_state_history_and_updates(saver: Any, face: Any) -> None:
    nodes = {"a": doing("a", x="v"), "ask": asking()}
    face(line(state(x=str), nodes, checkpointer=saver)).invoke({"done": []}, thread())
    options: dict[str, Any] = {"checkpointer": saver, "migrations": [rename_field("x", "y")]}
    graph = face(line(state(y=str), {"a": doing("a"), "ask": asking()}, **options))
    assert graph.get_state(thread()).values == {"done": ["a"], "y": "v"}
    assert [found.values.get("y") for found in graph.get_state_history(thread())] == ["v", None, None]
    graph.update_state(thread(), {"done": ["u"]}, as_node="a")
    assert graph.get_state(thread()).values == {"done": ["a", "u"], "y": "v"}
    assert graph.invoke(None, thread())["y"] == "v"
    later = face(line(state(y=str), {"a": doing("a"), "ask": asking()}, checkpointer=saver))
    assert later.invoke(Command(resume="z"), thread()) == {"done": ["a", "u", "asked:z"], "y": "v"}


def test_a_converted_field_is_converted_once(saver: Any, face: Any) -> None:
    nodes = {"a": doing("a", x="one two"), "ask": asking(), "again": asking("again")}
    face(line(state(x=str), nodes, checkpointer=saver)).invoke({}, thread())
    schema = state(x=Annotated[list, operator.add])
    changed = {"a": doing("a"), "ask": lambda held: {**asking()(held), "x": ["three"]}, "again": asking("b")}

    def graph() -> Any:
        migrations = [convert_field("x", str.split)]
        return face(line(schema, changed, checkpointer=saver, migrations=migrations))

    assert graph().get_state(thread()).values["x"] == ["one", "two"]
    assert graph().invoke(Command(resume=1), thread())["x"] == ["one", "two", "three"]
    assert graph().invoke(Command(resume=2), thread())["x"] == ["one", "two", "three"]
    assert graph().get_state(thread()).values["done"] == ["a", "asked:1", "b:2"]


def test_a_fork_of_an_old_checkpoint_is_migrated_from_there(saver: Any, face: Any) -> None:
    nodes = {"a": doing("a", x="1 2"), "b": doing("b"), "c": doing("c")}
    face(line(state(x=str), nodes, checkpointer=saver)).invoke({"done": []}, thread())
    graph = face(line(state(x=list), nodes, checkpointer=saver, migrations=[convert_field("x", str.split)]))
    assert graph.get_state(thread()).values["x"] == ["1", "2"]
    before_c = next(found for found in graph.get_state_history(thread()) if found.next == ("c",))
    again = graph.invoke(None, before_c.config)
    assert again == {"done": ["a", "b", "c"], "x": ["1", "2"]}
    assert graph.get_state(thread()).values["x"] == ["1", "2"]


def test_writes_of_a_finished_sibling_are_renamed_and_converted(saver: Any, face: Any) -> None:
    def graph(schema: Any, field: str, **options: Any) -> Any:
        builder = StateGraph(schema).add_node("writes", doing("w", **{field: "a b"}))
        builder.add_node("ask", asking()).add_edge(START, "writes").add_edge(START, "ask")
        return face(builder.compile(checkpointer=saver, **options))

    graph(state(x=str), "x").invoke({}, thread())
    migrations = [rename_field("x", "y"), convert_field("y", str.split)]
    changed = graph(state(y=list), "y", migrations=migrations)
    assert changed.get_state(thread()).values["y"] == ["a", "b"]
    assert changed.invoke(Command(resume=1), thread())["y"] == ["a", "b"]


def test_sends_go_to_the_renamed_node_with_renamed_fields_and_keep_what_is_finished(
    saver: Any, face: Any
) -> None:
    ran: list[int] = []

    def work(held: Any) -> Any:
        n = held.get("n", held.get("number"))
        ran.append(n)
        return {"done": [f"{n}:{interrupt(n)}" if n == 2 else str(n)]}

    def graph(node: str, field: str, **options: Any) -> Any:
        builder = StateGraph(state(**{field: int})).add_node("a", doing("a")).add_edge(START, "a")
        builder.add_node(node, work)
        builder.add_conditional_edges("a", lambda held: [Send(node, {field: n}) for n in (1, 2)])
        return face(builder.compile(checkpointer=saver, **options))

    graph("work", "n").invoke({}, thread())
    changed = graph(
        "labour", "number", migrations=[rename_node("work", "labour"), rename_field("n", "number")]
    )
    assert changed.get_state(thread()).next == ("labour",)
    assert changed.invoke(Command(resume="ok"), thread())["done"] == ["a", "1", "2:ok"]
    assert ran == [1, 2, 2]


def test_a_removed_field_is_dropped(saver: Any, face: Any) -> None:
    nodes = {"a": doing("a", x="v"), "ask": asking()}
    face(line(state(x=str), nodes, checkpointer=saver)).invoke({}, thread())
    graph = face(
        line(state(), {"a": doing("a"), "ask": asking()}, checkpointer=saver, migrations=[remove_field("x")])
    )
    assert graph.invoke(Command(resume=1), thread()) == {"done": ["a", "asked:1"]}
    back = face(line(state(x=str), nodes, checkpointer=saver))
    assert "x" not in back.get_state(thread()).values


def test_a_renamed_node_that_is_a_graph_goes_on_inside_it(saver: Any, face: Any) -> None:
    ran: list[str] = []

    def first(held: Any) -> Any:
        ran.append("first")
        return {"done": ["first"], "note": "n"}

    def graph(child: str, inside: str, note: str, **options: Any) -> Any:
        inner_state = state(**{note: str})
        nodes = {
            "first": first if note == "note" else doing("changed"),
            inside: asking(),
            "end": doing("end"),
        }
        inner = line(inner_state, nodes)
        return face(line(state(), {child: inner}, checkpointer=saver, **options))

    graph("child", "inside", "note").invoke({}, thread())
    changed = graph(
        "kid",
        "within",
        "remark",
        migrations=[
            rename_node("child", "kid"),
            rename_node("inside", "within", at="kid"),
            rename_field("note", "remark", at="kid"),
        ],
    )
    [task] = changed.get_state(thread(), subgraphs=True).tasks
    assert task.name == "kid"
    assert task.state.next == ("within",)
    assert task.state.values == {"done": ["first"], "remark": "n"}
    assert changed.get_state(task.state.config).next == ("within",)
    assert changed.invoke(Command(resume="y"), thread())["done"] == ["first", "asked:y", "end"]
    assert ran == ["first"]


def test_a_graph_that_keeps_its_state_is_found_below_the_renamed_node(saver: Any, face: Any) -> None:
    def count(held: Any) -> Any:
        return {"n": 1, "seen": held.get("n", 0) + 1}

    def graph(child: str, **options: Any) -> Any:
        inner = state(n=Annotated[int, operator.add], seen=int)
        counting = line(inner, {"count": count}, checkpointer=True)
        return face(line(state(seen=int), {child: counting}, checkpointer=saver, **options))

    assert graph("child").invoke({"done": []}, thread())["seen"] == 1
    assert graph("child").invoke({"done": []}, thread())["seen"] == 2
    changed = graph("kid", migrations=[rename_node("child", "kid")])
    assert changed.invoke({"done": []}, thread())["seen"] == 3
    assert graph("kid").invoke({"done": []}, thread())["seen"] == 4


def test_a_function_that_fails_on_a_stored_value_is_named_with_its_cause(saver: Any, face: Any) -> None:
    nodes = {"a": doing("a", x="v"), "ask": asking()}
    face(line(state(x=str), nodes, checkpointer=saver)).invoke({}, thread())
    graph = face(line(state(x=int), nodes, checkpointer=saver, migrations=[convert_field("x", int)]))
    with pytest.raises(GraphChangedError, match=r"convert_field\('x', ...\).*raised ValueError") as refused:
        graph.invoke(Command(resume=1), thread())
    assert isinstance(refused.value.__cause__, ValueError)


def test_migrations_that_were_chained_lead_to_the_last_name(saver: Any, face: Any) -> None:
    face(line(state(x=str), {"a": doing("a", x="v"), "n1": asking()}, checkpointer=saver)).invoke(
        {}, thread()
    )
    migrations = [
        rename_node("n1", "n2"),
        rename_field("x", "y"),
        rename_node("n2", "n3"),
        rename_field("y", "z"),
    ]
    graph = face(
        line(state(z=str), {"a": doing("a"), "n3": asking()}, checkpointer=saver, migrations=migrations)
    )
    assert graph.invoke(Command(resume=1), thread()) == {"done": ["a", "asked:1"], "z": "v"}


def test_a_graph_that_a_renamed_function_calls_goes_on_inside(saver: Any, face: Any) -> None:
    def graph(calls: str, inside: str, **options: Any) -> Any:
        inner = line(state(), {inside: asking("inside")})

        def call(held: Any) -> Any:
            return {"done": inner.invoke({"done": []})["done"]}

        return face(line(state(), {calls: call}, checkpointer=saver, **options))

    graph("call", "first").invoke({}, thread())
    migrations = [rename_node("call", "phone"), rename_node("first", "second", at="phone")]
    changed = graph("phone", "second", migrations=migrations)
    assert changed.get_state(thread(), subgraphs=True).tasks[0].state.next == ("second",)
    assert changed.invoke(Command(resume="y"), thread())["done"] == ["inside:y"]


def test_an_error_handler_of_a_renamed_node_goes_on_where_it_asked(saver: Any, face: Any) -> None:
    ran: list[str] = []

    def fails(held: Any) -> Any:
        ran.append("fails")
        raise ValueError("no")

    def handles(held: Any, error: NodeError) -> Any:
        return {"done": [f"handled:{interrupt('?')}"]}

    def graph(name: str, **options: Any) -> Any:
        builder = StateGraph(state()).add_node(name, fails, error_handler=handles).add_edge(START, name)
        return face(builder.compile(checkpointer=saver, **options))

    graph("work").invoke({}, thread())
    changed = graph("labour", migrations=[rename_node("work", "labour")])
    assert changed.invoke(Command(resume="y"), thread())["done"] == ["handled:y"]
    assert ran == ["fails"]


def test_a_run_that_stores_at_its_end_stores_what_was_migrated(saver: Any, face: Any) -> None:
    nodes = {"a": doing("a", x="v"), "ask": asking()}
    face(line(state(x=str), nodes, checkpointer=saver)).invoke({}, thread(), durability="exit")
    migrations = [rename_node("ask", "question"), rename_field("x", "y")]
    changed = {"a": doing("a"), "question": asking(), "end": doing("end")}
    graph = face(line(state(y=str), changed, checkpointer=saver, migrations=migrations))
    ended = {"done": ["a", "asked:r", "end"], "y": "v"}
    assert graph.invoke(Command(resume="r"), thread(), durability="exit") == ended
    assert face(line(state(y=str), changed, checkpointer=saver)).get_state(thread()).values == ended


def test_a_workflow_that_has_another_name_does_not_repeat_its_tasks(saver: Any, face: Any) -> None:
    ran: list[int] = []

    @task
    def count(number: int) -> int:
        ran.append(number)
        return number

    def workflow(name: str) -> Any:
        def flow(number: int) -> Any:
            return [count(number).result(), interrupt("?")]

        flow.__name__ = name
        return face(entrypoint(checkpointer=saver)(flow))

    workflow("before").invoke(1, thread())
    with pytest.raises(GraphChangedError, match=r"Node 'before' is due next.*be called 'before' again"):
        workflow("after").invoke(Command(resume="y"), thread())
    assert workflow("before").invoke(Command(resume="y"), thread()) == [1, "y"]
    assert ran == [1]


# ---- declaring


def test_a_migration_that_leads_to_nothing_is_refused_when_the_graph_is_compiled() -> None:
    nodes = {"a": doing("a")}
    with pytest.raises(ValueError, match="node 'c', which graph 'LangGraph' does not have"):
        line(state(), nodes, migrations=[rename_node("b", "c")])
    with pytest.raises(ValueError, match="field 'c', which graph"):
        line(state(), nodes, migrations=[rename_field("b", "c")])
    with pytest.raises(ValueError, match="no node 'deep' on that path"):
        line(state(), nodes, migrations=[rename_node("b", "a", at="deep")])
    with pytest.raises(TypeError, match="was given 'rename'"):
        line(state(), nodes, migrations=["rename"])
    with pytest.raises(TypeError, match="needs a function"):
        convert_field("x", "no function")  # type: ignore[arg-type]


def test_a_graph_without_threads_takes_migrations_and_ends() -> None:
    graph = line(state(), {"a": doing("a")}, migrations=[rename_node("b", "a")])
    assert graph.invoke({"done": []})["done"] == ["a"]
    assert END not in graph.nodes
