"""The prebuilt agent: its loop, its models and prompts, its last answer, its limits."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from typing import Annotated, Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import InjectedToolCallId, tool
from pydantic import BaseModel
from typing_extensions import TypedDict

from prebuilt.calls import call, contents
from prebuilt.fake_model import ScriptedModel
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.errors import GraphRecursionError
from stepgraph.graph import START, MessagesState, StateGraph
from stepgraph.graph.message import add_messages
from stepgraph.managed import RemainingSteps
from stepgraph.prebuilt import InjectedState, ToolNode, create_react_agent
from stepgraph.prebuilt.chat_agent_executor import AgentState, AgentStatePydantic, _should_bind_tools
from stepgraph.store.memory import InMemoryStore
from stepgraph.types import Command, interrupt
from stepgraph.warnings import LangGraphDeprecatedSinceV10

pytestmark = pytest.mark.filterwarnings("ignore::stepgraph.warnings.LangGraphDeprecatedSinceV10")

HI = {"messages": [("user", "hi")]}
THREAD = {"configurable": {"thread_id": "1"}}
VERSIONS = pytest.mark.parametrize("version", ["v1", "v2"])


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(return_direct=True)
def final(a: int) -> int:
    """Answer directly."""
    return a


def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


ADD = ("add", {"a": 1, "b": 2})
MULTIPLY = ("multiply", {"a": 3, "b": 4})


def kinds(result):
    return [message.type for message in result["messages"]]


@VERSIONS
def test_the_model_calls_tools_until_it_answers(version):
    model = ScriptedModel(script=[[ADD, MULTIPLY], [ADD]])
    result = create_react_agent(model, [add, multiply], version=version).invoke(HI)
    assert contents(result) == ["hi", "hi", "3", "12", "hi-hi-3-12", "3", "hi-hi-3-12-hi-hi-3-12-3"]
    assert model.bound == [["add", "multiply"]]


@VERSIONS
def test_it_runs_asynchronously(version):
    model = ScriptedModel(script=[[ADD, MULTIPLY]])
    result = asyncio.run(create_react_agent(model, [add, multiply], version=version).ainvoke(HI))
    assert contents(result) == ["hi", "hi", "3", "12", "hi-hi-3-12"]


def test_without_tools_the_model_answers_once():
    agent = create_react_agent(ScriptedModel(), [])
    assert contents(agent.invoke(HI)) == ["hi", "hi"]
    assert sorted(agent.nodes) == ["__start__", "agent"]


def test_in_version_2_every_call_is_a_task_of_its_own():
    def updates(version):
        agent = create_react_agent(ScriptedModel(script=[[ADD, MULTIPLY]]), [add, multiply], version=version)
        return [name for update in agent.stream(HI, stream_mode="updates") for name in update]

    assert updates("v1") == ["agent", "tools", "agent"]
    assert updates("v2") == ["agent", "tools", "tools", "agent"]


def test_another_version_is_refused():
    with pytest.raises(ValueError, match="Supported versions are 'v1' and 'v2'"):
        create_react_agent(ScriptedModel(), [], version="v3")


@VERSIONS
def test_a_tool_that_returns_directly_ends_the_loop(version):
    model = ScriptedModel(script=[[("final", {"a": 7}), ADD]])
    assert contents(create_react_agent(model, [final, add], version=version).invoke(HI)) == [
        "hi",
        "hi",
        "7",
        "3",
    ]


def test_a_tool_node_can_be_given_in_place_of_tools():
    node = ToolNode([add], handle_tool_errors=True)
    assert contents(create_react_agent(ScriptedModel(script=[[ADD]]), node).invoke(HI)) == [
        "hi",
        "hi",
        "3",
        "hi-hi-3",
    ]


def test_tools_of_the_provider_are_bound_and_not_run():
    model = ScriptedModel()
    agent = create_react_agent(model, [{"type": "web_search"}])
    assert model.bound == [["web_search"]]
    assert "tools" not in agent.nodes


def test_the_agents_name_is_on_its_messages_and_its_graph():
    agent = create_react_agent(ScriptedModel(), [], name="expert")
    assert (agent.name, agent.invoke(HI)["messages"][-1].name) == ("expert", "expert")


def test_its_paths_have_the_names_that_traces_know():
    def names(**options):
        agent = create_react_agent(ScriptedModel(), [final], **options)
        return [name for branches in agent.builder.branches.values() for name in branches]

    assert names() == ["should_continue", "route_tool_responses"]
    assert names(post_model_hook=lambda state: None) == ["post_model_hook_router", "route_tool_responses"]


# Models.


def test_tools_that_are_bound_already_are_not_bound_again():
    model = ScriptedModel()
    create_react_agent(model.bind_tools([add]), [add])
    create_react_agent(RunnableLambda(lambda given: given) | model.bind_tools([add]), [add])
    assert len(model.bound) == 2


def test_other_tools_bound_to_the_model_are_an_error():
    model = ScriptedModel()
    with pytest.raises(ValueError, match="Got 2 tools, expected 1"):
        create_react_agent(model.bind_tools([add]), [add, multiply])
    with pytest.raises(ValueError, match="Missing tools"):
        create_react_agent(model.bind_tools([add]), [multiply])


def test_what_is_bound_to_the_model_besides_stays():
    seen = []

    class Watching(ScriptedModel):
        def _generate(self, messages, stop=None, **options):
            seen.append(stop)
            return super()._generate(messages, stop, **options)

    create_react_agent(Watching().bind(stop=["."]), [add]).invoke(HI)
    assert seen == [["."]]


def test_whether_tools_must_be_bound():
    assert _should_bind_tools(ScriptedModel(), [add])
    assert not _should_bind_tools(ScriptedModel().bind_tools([add]), [add])


def test_a_model_can_be_chosen_call_by_call():
    chosen = []

    def choose(state, runtime):
        chosen.append((len(state["messages"]), runtime.context))
        return ScriptedModel(script=[[ADD]]).bind_tools([add])

    agent = create_react_agent(choose, [add], context_schema=dict)
    assert contents(agent.invoke(HI, context={"user": 1})) == ["hi", "hi", "3", "hi-hi-3"]
    assert chosen == [(1, {"user": 1}), (3, {"user": 1})]


def test_a_model_can_be_chosen_by_a_coroutine_in_either_run():
    async def choose(state, runtime):
        return ScriptedModel()

    agent = create_react_agent(choose, [])
    assert contents(agent.invoke(HI)) == contents(asyncio.run(agent.ainvoke(HI))) == ["hi", "hi"]


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="Expected a chat model"):
        create_react_agent(5, [])
    with pytest.raises(TypeError, match="answered 5 of type int"):
        create_react_agent(lambda state, runtime: 5, []).invoke(HI)


# Prompts.


async def later_prompt(state):
    return [("system", "later"), *state["messages"]]


@pytest.mark.parametrize(
    ("prompt", "shown"),
    [
        (None, [("human", "hi")]),
        ("Be kind.", [("system", "Be kind."), ("human", "hi")]),
        (SystemMessage("Be kind."), [("system", "Be kind."), ("human", "hi")]),
        (lambda state: [("system", "made"), *state["messages"]], [("system", "made"), ("human", "hi")]),
        (lambda state: "only this", [("human", "only this")]),
        (later_prompt, [("system", "later"), ("human", "hi")]),
        (
            ChatPromptTemplate.from_messages([("system", "template"), ("placeholder", "{messages}")]),
            [("system", "template"), ("human", "hi")],
        ),
    ],
)
def test_what_the_model_is_shown(prompt, shown):
    model = ScriptedModel()
    create_react_agent(model, [], prompt=prompt).invoke(HI)
    asyncio.run(create_react_agent(model, [], prompt=prompt).ainvoke(HI))
    assert model.shown == [shown, shown]


def test_a_prompt_is_given_what_it_asks_for():
    def prompt(state, config, *, store):
        return [("system", f"{type(store).__name__} {config['metadata']['user']}"), *state["messages"]]

    model = ScriptedModel()
    create_react_agent(model, [], prompt=prompt, store=InMemoryStore()).invoke(
        HI, {"metadata": {"user": "Ada"}}
    )
    assert model.shown[0][0] == ("system", "InMemoryStore Ada")


@pytest.mark.parametrize("prompt", [5, HumanMessage("hi")])
def test_what_is_no_prompt_is_refused(prompt):
    with pytest.raises(ValueError, match="unexpected type for `prompt`"):
        create_react_agent(ScriptedModel(), [], prompt=prompt)


# The last answer.


class Answer(BaseModel):
    answer: str


@pytest.mark.parametrize(
    "run", [lambda agent: agent.invoke(HI), lambda agent: asyncio.run(agent.ainvoke(HI))]
)
def test_the_last_answer_has_the_shape_that_was_asked_for(run):
    model = ScriptedModel(script=[[ADD]])
    result = run(create_react_agent(model, [add], response_format=Answer))
    assert result["structured_response"] == Answer(answer="42")
    assert [kind for kind, _ in model.shown[-1]] == ["human", "ai", "tool", "ai"]


def test_the_shape_can_be_a_json_schema():
    agent = create_react_agent(ScriptedModel(), [], response_format={"title": "Answer", "type": "object"})
    assert agent.invoke(HI)["structured_response"] == {"answer": "42"}


def test_the_shape_can_come_with_an_instruction():
    model = ScriptedModel()
    create_react_agent(model, [], response_format=("Be short.", Answer)).invoke(HI)
    assert model.shown[-1][0] == ("system", "Be short.")


def test_a_chosen_model_gives_the_last_answer_too():
    def choose(state, runtime):
        return ScriptedModel().bind_tools([add])

    agent = create_react_agent(choose, [add], response_format=Answer)
    assert agent.invoke(HI)["structured_response"] == Answer(answer="42")


def test_a_direct_answer_has_no_shape():
    agent = create_react_agent(ScriptedModel(script=[[("final", {"a": 1})]]), [final], response_format=Answer)
    assert "structured_response" not in agent.invoke(HI)


# States.


class OwnState(TypedDict):
    messages: Annotated[list, add_messages]
    remaining_steps: RemainingSteps
    mood: str


@pytest.mark.parametrize("schema", [OwnState, AgentState, AgentStatePydantic])
def test_the_state_can_be_a_persons_own(schema):
    agent = create_react_agent(ScriptedModel(script=[[ADD]]), [add], state_schema=schema)
    assert contents(agent.invoke(HI)) == ["hi", "hi", "3", "hi-hi-3"]


def test_a_state_that_lacks_what_the_agent_needs_is_refused():
    with pytest.raises(ValueError, match=r"Missing required key\(s\) \{'remaining_steps'\} in state_schema"):
        create_react_agent(ScriptedModel(), [], state_schema=MessagesState)
    with pytest.raises(ValueError, match="structured_response"):
        create_react_agent(ScriptedModel(), [], state_schema=OwnState, response_format=Answer)


@VERSIONS
def test_a_tool_changes_the_state(version):
    @tool
    def cheer(tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Cheer up."""
        return Command(update={"mood": "good", "messages": [ToolMessage("ok", tool_call_id=tool_call_id)]})

    agent = create_react_agent(
        ScriptedModel(script=[[("cheer", {})]]), [cheer], state_schema=OwnState, version=version
    )
    assert agent.invoke(HI)["mood"] == "good"


@VERSIONS
@pytest.mark.parametrize("schema", [OwnState, AgentStatePydantic])
def test_a_tool_sees_the_whole_state_in_its_own_kind(version, schema):
    @tool
    def look(state: Annotated[Any, InjectedState]) -> str:
        """Look."""
        messages = state["messages"] if isinstance(state, dict) else state.messages
        steps = state["remaining_steps"] if isinstance(state, dict) else state.remaining_steps
        return f"{type(state).__name__} {len(messages)} {steps > 2}"

    agent = create_react_agent(
        ScriptedModel(script=[[("look", {})]]), [look], state_schema=schema, version=version
    )
    name = "dict" if schema is OwnState else schema.__name__
    assert contents(agent.invoke(HI))[2] == f"{name} 2 True"


# Limits, pauses, histories.


def test_an_agent_that_runs_out_of_steps_says_so():
    model = ScriptedModel(script=[[ADD]] * 9)
    result = create_react_agent(model, [add]).invoke(HI, {"recursion_limit": 4})
    assert contents(result)[-1] == "Sorry, need more steps to process this request."
    with pytest.raises(GraphRecursionError):
        create_react_agent(model, [add]).invoke(HI, {"recursion_limit": 3})


def test_a_history_with_an_open_call_is_refused():
    history = [("user", "x"), AIMessage("", tool_calls=[call("add", {"a": 1, "b": 2})]), ("user", "y")]
    with pytest.raises(ValueError, match="do not have a corresponding ToolMessage"):
        create_react_agent(ScriptedModel(), [add]).invoke({"messages": history})


@VERSIONS
def test_it_stops_before_its_tools_and_goes_on(version):
    agent = create_react_agent(
        ScriptedModel(script=[[ADD]]),
        [add],
        checkpointer=InMemorySaver(),
        interrupt_before=["tools"],
        version=version,
    )
    assert kinds(agent.invoke(HI, THREAD)) == ["human", "ai"]
    assert agent.get_state(THREAD).next == ("tools",)
    assert contents(agent.invoke(None, THREAD)) == ["hi", "hi", "3", "hi-hi-3"]


def test_in_version_2_all_calls_that_ask_a_person_do_so_at_once():
    @tool
    def ask(question: str) -> str:
        """Ask a person."""
        return interrupt(question)

    model = ScriptedModel(script=[[("ask", {"question": "A?"}), ("ask", {"question": "B?"})]])
    agent = create_react_agent(model, [ask], checkpointer=InMemorySaver())
    asked = agent.invoke(HI, THREAD)["__interrupt__"]
    assert [question.value for question in asked] == ["A?", "B?"]
    result = agent.invoke(Command(resume={question.id: question.value.lower() for question in asked}), THREAD)
    assert contents(result)[2:4] == ["a?", "b?"]


@VERSIONS
def test_an_agent_hands_over_to_another_node_of_its_parent(version):
    @tool
    def hand_over(
        tool_call_id: Annotated[str, InjectedToolCallId], state: Annotated[dict, InjectedState]
    ) -> Any:
        """Hand over."""
        answer = ToolMessage("handed over", tool_call_id=tool_call_id)
        update = {"messages": [*state["messages"], answer]}
        return Command(graph=Command.PARENT, goto="other", update=update)

    agent = create_react_agent(
        ScriptedModel(script=[[("hand_over", {})]]), [hand_over], version=version, name="first"
    )
    graph = StateGraph(MessagesState).add_node("first", agent, destinations=("other",))
    graph.add_node("other", lambda state: {"messages": [AIMessage("other")]}).add_edge(START, "first")
    assert contents(graph.compile().invoke(HI)) == ["hi", "hi", "handed over", "other"]


def test_what_is_stored_of_an_agent_grows_with_what_is_new():
    def stored(turns):
        saver = InMemorySaver()
        script = [[("multiply", {"a": turn, "b": 1})] for turn in range(turns)]
        agent = create_react_agent(ScriptedModel(script=script, terse=True), [multiply], checkpointer=saver)
        agent.invoke(HI, THREAD)
        return saver.stored_bytes()

    assert stored(40) < 5.0 * stored(10)


# Deprecations.


def test_making_one_says_that_it_has_moved():
    with pytest.warns(LangGraphDeprecatedSinceV10, match="create_react_agent has been moved"):
        create_react_agent(ScriptedModel(), [])


def test_the_older_name_of_the_context_schema_still_works():
    with pytest.warns(LangGraphDeprecatedSinceV10, match="use `context_schema` instead"):
        create_react_agent(ScriptedModel(), [], config_schema=dict)


def test_an_unknown_argument_is_refused():
    with pytest.raises(TypeError, match="unexpected keyword arguments"):
        create_react_agent(ScriptedModel(), [], colour="red")
