"""A compiled graph is a Runnable, whichever of the two was imported first."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from langchain_core.runnables import Runnable, RunnableLambda, RunnableParallel
from langchain_core.runnables.base import coerce_to_runnable

from langchain_bridge.recording import Log, chain, one, two
from stepgraph.errors import GraphRecursionError
from stepgraph.graph import END, START, StateGraph
from stepgraph.pregel import Pregel
from stepgraph.pregel.protocol import PregelProtocol
from stepgraph.types import Command

GRAPH = """
from stepgraph import START, StateGraph
from typing import TypedDict
State = TypedDict("State", {"n": int})
graph = StateGraph(State).add_node("add", lambda s: {"n": s["n"] + 1}).add_edge(START, "add").compile()
"""
LANGCHAIN = "from langchain_core.runnables import Runnable, RunnableLambda\n"
CHECK = """
assert isinstance(graph, Runnable)
assert (RunnableLambda(lambda n: {"n": n}) | graph | (lambda s: s["n"])).invoke(1) == 2
print("ok")
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "code", [GRAPH + LANGCHAIN, LANGCHAIN + GRAPH], ids=["graph-first", "langchain-first"]
)
def test_the_order_of_imports_does_not_matter(code):
    assert run(code + CHECK) == "ok"


def test_a_graph_loads_nothing_of_langchain():
    assert (
        run(GRAPH + "import sys; print([m for m in sys.modules if m.startswith(('langchain', 'langsmith'))])")
        == "[]"
    )


def test_the_finder_leaves_once_everything_is_attached():
    code = GRAPH + LANGCHAIN + "import langchain_core.messages.tool, sys\n"
    code += "from stepgraph.pregel.bridges import WAITING, _Finder\n"
    code += "print(WAITING, [f for f in sys.meta_path if isinstance(f, _Finder)])"
    assert run(code) == "{} []"


def test_a_bridge_does_not_hide_where_a_module_comes_from():
    code = GRAPH + "import inspect, langchain_core.runnables.base as base\n"
    code += (
        "print(inspect.getsource(base)[:3] == '\"\"\"', 'exec_module' in vars(base.__loader__) and 1 or 0)"
    )
    assert run(code).startswith("True")


def test_callbacks_are_enough_to_load_the_bridge():
    code = GRAPH + "from langchain_core.callbacks.base import BaseCallbackHandler\n"
    code += "class Names(BaseCallbackHandler):\n"
    code += "    def on_chain_start(self, serialized, inputs, **rest): print(rest['name'])\n"
    code += "graph.invoke({'n': 1}, {'callbacks': [Names()]})"
    assert run(code).split() == ["LangGraph", "add"]


def test_langchain_takes_a_graph_for_a_runnable():
    graph = chain(one)
    assert isinstance(graph, Runnable)
    assert issubclass(Pregel, Runnable)
    assert coerce_to_runnable(graph) is graph


def test_a_graph_is_piped_from_and_into():
    graph = chain(one)
    assert (graph | (lambda state: len(state["log"]))).invoke({"log": ["in"]}) == 2
    assert ((lambda text: {"log": [text]}) | graph).invoke("in") == {"log": ["in", "one"]}
    assert graph.pipe(chain(two)).invoke({"log": []}) == {"log": ["one", "two"]}


def test_what_runnables_can_do():
    graph = chain(one)
    given = {"log": []}
    after = {"log": ["one"]}
    assert graph.with_retry().invoke(given) == after
    assert graph.with_fallbacks([graph]).invoke(given) == after
    assert graph.bind().invoke(given) == after
    assert graph.map().invoke([given, given]) == [after, after]
    assert graph.pick("log").invoke(given) == ["one"]
    assert graph.assign(size=lambda state: len(state["log"])).invoke(given) == {**after, "size": 1}
    assert graph.as_tool(name="t", description="d").invoke({"log": ["x"]}) == {"log": ["x", "one"]}
    assert RunnableParallel(a=graph, b=graph).invoke(given) == {"a": after, "b": after}
    assert graph.with_config(tags=["t"]).invoke(given) == after


def test_a_batch_keeps_the_order_of_its_inputs():
    graph = chain(one)
    assert graph.batch([{"log": []}, {"log": ["x"]}]) == [{"log": ["one"]}, {"log": ["x", "one"]}]
    done = sorted(graph.batch_as_completed([{"log": []}, {"log": ["x"]}]))
    assert done == [(0, {"log": ["one"]}), (1, {"log": ["x", "one"]})]


def test_a_graph_in_a_sequence_streams():
    parts = list((RunnableLambda(lambda state: state) | chain(one)).stream({"log": []}))
    assert parts == [{"one": {"log": ["one"]}}]


def test_a_graph_in_a_chain_inherits_its_limit():
    graph = StateGraph(Log).add_node("one", one).add_edge(START, "one")
    graph.add_conditional_edges("one", lambda state: "one" if len(state["log"]) < 40 else END)
    with pytest.raises(GraphRecursionError, match="25"):
        (RunnableLambda(lambda state: state) | graph.compile()).invoke({"log": []})


def test_a_remote_graph_is_a_runnable_too():
    assert issubclass(PregelProtocol, Runnable)


def test_a_command_is_something_a_tool_may_return():
    from langchain_core.messages.tool import ToolOutputMixin

    assert isinstance(Command(goto="x"), ToolOutputMixin)


def test_schemas_are_the_graphs_own():
    graph = chain(one)
    assert list(graph.get_input_jsonschema()["properties"]) == ["log"]
    assert graph.get_graph().draw_mermaid().startswith("---")
