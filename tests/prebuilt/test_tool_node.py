"""The node that runs tools, on LangChain's tools and messages."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from typing import Annotated, Any, Optional, Union

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import InjectedToolCallId, StructuredTool, ToolException, tool
from pydantic import BaseModel

from prebuilt.calls import ask, call, contents
from stepgraph.graph import START, MessagesState, StateGraph
from stepgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from stepgraph.prebuilt import InjectedState, InjectedStore, ToolNode, ToolRuntime
from stepgraph.prebuilt.tool_node import ToolCallWithContext, ToolInvocationError, msg_content_output
from stepgraph.store.memory import InMemoryStore
from stepgraph.types import Command, Send


class State(MessagesState):
    topic: str


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def fail(text: str) -> str:
    """Fail."""
    raise ValueError(text)


def made(function, **options):
    return StructuredTool.from_function(function, name="made", description="made for a test", **options)


def returning(result):
    """A tool that returns what `result` makes of the call's id."""

    def run(tool_call_id: Annotated[str, InjectedToolCallId]):
        return result(tool_call_id)

    return made(run)


def run(*tools, calls=None, state=State, given=None, context=None, store=None, **options):
    """The state after a graph of one node has run the calls."""
    graph = StateGraph(state, context_schema=dict).add_node("tools", ToolNode(list(tools), **options))
    given = given or {**ask(*(calls or [call("made", {})])), "topic": "cats"}
    return graph.add_edge(START, "tools").compile(store=store).invoke(given, context=context)


def test_it_is_a_runnable_with_a_name():
    node = ToolNode([add], name="helpers", tags=["t"])
    assert isinstance(node, Runnable)
    assert (node.name, node.tags, list(node.tools_by_name)) == ("helpers", ["t"], ["add"])


def test_an_answer_is_a_message_of_the_tool():
    (message,) = ToolNode([add]).invoke(ask(call("add", {"a": 1, "b": 2})))["messages"]
    assert message == ToolMessage("3", name="add", tool_call_id="1")


def test_calls_can_be_given_without_messages():
    (message,) = ToolNode([add]).invoke([call("add", {"a": 1, "b": 2})])["messages"]
    assert message.content == "3"


def test_one_call_can_be_given_with_its_state():
    def topic(topic: Annotated[str, InjectedState("topic")]) -> str:
        return topic

    given = ToolCallWithContext(
        tool_call=call("made", {}), __type="tool_call_with_context", state={"topic": "dogs"}
    )
    assert contents(ToolNode([made(topic)]).invoke(given)) == ["dogs"]


def test_a_send_of_calls_reads_the_state_of_the_graph():
    def topic(state: Annotated[dict, InjectedState]) -> str:
        return state["topic"]

    graph = StateGraph(State).add_node("tools", ToolNode([made(topic)]))
    graph.add_conditional_edges(START, lambda state: [Send("tools", [call("made", {})])], ["tools"])
    assert contents(graph.compile().invoke({"messages": [], "topic": "cats"})) == ["cats"]


# Failures.


def failing(**options):
    return contents(run(fail, calls=[call("fail", {"text": "bad"})], **options))[-1]


def says_value(error: ValueError) -> str:
    return f"value: {error}"


def says_either(error: Union[TypeError, ValueError]) -> str:
    return f"either: {error}"


def says_type(error: TypeError) -> str:
    return "type"


class Handler:
    def method(self, error: ValueError) -> str:
        return "method"

    def __call__(self, error: ValueError) -> str:
        return "object"


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        (True, "Error: ValueError('bad')\n Please fix your mistakes."),
        ("Try again.", "Try again."),
        (ValueError, "Error: ValueError('bad')\n Please fix your mistakes."),
        ((TypeError, ValueError), "Error: ValueError('bad')\n Please fix your mistakes."),
        (says_value, "value: bad"),
        (says_either, "either: bad"),
        (lambda error: "anything", "anything"),
        (Handler().method, "method"),
        (Handler(), "object"),
    ],
)
def test_a_handled_failure_is_told_to_the_model(setting, text):
    assert failing(handle_tool_errors=setting) == text


@pytest.mark.parametrize("setting", [False, TypeError, (TypeError,), (), says_type])
def test_a_failure_that_is_not_handled_is_raised(setting):
    with pytest.raises(ValueError, match="bad"):
        failing(handle_tool_errors=setting)


def test_by_default_failures_are_raised():
    with pytest.raises(ValueError, match="bad"):
        failing()


@pytest.mark.parametrize(
    ("setting", "message"),
    [(5, "unexpected type"), (["x"], "unexpected type")],
)
def test_what_is_no_handler_is_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        ToolNode([fail], handle_tool_errors=setting)


def test_a_handler_of_what_is_no_exception_is_refused():
    def handler(error: int) -> str:
        return ""

    def handler_of_two(error: ValueError | int) -> str:
        return ""

    with pytest.raises(ValueError, match="Arbitrary types are not supported"):
        ToolNode([fail], handle_tool_errors=handler)
    with pytest.raises(ValueError, match="must be Exception types"):
        ToolNode([fail], handle_tool_errors=handler_of_two)


def test_wrong_arguments_are_told_to_the_model_without_what_is_injected():
    def find(number: int, topic: Annotated[int, InjectedState("topic")]) -> str:
        return ""

    text = contents(run(made(find), calls=[call("made", {"number": "x", "topic": "forged"})]))[-1]
    assert "{'number': 'x'}" in text
    assert "number: Input should be a valid integer" in text
    assert "topic" not in text


def test_wrong_arguments_are_an_error_where_nothing_is_handled():
    with pytest.raises(ToolInvocationError, match="Error invoking tool 'add'") as raised:
        run(add, calls=[call("add", {"a": "x", "b": 1})], handle_tool_errors=False)
    assert (raised.value.tool_name, raised.value.tool_kwargs) == ("add", {"a": "x", "b": 1})
    assert [error["loc"] for error in raised.value.filtered_errors] == [("a",)]


def test_what_a_tool_handles_itself_stays_its_own():
    def run_out() -> str:
        raise ToolException("empty")

    message = run(made(run_out, handle_tool_error=True))["messages"][-1]
    assert (message.content, message.status) == ("empty", "error")


# Results.


@pytest.mark.parametrize(
    ("output", "content"),
    [
        ("text", "text"),
        (5, "5"),
        (None, "null"),
        ({"ü": 1}, '{"ü": 1}'),
        (["a"], '["a"]'),
        ([{"type": "text", "text": "a"}], [{"type": "text", "text": "a"}]),
        ([{"type": "other"}], '[{"type": "other"}]'),
        ({1}, "{1}"),
    ],
)
def test_outputs_become_contents(output, content):
    assert msg_content_output(output) == content
    assert contents(run(made(lambda: output)))[-1] == content


def test_an_artifact_stays_with_its_answer():
    result = run(made(lambda: ("text", [1]), response_format="content_and_artifact"))
    assert (result["messages"][-1].content, result["messages"][-1].artifact) == ("text", [1])


def test_a_command_updates_the_state():
    def both(key):
        return Command(update={"topic": "dogs", "messages": [ToolMessage("ok", tool_call_id=key)]})

    result = run(returning(both))
    assert result["topic"] == "dogs"
    assert result["messages"][-1].name == "made"


def test_the_message_in_a_command_is_not_changed_in_place():
    message = ToolMessage("ok", tool_call_id="1")
    run(returning(lambda key: Command(update={"messages": [message]})))
    assert message.name is None


@pytest.mark.parametrize("key", [None, "other"])
def test_a_command_that_leaves_its_call_open_is_an_error(key):
    answers = [] if key is None else [ToolMessage("ok", tool_call_id=key)]
    with pytest.raises(ValueError, match="Expected to have a matching ToolMessage"):
        run(returning(lambda _: Command(update={"messages": answers})))


def test_a_command_that_removes_all_messages_need_not_answer():
    everything = RemoveMessage(id=REMOVE_ALL_MESSAGES)
    assert run(returning(lambda key: Command(update={"messages": [everything]})))["messages"] == []


def test_a_command_to_the_parent_need_not_answer():
    leave = returning(lambda key: Command(graph=Command.PARENT, goto="other", update={"topic": "dogs"}))
    inner = StateGraph(State).add_node("tools", ToolNode([leave])).add_edge(START, "tools").compile()
    graph = StateGraph(State).add_node("inner", inner, destinations=("other",)).add_edge(START, "inner")
    graph.add_node("other", lambda state: {"messages": [AIMessage(state["topic"])]})
    result = graph.compile().invoke({**ask(call("made", {})), "topic": "cats"})
    assert contents(result)[-1] == "dogs"


def test_sends_to_the_parent_of_several_calls_become_one_command():
    def leave(number: int) -> Command:
        return Command(graph=Command.PARENT, goto=[Send("other", number)])

    calls = [call("made", {"number": number}, str(number)) for number in range(2)]
    result = ToolNode([made(leave)]).invoke(ask(*calls))
    assert result == [Command(graph=Command.PARENT, goto=[Send("other", 0), Send("other", 1)])]


def test_a_command_to_the_parent_with_an_update_keeps_it():
    def leave(number: int) -> Command:
        return Command(graph=Command.PARENT, goto=[Send("other", number)], update={"topic": str(number)})

    calls = [call("made", {"number": number}, str(number)) for number in range(2)]
    result = ToolNode([made(leave)]).invoke(ask(*calls))
    assert [command.update for command in result] == [{"topic": "0"}, {"topic": "1"}]


def test_messages_beside_commands_are_updates_of_their_own():
    done = returning(lambda key: Command(update={"messages": [ToolMessage("ok", tool_call_id=key)]}))
    result = ToolNode([done, add]).invoke(ask(call("made", {}), call("add", {"a": 1, "b": 2}, "2")))
    assert isinstance(result[0], Command)
    assert contents(result[1]) == ["3"]


def test_several_results_with_one_answer_are_taken():
    def parts(key):
        return [Command(update={"topic": "dogs"}), ToolMessage("ok", tool_call_id=key)]

    result = run(returning(parts))
    assert (result["topic"], contents(result)[-1]) == ("dogs", "ok")


@pytest.mark.parametrize("count", [0, 2])
def test_several_results_with_another_number_of_answers_are_an_error(count):
    def parts(key):
        return [Command(update={"topic": "x"}), *[ToolMessage("ok", tool_call_id=key)] * count]

    with pytest.raises(ValueError, match=f"{count} messages bound to tool_call_id '1'; expected exactly one"):
        run(returning(parts))


def test_the_form_of_a_command_follows_the_input():
    def as_list(key):
        return Command(update=[ToolMessage("ok", tool_call_id=key)])

    def as_dict(key):
        return Command(update={"messages": [ToolMessage("ok", tool_call_id=key)]})

    messages = Annotated[list, add_messages]
    given = ask(call("made", {}))["messages"]
    assert contents(run(returning(as_list), state=messages, given=given))[-1] == "ok"
    with pytest.raises(ValueError, match=r"provide a dict in Command\.update only when"):
        run(returning(as_dict), state=messages, given=given)
    with pytest.raises(ValueError, match=r"provide a list of messages in Command\.update only when"):
        run(returning(as_list))


# What tools are given.


def test_a_tool_is_given_a_field_of_the_state():
    def topic(topic: Annotated[Optional[str], InjectedState("topic")]) -> str:
        return str(topic)

    assert contents(run(made(topic)))[-1] == "cats"


def test_a_state_that_is_a_list_stands_for_its_messages():
    def count(state: Annotated[dict, InjectedState]) -> int:
        return len(state["messages"])

    given = ask(call("made", {}))["messages"]
    assert contents(run(made(count), state=Annotated[list, add_messages], given=given))[-1] == "1"


def test_a_field_that_the_state_lacks_is_an_error_that_names_it():
    def topic(topic: Annotated[str, InjectedState("tpic")]) -> str:
        return topic

    with pytest.raises(ValueError, match=r"'tpic'.*it has 'messages', 'topic'"):
        run(made(topic), handle_tool_errors=True)


def test_a_field_that_the_state_lacks_leaves_the_default():
    def topic(topic: Annotated[str, InjectedState("tpic")] = "none") -> str:
        return topic

    assert contents(run(made(topic)))[-1] == "none"


def test_a_pydantic_state_is_given_as_it_is():
    class Model(BaseModel):
        messages: Annotated[list, add_messages]
        topic: str

    def kind(state: Annotated[Any, InjectedState], topic: Annotated[str, InjectedState("topic")]) -> str:
        return f"{type(state).__name__} {topic}"

    assert contents(run(made(kind), state=Model))[-1] == "Model cats"


def store_by_class(store: Annotated[Any, InjectedStore]) -> str:
    return type(store).__name__


def store_by_instance(store: Annotated[Any, InjectedStore()]) -> str:
    return type(store).__name__


@pytest.mark.parametrize("function", [store_by_class, store_by_instance])
def test_a_tool_is_given_the_store(function):
    assert contents(run(made(function), store=InMemoryStore()))[-1] == "InMemoryStore"
    with pytest.raises(ValueError, match="please compile your graph with a store"):
        run(made(function), handle_tool_errors=True)


def test_a_tool_is_given_the_runtime():
    def look(wish: str, anything: ToolRuntime[dict, State]) -> str:
        runtime = anything
        return f"{wish} {runtime.context} {runtime.tool_call_id} {runtime.state['topic']} {[t.name for t in runtime.tools]}"

    result = run(made(look), calls=[call("made", {"wish": "x"})], context={"user": 1})
    assert contents(result)[-1] == "x {'user': 1} 1 cats ['made']"


def test_a_parameter_named_runtime_needs_no_annotation():
    def look(runtime) -> str:
        return runtime.tool_call_id

    assert contents(run(made(look)))[-1] == "1"


def test_what_is_injected_is_hidden_from_the_model():
    def look(
        number: int,
        runtime: ToolRuntime,
        state: Annotated[dict, InjectedState],
        store: Annotated[Any, InjectedStore()],
    ) -> str:
        return ""

    assert list(made(look).tool_call_schema.model_json_schema()["properties"]) == ["number"]


def test_a_tool_with_a_schema_of_its_own_is_given_what_its_function_wants():
    class Arguments(BaseModel):
        number: int

    def look(number: int, runtime: ToolRuntime, state: Annotated[dict, InjectedState]) -> str:
        return f"{number} {runtime.tool_call_id} {state['topic']}"

    tool_of_its_own = made(look, args_schema=Arguments)
    assert contents(run(tool_of_its_own, calls=[call("made", {"number": 1})]))[-1] == "1 1 cats"


def test_a_tool_writes_to_the_custom_stream():
    def show(runtime: ToolRuntime) -> str:
        runtime.stream_writer("half")
        return "done"

    graph = (
        StateGraph(MessagesState).add_node("tools", ToolNode([made(show)])).add_edge(START, "tools").compile()
    )
    assert list(graph.stream(ask(call("made", {})), stream_mode="custom")) == ["half"]


def test_the_calls_of_tools_are_streamed():
    def show(number: int, runtime: ToolRuntime) -> str:
        runtime.emit_output_delta("half")
        return "done"

    graph = (
        StateGraph(MessagesState).add_node("tools", ToolNode([made(show)])).add_edge(START, "tools").compile()
    )
    started, delta, finished = graph.stream(ask(call("made", {"number": 1})), stream_mode="tools")
    assert started == {
        "event": "tool-started",
        "tool_call_id": "1",
        "tool_name": "made",
        "input": {"number": 1},
    }
    assert delta == {"event": "tool-output-delta", "tool_call_id": "1", "delta": "half"}
    assert (finished["event"], finished["output"].content) == ("tool-finished", "done")


def test_a_failed_call_is_streamed_as_such():
    node = ToolNode([fail], handle_tool_errors=True)
    graph = StateGraph(MessagesState).add_node("tools", node).add_edge(START, "tools").compile()
    _, failed = graph.stream(ask(call("fail", {"text": "bad"})), stream_mode="tools")
    assert failed == {"event": "tool-error", "tool_call_id": "1", "message": "bad"}


def test_a_delta_goes_nowhere_where_nobody_listens():
    def show(runtime: ToolRuntime) -> str:
        runtime.emit_output_delta("half")
        return "done"

    assert contents(run(made(show)))[-1] == "done"


def test_messages_that_came_as_dicts_are_answered_by_dicts():
    asked = {"role": "assistant", "content": "", "tool_calls": [call("add", {"a": 1, "b": 2})]}
    (answer,) = ToolNode([add]).invoke({"messages": [HumanMessage("?"), asked]})["messages"]
    assert answer == {"role": "tool", "tool_call_id": "1", "name": "add", "content": "3"}
