"""What handlers hear of a run: names, nesting, tags, metadata, inputs and outputs."""

from __future__ import annotations

import asyncio
import sys
from functools import partialmethod
from uuid import UUID

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager, CallbackManager
from langchain_core.globals import set_debug
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langchain_core.tools import tool
from langchain_core.tracers.context import collect_runs

from langchain_bridge.recording import AwaitedRecorder, Log, Recorder, chain, model, one, two
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.func import entrypoint, task
from stepgraph.graph import END, START, StateGraph
from stepgraph.types import Command, RetryPolicy, Send, interrupt


def invoke(graph, given, config, driver="sync"):
    if driver == "sync":
        return graph.invoke(given, config)
    return asyncio.run(graph.ainvoke(given, config))


def heard(graph, given=None, driver="sync", **config):
    recorder = Recorder()
    try:
        invoke(
            graph, {"log": ["in"]} if given is None else given, {"callbacks": [recorder], **config}, driver
        )
    except ValueError:
        pass
    return recorder


each_driver = pytest.mark.parametrize("driver", ["sync", "async"])


@each_driver
def test_a_run_and_its_nodes(driver):
    assert heard(chain(one, two), driver=driver).events == [
        ("start", "LangGraph", 0, None, []),
        ("input", 0, {"log": ["in"]}),
        ("start", "one", 1, 0, ["graph:step:1"]),
        ("input", 1, {"log": ["in"]}),
        ("end", 1, {"log": ["one"]}),
        ("start", "two", 2, 0, ["graph:step:2"]),
        ("input", 2, {"log": ["in", "one"]}),
        ("end", 2, {"log": ["two"]}),
        ("end", 0, {"log": ["in", "one", "two"]}),
    ]


def test_metadata_says_where_a_node_stands():
    recorder = heard(
        chain(one, name="Mine"), metadata={"m": 1}, configurable={"thread_id": "7", "secret": "s"}
    )
    assert recorder.metadata["Mine"] == {"m": 1, "thread_id": "7", "ls_integration": "langgraph"}
    place = recorder.metadata["one"]
    assert place.pop("langgraph_checkpoint_ns").startswith("one:")
    assert place == {
        "m": 1,
        "thread_id": "7",
        "ls_integration": "langgraph",
        "langgraph_step": 1,
        "langgraph_node": "one",
        "langgraph_triggers": ("branch:to:one",),
        "langgraph_path": ("__pregel_pull", "one"),
    }


def test_a_nodes_own_metadata_is_its_runs():
    graph = StateGraph(Log).add_node("one", one, metadata={"team": "a"}).add_edge(START, "one").compile()
    recorder = heard(graph)
    assert recorder.metadata["one"]["team"] == "a"
    assert "team" not in recorder.metadata["LangGraph"]


def test_tags_go_down_and_steps_do_not():
    recorder = heard(chain(lambda_node("call", lambda: model().invoke("x"))), tags=["mine"])
    assert recorder.tags() == {
        "LangGraph": ["mine"],
        "call": ["graph:step:1", "mine"],
        "model": ["seq:step:1", "mine"],
    }


def lambda_node(name, action):
    def node(state):
        action()
        return {}

    return name, node


def test_a_run_has_the_name_and_id_that_its_config_says():
    ids = []

    class Ids(BaseCallbackHandler):
        def on_chain_start(self, serialized, inputs, *, run_id, name, **rest):
            ids.append((name, run_id))

    chain(one).invoke({"log": []}, {"callbacks": [Ids()], "run_name": "mine", "run_id": UUID(int=5)})
    assert ids[0] == ("mine", UUID(int=5))
    assert ids[1][0] == "one"
    assert ids[1][1] != UUID(int=5)


def test_with_config_adds_handlers_and_tags():
    first, second = Recorder(), Recorder()
    graph = chain(one).with_config(callbacks=[first], tags=["a"])
    graph.invoke({"log": []}, {"callbacks": [second], "tags": ["b"]})
    assert first.tags()["LangGraph"] == ["a", "b"]
    assert [event[:3] for event in first.events] == [event[:3] for event in second.events]


def test_a_manager_serves_as_well_as_a_list():
    recorder = Recorder()
    manager = CallbackManager([recorder], inheritable_handlers=[recorder])
    chain(one).invoke({"log": []}, {"callbacks": manager})
    assert recorder.tree() == [("LangGraph", None), ("one", "LangGraph")]


@each_driver
def test_coroutine_handlers_hear_the_same(driver):
    awaited = AwaitedRecorder()
    invoke(chain(one, two), {"log": ["in"]}, {"callbacks": [awaited]}, driver)
    assert awaited.heard.events == heard(chain(one, two)).events


def test_coroutine_handlers_run_on_the_runs_loop():
    loops = []

    class Loops(AwaitedRecorder):
        async def on_chain_start(self, *given, **rest):
            loops.append(asyncio.get_running_loop())

    async def run():
        await chain(one, two).ainvoke({"log": []}, {"callbacks": [Loops()]})
        return asyncio.get_running_loop()

    loop = asyncio.run(run())
    assert set(loops) == {loop}


@each_driver
def test_what_a_node_calls_is_inside_it(driver):
    @tool
    def shout(text: str) -> str:
        """Shout."""
        return text + "!"

    def call(state):
        model().invoke("x")
        shout.invoke({"text": "a"})
        return {}

    assert heard(chain(call), driver=driver).tree() == [
        ("LangGraph", None),
        ("call", "LangGraph"),
        ("model", "call"),
        ("shout", "call"),
    ]


def test_an_async_node_passes_its_handlers_on():
    async def call(state):
        await asyncio.gather(model().ainvoke("x"), asyncio.create_task(model().ainvoke("y")))
        return {}

    tree = heard(chain(call), driver="async").tree()
    assert tree[2:] == [("model", "call"), ("model", "call")]


@each_driver
def test_a_nested_graph_is_a_run_inside_the_nodes(driver):
    child = chain(one, name="Child")
    recorder = heard(chain(("sub", child)), driver=driver)
    assert recorder.tree() == [("LangGraph", None), ("sub", "LangGraph"), ("Child", "sub"), ("one", "Child")]
    assert recorder.tags()["Child"] == ["seq:step:1"]
    assert recorder.metadata["Child"]["checkpoint_ns"] == recorder.metadata["sub"]["langgraph_checkpoint_ns"]
    assert recorder.ends() == [
        ("end", 3, {"log": ["one"]}),
        ("end", 2, {"log": ["in", "one"]}),
        ("end", 1, {"log": ["in", "one"]}),
        ("end", 0, {"log": ["in", "in", "one"]}),
    ]


@each_driver
def test_a_graph_that_a_function_calls_is_inside_its_node(driver):
    child = chain(one, name="Child")

    def call(state):
        child.invoke(state)
        return child.invoke(state, {"run_name": "again", "tags": ["more"]})

    recorder = heard(chain(call), driver=driver)
    assert recorder.tree()[2:] == [("Child", "call"), ("one", "Child"), ("again", "call"), ("one", "again")]
    assert recorder.tags()["again"] == ["seq:step:1", "more"]


def test_a_graph_that_a_runnable_calls_is_inside_that():
    child = chain(one, name="Child")

    def call(state):
        return RunnableLambda(child.invoke, name="between").invoke(state)

    tree = heard(chain(call)).tree()
    assert tree[2:] == [("between", "call"), ("Child", "between"), ("one", "Child")]


def test_handlers_given_to_a_nested_call_hear_that_call_only():
    inner = Recorder()
    child = chain(one, name="Child")

    def call(state):
        return child.invoke(state, {"callbacks": [inner]})

    outer = heard(chain(call))
    assert ("Child", "call") in outer.tree()
    assert [name for name, _ in inner.tree()] == ["Child", "one"]


def test_handlers_given_to_a_nested_call_alone():
    inner = Recorder()
    child = chain(one, name="Child")

    def call(state):
        return child.invoke(state, {"callbacks": [inner]})

    chain(call).invoke({"log": []})
    assert inner.tree() == [("Child", None), ("one", "Child")]


@each_driver
def test_a_graph_that_is_a_node_brings_its_own_config(driver):
    own = Recorder()
    child = chain(one, name="Child").with_config(callbacks=[own], tags=["inner"], run_name="mine")
    outer = heard(chain(("sub", child)), driver=driver)
    assert outer.tree()[2:] == [("mine", "sub"), ("one", "mine")]
    assert outer.tags()["one"] == ["graph:step:1", "inner"]
    assert [name for name, _ in own.tree()] == ["mine", "one"]


def test_handlers_of_a_graph_that_is_a_node_alone():
    own = Recorder()
    invoke(chain(("sub", chain(one, name="Child").with_config(callbacks=[own]))), {"log": []}, {})
    assert own.tree() == [("Child", None), ("one", "Child")]


def test_a_nested_graph_in_a_sequence_keeps_the_runs_limit():
    graph = StateGraph(Log).add_node("one", one).add_edge(START, "one")
    graph.add_conditional_edges("one", lambda state: "one" if len(state["log"]) < 40 else END)
    steps = RunnableLambda(lambda state: state) | graph.compile()
    assert len(chain(("steps", steps)).invoke({"log": []})["log"]) == 40
    assert heard(chain(("steps", steps)), {"log": []}).ends()[-1][0] == "end"


def test_a_graph_in_a_sequence_is_inside_it():
    recorder = heard(RunnableLambda(lambda state: state, name="first") | chain(one, name="Graph"))
    assert recorder.tree() == [
        ("RunnableSequence", None),
        ("first", "RunnableSequence"),
        ("Graph", "RunnableSequence"),
        ("one", "Graph"),
    ]


def test_a_path_function_is_a_step_of_its_node():
    def path(state):
        model().invoke("x")
        return "two"

    graph = StateGraph(Log).add_node("one", one).add_node("two", two).add_edge(START, "one")
    recorder = heard(graph.add_conditional_edges("one", path, ["two", END]).compile())
    assert recorder.tree()[1:] == [
        ("one", "LangGraph"),
        ("path", "one"),
        ("model", "path"),
        ("two", "LangGraph"),
    ]
    assert recorder.tags()["path"] == ["seq:step:3"]
    assert ("end", 2, "two") in recorder.events


def test_the_start_is_heard_only_if_it_decides_something():
    graph = StateGraph(Log).add_node("one", one).add_conditional_edges(START, lambda state: "one", ["one"])
    recorder = heard(graph.compile())
    assert recorder.tree() == [
        ("LangGraph", None),
        ("__start__", "LangGraph"),
        ("RunnableCallable", "__start__"),
        ("one", "LangGraph"),
    ]
    assert recorder.tags()["__start__"] == ["graph:step:0", "langsmith:hidden"]


def test_a_runnable_as_a_path_tells_of_itself():
    graph = StateGraph(Log).add_node("one", one).add_edge(START, "one")
    graph.add_conditional_edges("one", RunnableLambda(lambda state: END, name="decide"), [END])
    recorder = heard(graph.compile())
    assert recorder.tree()[2:] == [("decide", "one")]
    assert recorder.tags()["decide"] == ["seq:step:3"]


@each_driver
def test_a_sequence_that_is_a_node_shows_its_steps(driver):
    steps = RunnableLambda(lambda state: state["log"], name="first") | RunnableLambda(
        lambda log: {"log": log}, name="second"
    )
    recorder = heard(chain(("both", steps)), driver=driver)
    assert recorder.tree()[1:] == [("both", "LangGraph"), ("first", "both"), ("second", "both")]
    assert recorder.tags()["second"] == ["seq:step:2"]


@each_driver
def test_a_dict_of_runnables_is_a_node(driver):
    graph = chain(("both", {"log": RunnableLambda(lambda state: ["a"])}))
    assert invoke(graph, {"log": []}, {}, driver) == {"log": ["a"]}
    graph = chain(("both", RunnableParallel(log=lambda state: ["b"])))
    assert invoke(graph, {"log": []}, {}, driver) == {"log": ["b"]}


@each_driver
def test_a_failure_is_an_error_of_every_run_around_it(driver):
    def bad(state):
        raise ValueError("boom")

    recorder = heard(chain(("sub", chain(bad, name="Child"))), driver=driver)
    assert recorder.ends() == [("error", number, "ValueError") for number in (3, 2, 1, 0)]


def test_each_attempt_is_a_run():
    tries = []

    def flaky(state):
        tries.append(1)
        if len(tries) < 3:
            raise ValueError("not yet")
        return {}

    graph = StateGraph(Log).add_node(
        "flaky", flaky, retry_policy=RetryPolicy(initial_interval=0, jitter=False, retry_on=ValueError)
    )
    recorder = heard(graph.add_edge(START, "flaky").compile())
    assert [name for name, _ in recorder.tree()] == ["LangGraph", "flaky", "flaky", "flaky"]
    assert [event[0] for event in recorder.ends()] == ["error", "error", "end", "end"]


@each_driver
def test_a_pause_is_an_error_of_the_node_and_an_end_of_the_run(driver):
    def ask(state):
        return {"log": [interrupt("q")]}

    graph = chain(one, ask, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    first = heard(graph, driver=driver, **thread)
    assert first.ends()[-2:] == [("error", 2, "GraphInterrupt"), ("end", 0, {"log": ["in", "one"]})]
    second = heard(graph, Command(resume="yes"), driver=driver, **thread)
    assert second.events[1] == ("input", 0, Command(resume="yes"))
    assert second.tree() == [("LangGraph", None), ("ask", "LangGraph")]


def test_a_nested_pause_is_an_error_of_the_nested_run():
    def ask(state):
        return {"log": [interrupt("q")]}

    recorder = heard(chain(("sub", chain(ask, name="Child"))))
    assert [event[:2] for event in recorder.ends()] == [("error", 3), ("error", 2), ("error", 1), ("end", 0)]


def test_a_command_for_the_parent_is_an_error_of_the_nested_run():
    def up(state):
        return Command(graph=Command.PARENT, update={"log": ["up"]})

    recorder = heard(chain(("sub", chain(up, name="Child"))))
    assert recorder.ends() == [
        ("error", 3, "ParentCommand"),
        ("error", 2, "ParentCommand"),
        ("error", 1, "ParentCommand"),
        ("end", 0, {"log": ["in", "up"]}),
    ]


def test_a_stream_that_is_closed_early_ends_its_run():
    recorder = Recorder()
    parts = chain(one, two).stream({"log": []}, {"callbacks": [recorder]})
    next(parts)
    parts.close()
    assert recorder.ends() == [("end", 1, {"log": ["one"]}), ("error", 0, "GeneratorExit")]


def test_a_cancelled_run_ends_its_runs():
    recorder = Recorder()

    async def slow(state):
        await asyncio.sleep(30)

    async def run():
        running = asyncio.create_task(chain(slow).ainvoke({"log": []}, {"callbacks": [recorder]}))
        while len(recorder.events) < 4:
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(run())
    assert recorder.ends() == [("error", 1, "CancelledError"), ("error", 0, "CancelledError")]


def test_sends_are_runs_of_their_node():
    graph = StateGraph(Log).add_node("one", one)
    graph.add_conditional_edges(START, lambda state: [Send("one", {"log": [n]}) for n in (1, 2)], ["one"])
    recorder = heard(graph.compile())
    assert [name for name, _ in recorder.tree()].count("one") == 2
    assert recorder.metadata["one"]["langgraph_triggers"] == ("__pregel_push",)


def test_tasks_of_a_workflow_are_inside_what_calls_them():
    @task
    def inner(n):
        return n + 1

    @task
    def outer(n):
        return inner(n).result()

    @entrypoint()
    def workflow(n):
        return outer(n).result()

    recorder = heard(workflow, 1)
    assert recorder.tree() == [
        ("LangGraph", None),
        ("workflow", "LangGraph"),
        ("outer", "workflow"),
        ("inner", "outer"),
    ]
    assert ("input", 3, {"n": 1}) in recorder.events
    assert recorder.tags()["inner"] == ["seq:step:1"]
    assert recorder.ends() == [("end", number, 2) for number in (3, 2, 1, 0)]


def test_collectors_of_langchain_watch_without_being_given():
    with collect_runs() as collector:
        chain(one).invoke({"log": []})
    assert [run.name for run in collector.traced_runs] == ["LangGraph"]


@each_driver
@pytest.mark.parametrize("kind", ["function", "descriptor"])
def test_instrumentation_that_puts_a_handler_into_every_manager_watches(monkeypatch, driver, kind):
    recorder = Recorder()
    make = BaseCallbackManager.__init__

    def instrumented(manager, *given, **named):
        make(manager, *given, **named)
        if recorder not in manager.inheritable_handlers:
            manager.add_handler(recorder, inherit=True)

    around = instrumented if kind == "function" else partialmethod(instrumented)
    monkeypatch.setattr(BaseCallbackManager, "__init__", around)
    speaker = model("hi")
    invoke(chain(("ask", lambda state: {"log": [speaker.invoke("?").content]})), {"log": []}, {}, driver)
    assert recorder.tree() == [("LangGraph", None), ("ask", "LangGraph"), ("model", "ask")]


def test_a_handler_that_raises_on_purpose_fails_the_run():
    class Strict(BaseCallbackHandler):
        raise_error = True

        def on_chain_start(self, serialized, inputs, *, name, **rest):
            if name == "two":
                raise ValueError("not two")

    with pytest.raises(ValueError, match="not two"):
        chain(one, two).invoke({"log": []}, {"callbacks": [Strict()]})


def test_a_root_run_that_a_node_starts_is_seen_inside_it_and_keeps_its_own_place():
    other = chain(one, name="Other", checkpointer=InMemorySaver())

    def call(state):
        other.invoke({"log": []}, {"configurable": {"thread_id": "other"}})
        return {}

    recorder = heard(chain(call, checkpointer=InMemorySaver()), configurable={"thread_id": "mine"})
    assert ("Other", "call") in recorder.tree()
    assert recorder.metadata["Other"] == {"thread_id": "other", "ls_integration": "langgraph"}
    assert other.get_state({"configurable": {"thread_id": "other"}}).values == {"log": ["one"]}


def test_policies_of_tracing_hide_payloads_from_tracers_only():
    from stepgraph.types import TracePolicy, omit_payload

    graph = StateGraph(Log).add_node(
        "one",
        one,
        trace_policy=TracePolicy(process_inputs=omit_payload, process_outputs=lambda out: {"n": 1}),
    )
    graph.add_edge(START, "one")
    traced = tracer()
    recorder = Recorder()
    graph.compile().invoke({"log": ["in"]}, {"callbacks": [traced, recorder]})
    assert traced.seen == [
        ("LangGraph", {"log": ["in"]}),
        ("one", {}),
        ("one", {"n": 1}),
        ("LangGraph", {"log": ["in", "one"]}),
    ]
    assert ("input", 1, {"log": ["in"]}) in recorder.events
    assert ("end", 1, {"log": ["one"]}) in recorder.events


def tracer():
    from unittest.mock import MagicMock

    from langchain_core.tracers.langchain import LangChainTracer
    from langsmith import Client

    class Tracer(LangChainTracer):
        def __init__(self):
            client = MagicMock(spec=Client)
            client.tracing_queue = None
            super().__init__(client=client)
            self.seen = []

        def _persist_run_single(self, run):
            self.seen.append((run.name, run.inputs))

        def _update_run_single(self, run):
            self.seen.append((run.name, run.outputs))

    return Tracer()


@pytest.mark.parametrize("enabled", [True, False, "local", None])
def test_whether_langsmith_traces_is_what_langsmith_says(enabled):
    import langchain_core.tracers.context  # noqa: F401
    from langsmith import utils
    from langsmith.run_helpers import tracing_context

    from stepgraph.langchain.configure import anything_ambient

    with tracing_context(enabled=enabled):
        assert anything_ambient() == bool(utils.tracing_is_enabled())


def test_environment_variables_of_tracers_are_looked_at_before_langchain_has_loaded_them(monkeypatch):
    from stepgraph.langchain.configure import anything_ambient

    monkeypatch.delitem(sys.modules, "langchain_core.tracers.context")
    assert not anything_ambient()
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    assert anything_ambient()


def test_the_debug_printer_of_langchain_watches(capsys):
    set_debug(True)
    try:
        chain(one).invoke({"log": []})
    finally:
        set_debug(False)
    assert "[chain:LangGraph > chain:one]" in capsys.readouterr().out


def test_functions_that_langsmith_traces_hang_below_their_node():
    from langsmith.run_helpers import get_current_run_tree

    names = []

    def node(state):
        names.append(get_current_run_tree().name)
        return {}

    chain(node, ("sub", chain(("inner", node)))).invoke({"log": []}, {"callbacks": [tracer()]})
    assert names == ["node", "inner"]
    assert get_current_run_tree() is None
