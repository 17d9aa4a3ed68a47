"""Tools and agents beside those of langgraph: the same program gives the same messages, events and errors."""

from __future__ import annotations

import asyncio
import re
from importlib import import_module
from types import SimpleNamespace

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")
pytest.importorskip("langgraph.prebuilt", reason="langgraph is not installed: nothing to compare with")

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool, tool
from typing_extensions import Annotated  # noqa: UP035

from prebuilt.calls import ask, call
from prebuilt.fake_model import ScriptedModel

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def engine(package):
    """The names that programs use, from one of the two packages."""
    names = SimpleNamespace(package=package)
    for module, wanted in {
        "graph": ("StateGraph", "MessagesState", "START", "add_messages"),
        "prebuilt": ("ToolNode", "tools_condition", "create_react_agent"),
        "prebuilt.tool_node": ("InjectedState", "ToolRuntime", "msg_content_output"),
        "types": ("Command", "Send", "interrupt"),
        "checkpoint.memory": ("InMemorySaver",),
    }.items():
        for name in wanted:
            setattr(names, name, getattr(import_module(f"{package}.{module}"), name))
    return names


BOTH = (engine("langgraph"), engine("stepgraph"))
HI = {"messages": [("user", "hi")]}
THREAD = {"configurable": {"thread_id": "1"}}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def fail(text: str) -> str:
    """Fail."""
    raise ValueError(text)


@tool(return_direct=True)
def final(a: int) -> int:
    """Answer directly."""
    return a


ADD = call("add", {"a": 1, "b": 2})
BAD = call("add", {"a": "x"}, "2")
FAIL = call("fail", {"text": "bad"}, "3")


def graph_of(g, node, state=None):
    return g.StateGraph(state or g.MessagesState).add_node("tools", node).add_edge(g.START, "tools").compile()


def node_run(*calls, tools=(add, fail), **options):
    """A program that runs these calls through a node of tools."""
    return lambda g: graph_of(g, g.ToolNode(list(tools), **options)).invoke(ask(*calls))


def node_arun(*calls, **options):
    return lambda g: asyncio.run(graph_of(g, g.ToolNode([add, fail], **options)).ainvoke(ask(*calls)))


def made(function):
    return StructuredTool.from_function(function, name="made", description="made")


def returning(result):
    """A program whose tool returns what `result` makes of the engine and the call's id."""

    def program(g):
        def run(tool_call_id: Annotated[str, InjectedToolCallId]):
            return result(g, tool_call_id)

        run.__annotations__["tool_call_id"] = Annotated[str, InjectedToolCallId]
        return list(graph_of(g, g.ToolNode([made(run)])).stream(ask(call("made", {})), stream_mode="updates"))

    return program


def injected(g):
    def look(number: int, state, runtime, messages):
        kinds = [message.type for message in messages]
        return f"{number} {sorted(state)} {runtime.tool_call_id} {kinds} {[t.name for t in runtime.tools]}"

    look.__annotations__.update(
        number=int,
        state=Annotated[dict, g.InjectedState],
        runtime=g.ToolRuntime,
        messages=Annotated[list, g.InjectedState("messages")],
    )
    given = ask(call("made", {"number": 1, "state": "forged"}))
    return graph_of(g, g.ToolNode([made(look)])).invoke(given)


def streamed(*calls, **options):
    def program(g):
        graph = graph_of(g, g.ToolNode([add, fail], **options))
        return list(graph.stream(ask(*calls), stream_mode=["tools", "updates"]))

    return program


def wrapped(wrap, *calls, **options):
    return node_run(*calls, wrap_tool_call=wrap, **options)


def retrying(request, execute):
    for _ in range(2):
        try:
            return execute(request)
        except Exception:
            continue
    return ToolMessage("gave up", tool_call_id=request.tool_call["id"])


def doubling(request, execute):
    arguments = {**request.tool_call["args"], "a": 20}
    return execute(request.override(tool_call={**request.tool_call, "args": arguments}))


def agent_run(script, *, mode=None, **options):
    """A program that runs an agent on a scripted model."""

    def program(g):
        model = ScriptedModel(script=script)
        tools = options.pop("tools", None) or [add, fail, final]
        agent = g.create_react_agent(model, tools, **options)
        result = agent.invoke(HI) if mode is None else list(agent.stream(HI, stream_mode=mode))
        return result, model.shown, model.bound

    return program


def agent_pauses(version):
    def program(g):
        def ask_person(question: str) -> str:
            """Ask."""
            return g.interrupt(question)

        model = ScriptedModel(script=[[("ask_person", {"question": "A?"})]])
        agent = g.create_react_agent(model, [ask_person], checkpointer=g.InMemorySaver(), version=version)
        first = [question.value for question in agent.invoke(HI, THREAD)["__interrupt__"]]
        return first, agent.get_state(THREAD).next, agent.invoke(g.Command(resume="yes"), THREAD)

    return program


def shape_of(version, **options):
    def program(g):
        agent = g.create_react_agent(ScriptedModel(), [add, final], version=version, **options)
        drawn = agent.get_graph()
        edges = sorted((edge.source, edge.target, edge.conditional) for edge in drawn.edges)
        return sorted(agent.nodes), sorted(agent.channels), edges

    return program


def outputs(g):
    values = ["a", 5, None, {"ü": 1}, ["a"], [], [{"type": "text"}], [{"type": "other"}], {1}, (1, 2), b"x"]
    return [g.msg_content_output(value) for value in values]


def conditions(g):
    return [
        g.tools_condition(ask(ADD)),
        g.tools_condition(ask(ADD)["messages"]),
        g.tools_condition({"messages": [HumanMessage("x")]}),
        g.tools_condition({"talk": [AIMessage("x")]}, messages_key="talk"),
    ]


def answer(key):
    return ToolMessage("ok", tool_call_id=key)


PROGRAMS = {
    "answers": node_run(ADD, {**ADD, "id": "9"}),
    "answers, async": node_arun(ADD, {**ADD, "id": "9"}),
    "unknown tool": node_run(call("nope", {})),
    "wrong arguments": node_run(BAD),
    "wrong arguments, nothing handled": node_run(BAD, handle_tool_errors=False),
    "wrong arguments, all handled": node_run(BAD, handle_tool_errors=True),
    "failure": node_run(FAIL),
    "failure, handled": node_run(FAIL, ADD, handle_tool_errors=True),
    "failure, async": node_arun(FAIL, ADD, handle_tool_errors=True),
    "failure, by text": node_run(FAIL, handle_tool_errors="oops"),
    "failure, by class": node_run(FAIL, handle_tool_errors=(ValueError,)),
    "failure, by function": node_run(FAIL, handle_tool_errors=lambda error: f"said {error}"),
    "command": returning(lambda g, key: g.Command(update={"messages": [answer(key)]})),
    "command and message": returning(lambda g, key: [g.Command(update={}), answer(key)]),
    "command without answer": returning(lambda g, key: g.Command(update={"messages": []})),
    "message": returning(lambda g, key: answer(key)),
    "too many answers": returning(lambda g, key: [answer(key), answer(key)]),
    "injected": injected,
    "streamed": streamed(ADD),
    "streamed failure": streamed(FAIL, handle_tool_errors=True),
    "wrapper retries": wrapped(retrying, FAIL),
    "wrapper retries what is handled": wrapped(retrying, FAIL, handle_tool_errors=True),
    "wrapper changes": wrapped(doubling, ADD),
    "outputs": outputs,
    "conditions": conditions,
    **{
        f"{name}, {version}": program
        for version in ("v1", "v2")
        for name, program in {
            "agent": agent_run([[("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4})], []], version=version),
            "agent, updates": agent_run([[("add", {"a": 1, "b": 2})]], version=version, mode="updates"),
            "agent, values": agent_run([[("add", {"a": 1, "b": 2})]], version=version, mode="values"),
            "agent, direct": agent_run([[("final", {"a": 1})]], version=version),
            "agent, failure": agent_run([[("fail", {"text": "bad"})]], version=version),
            "agent, prompt": agent_run([], version=version, prompt="Be kind.", name="bob"),
            "agent, pause": agent_pauses(version),
            "agent, shape": shape_of(version),
            "agent, shape with all": shape_of(
                version,
                pre_model_hook=lambda state: {},
                post_model_hook=lambda state: {},
                response_format={"title": "Answer", "type": "object"},
            ),
        }.items()
    },
}


def outcome(program, g):
    """What a program gives, as text, without what differs from run to run."""
    try:
        result = repr(program(g))
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace(g.package, "engine")
    result = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}", "ID", result)
    return result.replace(g.package, "engine")


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_engines_agree(name):
    theirs, ours = (outcome(PROGRAMS[name], g) for g in BOTH)
    assert ours == theirs
