"""The tree of spans: what is a span, under which, and what it says."""

from __future__ import annotations

import asyncio
import operator
import threading
from concurrent.futures import ProcessPoolExecutor
from typing import Annotated, Any

import pytest

pytest.importorskip("opentelemetry.sdk", reason="OpenTelemetry is not installed")

from opentelemetry import trace
from opentelemetry.trace import StatusCode
from typing_extensions import TypedDict

from pregel.both import Face, each_driver, thread
from stepgraph import END, START, Command, Send, StateGraph, interrupt
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.checkpoint.sqlite import SqliteSaver
from stepgraph.config import get_config
from stepgraph.errors import NodeTimeoutError
from stepgraph.func import entrypoint, task
from stepgraph.observe import instrument
from stepgraph.types import RetryPolicy

PATIENT = RetryPolicy(initial_interval=0.001, jitter=False, max_attempts=3, retry_on=ConnectionError)


class State(TypedDict, total=False):
    log: Annotated[list, operator.add]


def chain(*nodes: Any, name: str = "flow", **options: Any) -> Any:
    """A compiled graph of these functions, one after the other."""
    graph = StateGraph(State).add_sequence(list(nodes))
    first = nodes[0][0] if isinstance(nodes[0], tuple) else nodes[0].__name__
    return graph.add_edge(START, first).compile(name=name, **options)


def one(state):
    return {"log": ["one"]}


async def two(state):
    return {"log": ["two"]}


def ask(state):
    return {"log": [interrupt("sure?")]}


def fail(state):
    raise ValueError("boom")


def traced(spans, graph, driver, **options):
    return Face(instrument(graph, tracer_provider=spans.provider, **options), driver)


@each_driver
def test_a_run_holds_supersteps_and_these_their_tasks(spans, driver):
    traced(spans, chain(one, two), driver).invoke({})
    assert spans.tree() == [
        ("invoke_workflow flow", ("superstep", "task one"), ("superstep", "task two")),
    ]


@each_driver
def test_streaming_is_traced_like_running(spans, driver):
    traced(spans, chain(one, two), driver).stream({})
    assert spans.tree() == [
        ("invoke_workflow flow", ("superstep", "task one"), ("superstep", "task two")),
    ]


@each_driver
def test_what_a_run_says(spans, driver):
    graph = chain(one, checkpointer=InMemorySaver())
    config = {**thread("t"), "run_id": "00000000-0000-0000-0000-00000000000a"}
    face = traced(spans, graph, driver)
    face.invoke({}, config)
    run = dict(spans.one("invoke_workflow flow").attributes)
    assert (
        run.pop("stepgraph.checkpoint_id")
        == face.get_state(thread("t")).config["configurable"]["checkpoint_id"]
    )
    assert run == {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "flow",
        "gen_ai.conversation.id": "t",
        "stepgraph.graph": "flow",
        "stepgraph.namespace": "",
        "stepgraph.thread_id": "t",
        "stepgraph.run_id": "00000000-0000-0000-0000-00000000000a",
        "stepgraph.durability": "async",
        "stepgraph.status": "done",
    }
    step, node = spans.one("superstep"), spans.one("task one")
    assert (step.attributes["stepgraph.step"], step.attributes["stepgraph.tasks"]) == (1, 1)
    assert node.attributes["stepgraph.node"] == "one"
    assert node.attributes["stepgraph.attempt"] == 1
    assert node.attributes["stepgraph.namespace"] == f"one:{node.attributes['stepgraph.task_id']}"


@each_driver
def test_tasks_of_a_fan_out_are_siblings(spans, driver):
    graph = StateGraph(State).add_node("one", one)
    graph.add_conditional_edges(START, lambda state: [Send("one", {}) for _ in range(20)], ["one"])
    traced(spans, graph.compile(name="fan"), driver).invoke({})
    assert spans.tree() == [("invoke_workflow fan", ("superstep", *["task one"] * 20))]


@each_driver
@pytest.mark.parametrize("called", ["as a node", "by a node's code"])
def test_a_graph_inside_hangs_below_its_task(spans, driver, called):
    inner = chain(one, name="inner")

    def call(state):
        return inner.invoke(state)

    async def acall(state):
        return await inner.ainvoke(state)

    action = inner if called == "as a node" else (call if driver == "sync" else acall)
    traced(spans, chain(("sub", action), name="outer"), driver).invoke({})
    below = ("invoke_workflow inner", ("superstep", "task one"))
    assert spans.tree() == [("invoke_workflow outer", ("superstep", ("task sub", below)))]


def test_a_graph_called_on_a_bare_thread_hangs_below_the_task_that_its_config_names(spans):
    inner = chain(one, name="inner")

    def call(state):
        bare = threading.Thread(target=inner.invoke, args=({}, get_config()))
        bare.start()
        bare.join()

    traced(spans, chain(("sub", call), name="outer"), "sync").invoke({})
    below = ("invoke_workflow inner", ("superstep", "task one"))
    assert spans.tree() == [("invoke_workflow outer", ("superstep", ("task sub", below)))]


@each_driver
def test_spans_of_a_nodes_own_code_are_its_children(spans, driver):
    tracer = spans.provider.get_tracer("mine")

    def node(state):
        with tracer.start_as_current_span("mine"):
            return {}

    async def anode(state):
        with tracer.start_as_current_span("mine"):
            return {}

    with tracer.start_as_current_span("request"):
        traced(spans, chain(("sync", node), ("async", anode)), driver).invoke({})
    assert spans.tree() == [
        (
            "request",
            (
                "invoke_workflow flow",
                ("superstep", ("task sync", "mine")),
                ("superstep", ("task async", "mine")),
            ),
        )
    ]


@each_driver
def test_no_span_stays_current_after_a_run_or_between_events(spans, driver):
    graph = instrument(chain(one, two), tracer_provider=spans.provider)
    nobody = trace.get_current_span()
    seen = []

    async def consume():
        async for _ in graph.astream({}):
            seen.append(trace.get_current_span())

    if driver == "sync":
        for _ in graph.stream({}):
            seen.append(trace.get_current_span())
    else:
        asyncio.run(consume())
    assert seen == [nobody, nobody]
    assert trace.get_current_span() is nobody


@each_driver
def test_each_attempt_of_a_node_that_may_be_tried_again_is_a_span(spans, driver):
    attempts = []

    def flaky(state):
        attempts.append(1)
        if len(attempts) < 3:
            raise ConnectionError("busy")

    graph = StateGraph(State).add_node("flaky", flaky, retry_policy=PATIENT).add_edge(START, "flaky")
    traced(spans, graph.compile(name="flow"), driver).invoke({})
    assert spans.tree() == [("invoke_workflow flow", ("superstep", ("task flaky", *["attempt"] * 3)))]
    status = [(a.attributes["stepgraph.attempt"], a.status.status_code) for a in spans.all("attempt")]
    assert status == [(1, StatusCode.ERROR), (2, StatusCode.ERROR), (3, StatusCode.UNSET)]
    node = spans.one("task flaky")
    assert (node.attributes["stepgraph.attempt"], node.status.status_code) == (3, StatusCode.UNSET)


@each_driver
@pytest.mark.parametrize("policy", [None, PATIENT], ids=["once", "retries"])
def test_a_failure_marks_what_it_ends_and_is_told_once(spans, driver, policy):
    graph = StateGraph(State).add_node("fail", fail, retry_policy=policy).add_edge(START, "fail")
    with pytest.raises(ValueError, match="boom"):
        traced(spans, graph.compile(name="flow"), driver).invoke({})
    names = ["invoke_workflow flow", "superstep", "task fail", *(["attempt"] if policy else [])]
    found = spans.all()
    assert [span.name for span in found] == names
    assert {span.status.status_code for span in found} == {StatusCode.ERROR}
    assert {span.attributes["error.type"] for span in found} == {"ValueError"}
    assert found[0].attributes["stepgraph.status"] == "failed"
    told = [(span.name, event.name) for span in found for event in span.events]
    assert told == [(names[-1], "exception")]


@each_driver
def test_an_error_handler_is_a_task_that_says_whose_failure_it_handles(spans, driver):
    graph = StateGraph(State)
    graph.add_node("fail", fail, error_handler=lambda state: {"log": ["handled"]}).add_edge(START, "fail")
    traced(spans, graph.compile(name="flow"), driver).invoke({})
    failed, handler = [span for span in spans.all() if span.name.startswith("task")]
    assert failed.status.status_code is StatusCode.ERROR
    assert handler.attributes["stepgraph.handles_failure_of"] == "fail"
    assert spans.one("invoke_workflow flow").status.status_code is StatusCode.UNSET


@each_driver
def test_an_attempt_that_is_too_late_fails_with_its_limit(spans, driver):
    release = threading.Event()

    def slow(state):
        release.wait(20)

    async def aslow(state):
        await asyncio.sleep(20)

    graph = StateGraph(State).add_node("slow", slow if driver == "sync" else aslow, timeout=0.01)
    with pytest.raises(NodeTimeoutError):
        traced(spans, graph.add_edge(START, "slow").compile(name="flow"), driver).invoke({})
    release.set()
    assert spans.one("task slow").status.status_code is StatusCode.ERROR
    assert spans.one("invoke_workflow flow").attributes["error.type"] == "stepgraph.errors.NodeTimeoutError"


@each_driver
def test_a_resumed_run_is_linked_to_the_one_that_paused(spans, driver):
    graph = chain(ask, checkpointer=InMemorySaver())
    face = traced(spans, graph, driver)
    (asked,) = face.invoke({}, thread())["__interrupt__"]
    paused = spans.one("invoke_workflow flow")
    assert paused.attributes["stepgraph.status"] == "paused"
    assert paused.attributes["stepgraph.interrupt_ids"] == (asked.id,)
    assert spans.one("task ask").attributes["stepgraph.interrupt_ids"] == (asked.id,)
    assert {span.status.status_code for span in spans.all()} == {StatusCode.UNSET}
    spans.clear()
    face.invoke(Command(resume="yes"), thread())
    resumed = spans.one("invoke_workflow flow")
    (link,) = resumed.links
    assert (link.context.trace_id, link.context.span_id) == (paused.context.trace_id, paused.context.span_id)
    assert resumed.context.trace_id != paused.context.trace_id


@each_driver
def test_the_link_survives_another_process_and_an_edit_in_between(spans, driver, tmp_path):
    path = str(tmp_path / "threads.db")
    with SqliteSaver.from_conn_string(path) as saver:
        traced(spans, chain(ask, checkpointer=saver), "sync").invoke({}, thread())
    paused = spans.one("invoke_workflow flow").context.span_id
    with SqliteSaver.from_conn_string(path) as saver:
        chain(ask, checkpointer=saver).update_state(thread(), {"log": ["edited"]}, as_node="__start__")
    spans.clear()
    with SqliteSaver.from_conn_string(path) as saver:
        traced(spans, chain(ask, checkpointer=saver), driver).invoke(None, thread())
    assert [link.context.span_id for link in spans.one("invoke_workflow flow").links] == [paused]


@each_driver
def test_a_replay_is_linked_to_the_run_that_it_repeats(spans, driver):
    face = traced(spans, chain(one, two, checkpointer=InMemorySaver()), driver)
    face.invoke({}, thread())
    first = spans.one("invoke_workflow flow").context.span_id
    before_two = face.get_state_history(thread())[1].config
    spans.clear()
    face.invoke(None, before_two)
    run = spans.one("invoke_workflow flow")
    assert [link.context.span_id for link in run.links] == [first]
    assert run.attributes["stepgraph.resumed_from"] == before_two["configurable"]["checkpoint_id"]


@each_driver
def test_nobody_sees_the_stored_trace(spans, driver):
    saver = InMemorySaver()
    face = traced(spans, chain(ask, checkpointer=saver), driver)
    shown = face.stream({}, thread(), stream_mode=["checkpoints", "debug"])
    assert "traceparent" not in repr(shown)
    assert "traceparent" not in repr(face.get_state(thread()))
    assert "traceparent" not in repr(face.get_state_history(thread()))
    assert "traceparent" not in repr(list(saver.list(thread())))


@each_driver
def test_an_untraced_run_stores_no_trace(spans, driver):
    saver = InMemorySaver()
    Face(chain(ask, checkpointer=saver), driver).invoke({}, thread())
    assert "traceparent" not in repr(saver.get_tuple(thread()))


@each_driver
def test_saves_hang_below_the_superstep_that_they_store(spans, driver):
    traced(spans, chain(one, checkpointer=InMemorySaver()), driver).invoke({}, thread())
    assert spans.tree(saves=True) == [
        ("invoke_workflow flow", "save", "save", ("superstep", "task one", "save")),
    ]
    assert {save.attributes["stepgraph.saver"] for save in spans.all("save")} == {"InMemorySaver"}


@each_driver
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_saves_to_a_file_hang_below_the_run(spans, driver, durability, tmp_path):
    from stepgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    graph = chain(one, two)
    instrument(graph, tracer_provider=spans.provider)
    path = str(tmp_path / "threads.db")

    async def arun():
        async with AsyncSqliteSaver.from_conn_string(path) as saver:
            graph.checkpointer = saver
            await graph.ainvoke({}, thread(), durability=durability)

    if driver == "sync":
        with SqliteSaver.from_conn_string(path) as saver:
            graph.checkpointer = saver
            graph.invoke({}, thread(), durability=durability)
    else:
        asyncio.run(arun())
    run = spans.one("invoke_workflow flow")
    saves = spans.all("save")
    assert saves
    assert {save.parent.span_id for save in saves} == {run.context.span_id}
    assert sum(save.attributes["stepgraph.batch.size"] for save in saves) == (
        1 if durability == "exit" else 4
    )


class Broken(InMemorySaver):
    def put_step(self, config: Any, changes: Any, metadata: Any) -> None:
        raise OSError("disk full")


@each_driver
def test_a_save_that_fails_is_marked(spans, driver):
    with pytest.raises(OSError, match="disk full"):
        traced(spans, chain(one, checkpointer=Broken()), driver).invoke({}, thread())
    assert spans.all("save")[0].status.status_code is StatusCode.ERROR
    assert spans.one("invoke_workflow flow").attributes["error.type"] == "OSError"


@each_driver
def test_calls_of_tasks_hang_below_the_entrypoint(spans, driver):
    @task
    def double(number):
        return 2 * number

    @entrypoint()
    def flow(number):
        return [call.result() for call in [double(number), double(number)]]

    @entrypoint()
    async def aflow(number):
        return await asyncio.gather(double(number), double(number))

    graph = flow if driver == "sync" else aflow
    assert traced(spans, graph, driver).invoke(2) == [4, 4]
    entry = "task flow" if driver == "sync" else "task aflow"
    calls = ["task double", "task double"]
    assert spans.tree() == [("invoke_workflow LangGraph", ("superstep", (entry, *calls)))]


def trace_of_worker(state):
    return {"log": [trace.get_current_span().get_span_context().trace_id]}


@each_driver
def test_a_function_in_another_process_is_inside_the_trace(spans, driver):
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        graph = StateGraph(State).add_node("far", trace_of_worker, executor=executor).add_edge(START, "far")
        (there,) = traced(spans, graph.compile(name="flow"), driver).invoke({})["log"]
    assert there == spans.one("task far").context.trace_id


@each_driver
def test_values_are_shown_only_when_asked_for_and_only_so_much(spans, driver):
    def node(state):
        return {"log": ["x" * 1000]}

    traced(spans, chain(("node", node)), driver).invoke({"log": ["secret"]})
    assert "secret" not in repr([dict(span.attributes) for span in spans.all()])
    spans.clear()
    face = traced(
        spans,
        chain(("node", node), ask, checkpointer=InMemorySaver()),
        driver,
        record_values=True,
        value_limit=40,
    )
    face.invoke({"log": ["secret"]}, thread())
    run, node_span = spans.one("invoke_workflow flow"), spans.one("task node")
    assert run.attributes["stepgraph.input"] == "{'log': ['secret']}"
    assert run.attributes["stepgraph.interrupt_values"] == ("'sure?'",)
    assert node_span.attributes["stepgraph.output"].startswith("{'log': ['xxx")
    assert len(node_span.attributes["stepgraph.output"]) <= 40


def test_a_stream_that_its_consumer_leaves_ends_its_spans_without_error(spans):
    graph = instrument(chain(one, one_more), tracer_provider=spans.provider)
    events = graph.stream({})
    next(events)
    events.close()
    run = spans.one("invoke_workflow flow")
    assert (run.attributes["stepgraph.status"], run.status.status_code) == ("closed", StatusCode.UNSET)


def one_more(state):
    return {}


def test_a_run_that_is_cancelled_ends_its_spans(spans):
    async def main():
        ready = asyncio.Event()

        async def wait(state):
            ready.set()
            await asyncio.sleep(60)

        graph = instrument(chain(("wait", wait)), tracer_provider=spans.provider)
        run = asyncio.create_task(graph.ainvoke({}))
        await asyncio.wait_for(ready.wait(), 20)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(main())
    assert [span.name for span in spans.all()] == ["invoke_workflow flow", "superstep", "task wait"]
    assert spans.all()[0].attributes["stepgraph.status"] == "cancelled"


@each_driver
def test_a_hand_over_to_the_parent_is_no_error(spans, driver):
    def leave(state):
        return Command(goto="two", graph=Command.PARENT)

    graph = StateGraph(State).add_node("sub", chain(("leave", leave), name="inner")).add_node("two", one)
    graph.add_edge(START, "sub").add_edge("two", END)
    traced(spans, graph.compile(name="outer"), driver).invoke({})
    assert spans.one("invoke_workflow inner").attributes["stepgraph.status"] == "handed_up"
    assert {span.status.status_code for span in spans.all()} == {StatusCode.UNSET}
