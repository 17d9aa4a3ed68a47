"""`@entrypoint`: a function as a graph: what it takes, answers, saves, shows and refuses."""

from __future__ import annotations

import functools
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel

from stepgraph.cache.memory import InMemoryCache
from stepgraph.channels.ephemeral_value import EphemeralValue
from stepgraph.channels.last_value import LastValue
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.errors import EmptyInputError, InvalidUpdateError
from stepgraph.func import entrypoint, task
from stepgraph.graph import END, START, StateGraph
from stepgraph.pregel import Pregel
from stepgraph.runtime import Runtime
from stepgraph.store.memory import InMemoryStore
from stepgraph.types import CachePolicy, Command, RetryPolicy
from stepgraph.warnings import LangGraphDeprecatedSinceV05, LangGraphDeprecatedSinceV10

from .conftest import Ways


def test_answers_what_the_function_returns(ways: Ways) -> None:
    def double(number: int) -> Any:
        return number * 2
        yield

    assert ways.invoke(ways.entrypoint(double), 4, ways.thread()) == 8


@pytest.mark.parametrize("value", [None, 0, "", [], {}, (1, 2), {"a": 1}, Command(update={"a": 1})])
def test_any_value_is_an_output(ways: Ways, value: Any) -> None:
    def give(_: Any) -> Any:
        return value
        yield

    assert ways.invoke(ways.entrypoint(give), 1, ways.thread()) == value


def test_runs_without_a_saver(ways: Ways) -> None:
    def echo(given: Any) -> Any:
        return given
        yield

    assert ways.invoke(ways.entrypoint(echo, checkpointer=None), "x") == "x"


def test_previous_is_what_the_last_run_of_the_thread_returned(ways: Ways) -> None:
    def count(step: int, *, previous: int | None = None) -> Any:
        return (previous or 0) + step
        yield

    flow, thread = ways.entrypoint(count), ways.thread()
    assert [ways.invoke(flow, 2, thread), ways.invoke(flow, 3, thread)] == [2, 5]
    assert ways.invoke(flow, 3, ways.thread()) == 3


def test_final_saves_another_value_than_it_answers(ways: Ways) -> None:
    def remember(word: str, *, previous: Any) -> Any:
        return entrypoint.final(value=previous, save=[*(previous or []), word])
        yield

    flow, thread = ways.entrypoint(remember), ways.thread()
    assert ways.invoke(flow, "a", thread) is None
    assert ways.invoke(flow, "b", thread) == ["a"]
    assert flow.get_state(thread).values == ["a"]


def test_what_a_run_has_is_injected(ways: Ways) -> None:
    store = InMemoryStore()
    seen: dict[str, Any] = {}

    def look(given: Any, config: Any, runtime: Runtime[str], *, writer: Any, store: Any) -> Any:
        writer("seen")
        seen.update(thread=config["configurable"]["thread_id"], context=runtime.context, store=store)
        return given
        yield

    flow = ways.entrypoint(look, store=store, context_schema=str)
    thread = ways.thread()
    assert ways.stream(flow, 1, thread, context="ctx", stream_mode="custom") == ["seen"]
    assert seen == {"thread": thread["configurable"]["thread_id"], "context": "ctx", "store": store}


def test_its_channels_are_input_output_and_what_is_saved() -> None:
    @entrypoint()
    def flow(given: int) -> str:
        return str(given)

    assert isinstance(flow, Pregel)
    kinds = {name: type(channel) for name, channel in flow.channels.items() if name != "__pregel_tasks"}
    assert kinds == {"__start__": EphemeralValue, "__end__": LastValue, "__previous__": LastValue}
    assert (flow.input_channels, flow.output_channels, flow.stream_channels) == (
        "__start__",
        "__end__",
        "__end__",
    )
    assert list(flow.nodes) == ["flow"]
    assert flow.nodes["flow"].triggers == ["__start__"]
    assert [writer.channel for writer in flow.nodes["flow"].writers] == ["__end__", "__previous__"]
    assert flow.trigger_to_nodes == {"__start__": ["flow"]}
    assert (flow.name, flow.stream_mode) == ("LangGraph", "updates")


def test_its_history_is_an_input_and_a_result() -> None:
    @entrypoint(checkpointer=InMemorySaver())
    def flow(given: int) -> int:
        return given + 1

    thread = {"configurable": {"thread_id": "1"}}
    flow.invoke(1, thread)
    done, begun = flow.get_state_history(thread)
    assert (done.values, done.next, done.metadata) == (2, (), {"source": "loop", "step": 0, "parents": {}})
    assert (begun.values, begun.next, begun.metadata) == (
        None,
        ("flow",),
        {"source": "input", "step": -1, "parents": {}},
    )
    assert begun.tasks[0].result == {"__end__": 2}


def test_update_state_says_what_it_returned() -> None:
    @entrypoint(checkpointer=InMemorySaver())
    def flow(given: int, *, previous: Any = None) -> Any:
        return (given, previous)

    thread = {"configurable": {"thread_id": "1"}}
    flow.invoke(1, thread)
    flow.update_state(thread, "edited")
    assert flow.get_state(thread).values == "edited"
    flow.update_state(thread, entrypoint.final(value="shown", save="kept"), as_node="flow")
    assert flow.get_state(thread).values == "shown"
    assert flow.invoke(2, thread) == (2, "kept")


class Question(BaseModel):
    text: str


@pytest.mark.parametrize(
    ("given", "returned", "expected"),
    [
        (
            int,
            str,
            ({"type": "integer", "title": "LangGraphInput"}, {"type": "string", "title": "LangGraphOutput"}),
        ),
        (Any, Any, ({"title": "LangGraphInput"}, {"title": "LangGraphOutput"})),
        (
            Question,
            entrypoint.final[list[int], str],
            (
                Question.model_json_schema(),
                {"type": "array", "items": {"type": "integer"}, "title": "LangGraphOutput"},
            ),
        ),
    ],
)
def test_json_schemas_come_from_the_annotations(given: Any, returned: Any, expected: Any) -> None:
    def flow(value: Any) -> Any:
        return value

    flow.__annotations__ = {"value": given, "return": returned}
    graph = entrypoint()(flow)
    assert (graph.get_input_jsonschema(), graph.get_output_jsonschema()) == expected
    assert graph.InputType == given
    assert graph.get_input_schema().model_json_schema()


def test_callable_objects_methods_and_partials_are_workflows() -> None:
    class Adder:
        def __call__(self, number: int) -> int:
            return number + 1

        def method(self, number: int) -> int:
            return number + 2

    assert entrypoint()(Adder()).invoke(1) == 2
    assert entrypoint()(Adder().method).invoke(1) == 3
    assert entrypoint()(functools.partial(lambda a, b: a + b, 3)).invoke(1) == 4


def test_a_function_without_an_input_is_refused() -> None:
    def nothing() -> int:
        return 1

    with pytest.raises(ValueError, match="must have at least one parameter: 'nothing'"):
        entrypoint()(nothing)


def test_generators_are_refused() -> None:
    def steps(given: int) -> Any:
        yield given

    async def asteps(given: int) -> Any:
        yield given

    for function in (steps, asteps):
        with pytest.raises(NotImplementedError, match="Generators are not supported"):
            entrypoint()(function)


def test_unknown_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match=r"entrypoint.. got unexpected keyword arguments: bogus"):
        entrypoint(bogus=1)
    with pytest.raises(TypeError, match=r"task.. got unexpected keyword arguments: bogus"):
        task(bogus=1)


def test_old_names_of_arguments_warn() -> None:
    with pytest.warns(LangGraphDeprecatedSinceV05, match="`retry` is deprecated"):
        assert entrypoint(retry=RetryPolicy(max_attempts=7)).retry_policy.max_attempts == 7  # type: ignore[union-attr]
    with pytest.warns(LangGraphDeprecatedSinceV10, match="`config_schema` is deprecated"):
        assert entrypoint(config_schema=dict).context_schema is dict
    with pytest.warns(LangGraphDeprecatedSinceV05, match="`retry` is deprecated"):
        task(retry=RetryPolicy())
    with pytest.raises(TypeError, match="not both"):
        task(retry=RetryPolicy(), retry_policy=RetryPolicy())


def test_no_input_is_an_error(ways: Ways) -> None:
    def echo(given: Any) -> Any:
        return given
        yield

    with pytest.raises(EmptyInputError, match="Received no input"):
        ways.invoke(ways.entrypoint(echo), None, ways.thread())


def test_a_command_that_jumps_is_no_input(ways: Ways) -> None:
    def echo(given: Any) -> Any:
        return given
        yield

    with pytest.raises(InvalidUpdateError, match="needs a StateGraph"):
        ways.invoke(ways.entrypoint(echo), Command(goto="echo"), ways.thread())


class State(TypedDict, total=False):
    number: int
    word: str


def test_a_workflow_is_a_node_of_a_graph(ways: Ways) -> None:
    @ways.task
    def double(number: int) -> int:
        return number * 2

    def inner(state: State) -> Any:
        number = yield double(state["number"])
        return {"number": number, "other": "dropped"}

    builder = StateGraph(State).add_node("flow", ways.entrypoint(inner, checkpointer=None))
    graph = builder.add_edge(START, "flow").add_edge("flow", END).compile(ways.saver)
    assert ways.invoke(graph, {"number": 2, "word": "w"}, ways.thread()) == {"number": 4, "word": "w"}


def test_a_workflow_calls_another_and_both_keep_their_own(ways: Ways) -> None:
    @entrypoint(checkpointer=True)
    def tally(number: int, *, previous: int | None = None) -> int:
        return (previous or 0) + number

    def outer(number: int, *, previous: Any = None) -> Any:
        return (tally.invoke(number), previous)
        yield

    flow, thread = ways.entrypoint(outer), ways.thread()
    assert ways.invoke(flow, 1, thread) == (1, None)
    assert ways.invoke(flow, 2, thread) == (3, (1, None))


def test_its_picture_is_one_node() -> None:
    @entrypoint()
    def flow(given: int) -> int:
        return given

    assert "flow(flow)" in flow.get_graph().draw_mermaid()


def test_its_own_result_may_be_reused(ways: Ways) -> None:
    ran: list[int] = []

    def double(number: int, *, previous: Any = None) -> Any:
        ran.append(number)
        return entrypoint.final(value=number * 2, save="saved")
        yield

    graph = ways.entrypoint(double, cache=InMemoryCache(), cache_policy=CachePolicy())
    assert ways.invoke(graph, 2, ways.thread()) == 4
    thread = ways.thread()
    assert ways.stream(graph, 2, thread) == [{"double": 4, "__metadata__": {"cached": True}}]
    assert graph.get_state(thread).values == 4
    assert ran == [2]


def test_a_failed_attempt_is_tried_again(ways: Ways) -> None:
    attempts: list[int] = []

    def flaky(_: int, runtime: Runtime[Any]) -> Any:
        assert runtime.execution_info is not None
        attempts.append(runtime.execution_info.node_attempt)
        if len(attempts) < 3:
            raise ConnectionError("down")
        return "up"
        yield

    policy = RetryPolicy(initial_interval=0.0001, jitter=False)
    assert ways.invoke(ways.entrypoint(flaky, retry_policy=policy), 1, ways.thread()) == "up"
    assert attempts == [1, 2, 3]


def test_a_schema_class_is_not_made_of_the_input(ways: Ways) -> None:
    def kind(question: Question) -> Any:
        return type(question).__name__
        yield

    graph = ways.entrypoint(kind)
    assert ways.invoke(graph, {"text": "?"}, ways.thread()) == "dict"
    assert ways.invoke(graph, Question(text="?"), ways.thread()) == "Question"
