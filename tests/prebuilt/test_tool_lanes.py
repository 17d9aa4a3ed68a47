"""Several calls at once: results in order, failures, questions to people, nested graphs."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Annotated

import pytest
from typing_extensions import TypedDict

from prebuilt.calls import asking, contents, plain_call
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.graph import START, StateGraph
from stepgraph.graph.message import add_messages
from stepgraph.prebuilt import ToolNode
from stepgraph.prebuilt.tool_lanes import arun_calls, run_calls
from stepgraph.types import Command, interrupt

THREAD = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    messages: Annotated[list, add_messages(format="plain")]


def compiled(*tools, **options):
    graph = StateGraph(State).add_node("tools", ToolNode(list(tools), **options)).add_edge(START, "tools")
    return graph.compile(InMemorySaver())


def answers(result):
    return contents(result)[1:]


def questions(result):
    return [question.value for question in result.get("__interrupt__", ())]


def test_calls_run_at_the_same_time():
    meeting = threading.Barrier(3, timeout=10)

    def meet(number):
        meeting.wait()
        return number

    assert run_calls([1, 2, 3], meet, None) == [1, 2, 3]


def test_coroutines_run_at_the_same_time():
    async def main():
        meeting = asyncio.Barrier(3)

        async def meet(number):
            await meeting.wait()
            return number

        return await asyncio.wait_for(arun_calls([1, 2, 3], meet, None), 10)

    assert asyncio.run(main()) == [1, 2, 3]


def test_no_more_calls_run_at_once_than_the_limit_allows():
    lock = threading.Lock()
    running = most = 0

    def work(number):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.002)
        with lock:
            running -= 1

    run_calls(range(12), work, 2)
    assert most <= 2


def test_no_more_coroutines_run_at_once_than_the_limit_allows():
    running = most = 0

    async def work(number):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    asyncio.run(arun_calls(range(12), work, 2))
    assert most == 2


def test_the_failure_of_the_first_call_is_raised():
    started = threading.Barrier(2, timeout=10)

    def fail(number):
        started.wait()
        raise ValueError(number)

    with pytest.raises(ValueError, match=r"^1$"):
        run_calls([1, 2], fail, None)


def test_a_failed_coroutine_cancels_the_others():
    cancelled = []

    async def work(number):
        if number == 2:
            raise ValueError(number)
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.append(number)
            raise

    with pytest.raises(ValueError, match=r"^2$"):
        asyncio.run(arun_calls([1, 2], work, None))
    assert cancelled == [1]


def ask(question: str) -> str:
    """Ask a person."""
    return f"{question} {interrupt(question)}"


def add(a: int) -> int:
    """Add one."""
    return a + 1


CALLS = (
    plain_call("ask", {"question": "A?"}, "1"),
    plain_call("add", {"a": 1}, "2"),
    plain_call("ask", {"question": "B?"}, "3"),
)


def test_questions_are_put_one_by_one_in_the_order_of_calls():
    graph = compiled(ask, add)
    assert questions(graph.invoke(asking(*CALLS), THREAD)) == ["A?"]
    assert questions(graph.invoke(Command(resume="yes"), THREAD)) == ["B?"]
    assert answers(graph.invoke(Command(resume="no"), THREAD)) == ["A? yes", "2", "B? no"]


def test_questions_are_put_in_order_in_an_asynchronous_run():
    async def main():
        graph = compiled(ask, add)
        first = await graph.ainvoke(asking(*CALLS), THREAD)
        second = await graph.ainvoke(Command(resume="yes"), THREAD)
        return questions(first), questions(second), await graph.ainvoke(Command(resume="no"), THREAD)

    first, second, last = asyncio.run(main())
    assert (first, second) == (["A?"], ["B?"])
    assert answers(last) == ["A? yes", "2", "B? no"]


def test_an_answer_reaches_the_call_that_asked_even_if_that_is_slower():
    def slow(question: str) -> str:
        """Ask after a while."""
        time.sleep(0.02)
        return f"slow {interrupt(question)}"

    graph = compiled(slow, ask)
    calls = (plain_call("slow", {"question": "A?"}, "1"), plain_call("ask", {"question": "B?"}, "2"))
    assert questions(graph.invoke(asking(*calls), THREAD)) == ["A?"]
    assert questions(graph.invoke(Command(resume="1"), THREAD)) == ["B?"]
    assert answers(graph.invoke(Command(resume="2"), THREAD)) == ["slow 1", "B? 2"]


def test_a_call_may_ask_more_than_once():
    def twice() -> str:
        """Ask twice."""
        return f"{interrupt('first')}-{interrupt('second')}"

    graph = compiled(twice, ask)
    calls = (plain_call("twice", {}, "1"), plain_call("ask", {"question": "B?"}, "2"))
    seen = [questions(graph.invoke(asking(*calls), THREAD))]
    for answer in ("1", "2", "3"):
        last = graph.invoke(Command(resume=answer), THREAD)
        seen.append(questions(last))
    assert seen == [["first"], ["second"], ["B?"], []]
    assert answers(last) == ["1-2", "B? 3"]


def test_a_pause_is_no_failure_that_is_told_to_the_model():
    def swallow(request, execute):
        try:
            return execute(request)
        except Exception as error:
            return {"role": "tool", "tool_call_id": "1", "content": repr(error)}

    graph = compiled(ask, handle_tool_errors=True, wrap_tool_call=swallow)
    assert questions(graph.invoke(asking(CALLS[0]), THREAD)) == ["A?"]


def test_a_failure_counts_more_than_a_pause():
    def fail() -> str:
        """Fail."""
        raise ValueError("broken")

    graph = compiled(ask, fail)
    with pytest.raises(ValueError, match="broken"):
        graph.invoke(asking(CALLS[0], plain_call("fail", {}, "2")), THREAD)


class Inner(TypedDict):
    name: str
    seen: Annotated[list, lambda old, new: old + new]


def test_graphs_that_tools_run_keep_their_places_when_the_run_resumes():
    def remember(state):
        return {"seen": [state["name"]]}

    def confirm(state):
        return {"seen": [interrupt(state["name"])]}

    inner = StateGraph(Inner).add_sequence([remember, confirm]).add_edge(START, "remember").compile()
    runs = []

    def research(name: str, wait: float) -> str:
        """Research."""
        time.sleep(wait)
        runs.append(name)
        return " ".join(inner.invoke({"name": name})["seen"])

    graph = compiled(research)
    calls = (
        plain_call("research", {"name": "slow", "wait": 0.02}, "1"),
        plain_call("research", {"name": "fast", "wait": 0}, "2"),
    )
    first = graph.invoke(asking(*calls), THREAD)
    while questions(first):
        (question, *_) = first["__interrupt__"]
        first = graph.invoke(Command(resume={question.id: f"{question.value}!"}), THREAD)
    assert answers(first) == ["slow slow!", "fast fast!"]
