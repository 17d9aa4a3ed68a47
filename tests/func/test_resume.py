"""Going on after a pause, a failure or a restart: finished calls answer what they answered and do not run again."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, TypedDict

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.errors import UnknownInterruptError
from stepgraph.func import entrypoint, task
from stepgraph.graph import START, StateGraph
from stepgraph.types import Command, RetryPolicy, Send, interrupt

from .conftest import Ways


def asked(output: Any) -> dict[Any, str]:
    """Question to id, of a run that paused."""
    return {question.value: question.id for question in output["__interrupt__"]}


def test_a_pause_in_the_caller_repeats_no_call(ways: Ways) -> None:
    ran: list[Any] = []

    @ways.task
    def double(number: int) -> int:
        ran.append(number)
        return number * 2

    def flow(number: int) -> Any:
        doubled = yield double(number)
        added = interrupt("how much?")
        return (yield double(doubled + added))

    graph, thread = ways.entrypoint(flow), ways.thread()
    assert list(asked(ways.invoke(graph, 1, thread))) == ["how much?"]
    assert graph.get_state(thread).next == ("flow",)
    assert ways.invoke(graph, Command(resume=3), thread) == 10
    assert ran == [1, 5]


def test_a_question_in_a_task_pauses_its_caller(ways: Ways) -> None:
    ran: list[str] = []

    @ways.task
    def step(name: str) -> str:
        ran.append(name)
        return name

    @ways.task
    def ask(question: str) -> Any:
        ran.append(question)
        return interrupt(question)

    def flow(_: int) -> Any:
        before = yield step("before")
        answer = yield ask("who?")
        after = yield step("after")
        return [before, answer, after]

    graph, thread = ways.entrypoint(flow), ways.thread()
    ways.invoke(graph, 1, thread)
    (pending,) = graph.get_state(thread).tasks
    assert [question.value for question in pending.interrupts] == ["who?"]
    assert ways.invoke(graph, Command(resume="Ann"), thread) == ["before", "Ann", "after"]
    assert ran == ["before", "who?", "who?", "after"]


def test_several_questions_of_one_task_are_asked_in_turn(ways: Ways) -> None:
    @ways.task
    def both() -> Any:
        return interrupt("first") + interrupt("second")

    def flow(_: int) -> Any:
        return (yield both())

    graph, thread = ways.entrypoint(flow), ways.thread()
    first = asked(ways.invoke(graph, 1, thread))
    second = asked(ways.invoke(graph, Command(resume="a"), thread))
    assert (list(first), list(second)) == (["first"], ["second"])
    assert first["first"] != second["second"]
    assert ways.invoke(graph, Command(resume="b"), thread) == "ab"


def test_all_questions_of_parallel_calls_are_asked_at_once(ways: Ways) -> None:
    ran: list[str] = []

    @ways.task
    def ask(question: str) -> Any:
        ran.append(question)
        return interrupt(question)

    def flow(_: int) -> Any:
        return (yield [ask("a"), ask("b"), ask("c")])

    graph, thread = ways.entrypoint(flow), ways.thread()
    ids = asked(ways.invoke(graph, 1, thread))
    assert list(ids) == ["a", "b", "c"]
    with pytest.raises(UnknownInterruptError, match="carries one value, but 3 questions wait"):
        ways.invoke(graph, Command(resume="?"), thread)
    ran.clear()
    rest = asked(ways.invoke(graph, Command(resume={ids["b"]: "B"}), thread))
    assert list(rest) == ["a", "c"]
    assert rest["a"] == ids["a"]
    ran.clear()
    assert ways.invoke(graph, Command(resume={ids["a"]: "A", ids["c"]: "C"}), thread) == ["A", "B", "C"]
    assert sorted(ran) == ["a", "c"]


def test_a_question_that_nobody_waits_for_pauses_all_the_same(ways: Ways) -> None:
    answers: list[Any] = []

    @ways.task
    def ask() -> None:
        answers.append(interrupt("?"))

    def flow(_: int) -> Any:
        ask()
        return "done"
        yield

    graph, thread = ways.entrypoint(flow), ways.thread()
    assert list(asked(ways.invoke(graph, 1, thread))) == ["?"]
    assert ways.invoke(graph, Command(resume="yes"), thread) == "done"
    assert answers == ["yes"]


def test_siblings_of_a_call_that_asks_finish_and_do_not_run_again(ways: Ways) -> None:
    ran: list[int] = []

    @ways.task
    def double(number: int) -> int:
        ran.append(number)
        return number * 2

    @ways.task
    def ask() -> Any:
        return interrupt("?")

    def flow(_: int) -> Any:
        return (yield [double(1), ask(), double(2)])

    graph, thread = ways.entrypoint(flow), ways.thread()
    ways.invoke(graph, 1, thread)
    assert sorted(ran) == [1, 2]
    assert ways.invoke(graph, Command(resume="!"), thread) == [2, "!", 4]
    assert sorted(ran) == [1, 2]


def test_a_question_in_a_task_of_a_task_of_a_task(ways: Ways) -> None:
    ran: list[str] = []

    @ways.task
    def step(name: str) -> str:
        ran.append(name)
        return name

    def deep(level: int) -> Any:
        name = yield step(f"level {level}")
        if level == 3:
            return [name, interrupt("deep?")]
        return [name, *(yield levels[level + 1](level + 1))]

    levels = {n: task(name=f"deep{n}")(ways.flow(deep)) for n in (1, 2, 3)}

    def flow(_: int) -> Any:
        return (yield levels[1](1))

    graph, thread = ways.entrypoint(flow), ways.thread()
    ways.invoke(graph, 1, thread)
    assert ways.invoke(graph, Command(resume="yes"), thread) == ["level 1", "level 2", "level 3", "yes"]
    assert ran == ["level 1", "level 2", "level 3"]


class State(TypedDict, total=False):
    number: int
    results: list[Any]


def test_calls_of_graph_nodes_are_found_again(ways: Ways) -> None:
    ran: list[int] = []

    @ways.task
    def double(number: int) -> int:
        ran.append(number)
        return number * 2

    def body(state: State) -> Any:
        doubled = yield double(state["number"])
        return {"results": [doubled, interrupt("?")]}

    graph = StateGraph(State).add_node("node", ways.flow(body)).add_edge(START, "node").compile(ways.saver)
    thread = ways.thread()
    ways.invoke(graph, {"number": 2}, thread)
    assert ways.invoke(graph, Command(resume="x"), thread)["results"] == [4, "x"]
    assert ran == [2]


def test_calls_of_sends_are_found_again(ways: Ways) -> None:
    ran: list[int] = []

    @ways.task
    def double(number: int) -> int:
        ran.append(number)
        return number * 2

    seen: list[Any] = []

    def body(state: State) -> Any:
        doubled = yield double(state["number"])
        seen.append((doubled, interrupt(state["number"])))

    builder = StateGraph(State).add_node("node", ways.flow(body))
    builder.add_conditional_edges(START, lambda _: [Send("node", {"number": n}) for n in (1, 2)], ["node"])
    graph, thread = builder.compile(ways.saver), ways.thread()
    ids = asked(ways.invoke(graph, {"number": 0}, thread))
    ways.invoke(graph, Command(resume={ids[1]: "one", ids[2]: "two"}), thread)
    assert sorted(seen) == [(2, "one"), (4, "two")]
    assert sorted(ran) == [1, 2]


def test_nested_workflows_repeat_no_call_on_any_level(ways: Ways) -> None:
    ran: list[int] = []

    @ways.task
    def charge(amount: int) -> int:
        ran.append(amount)
        return amount * 2

    def inner_body(amount: int) -> Any:
        charged = yield charge(amount)
        return charged + interrupt("tip?")

    inner = ways.entrypoint(inner_body, checkpointer=None)

    def outer_body(amount: int) -> Any:
        first = yield charge(amount + 1)
        total = yield run_inner(amount)
        return first + total + (yield charge(100))

    @task
    def run_inner(amount: int) -> Any:
        return inner.invoke(amount)

    outer, thread = ways.entrypoint(outer_body), ways.thread()
    assert list(asked(ways.invoke(outer, 5, thread))) == ["tip?"]
    assert ways.invoke(outer, Command(resume=1), thread) == 12 + 11 + 200
    assert ran == [6, 5, 100]


def test_a_graph_below_a_call_can_be_looked_at_and_edited_while_it_waits(ways: Ways) -> None:
    class Inner(TypedDict, total=False):
        word: str
        answer: str

    def ask(state: Inner) -> Inner:
        return {"answer": f"{state['word']} {interrupt('?')}"}

    child = StateGraph(Inner).add_node("ask", ask).add_edge(START, "ask").compile()

    @ways.task
    def run_child(word: str) -> Any:
        return child.invoke({"word": word})["answer"]

    def flow(word: str) -> Any:
        return (yield run_child(word))

    graph, thread = ways.entrypoint(flow), ways.thread()
    ways.invoke(graph, "said", thread)
    spaces = [found.config["configurable"]["checkpoint_ns"] for found in ways.saver.list(thread)]
    below = {"configurable": {**thread["configurable"], "checkpoint_ns": next(filter(None, spaces))}}
    assert graph.get_state(below).values == {"word": "said"}
    assert graph.get_state(below).next == ("ask",)
    graph.update_state(below, {"word": "edited"})
    assert list(asked(ways.invoke(graph, None, thread))) == ["?"]
    assert ways.invoke(graph, Command(resume="yes"), thread) == "edited yes"


def test_a_failed_call_runs_again_and_finished_ones_do_not(ways: Ways) -> None:
    ran: list[str] = []
    broken = [True]

    @ways.task
    def good() -> str:
        ran.append("good")
        return "good"

    @ways.task
    def bad() -> str:
        ran.append("bad")
        if broken[0]:
            raise ValueError("broken")
        return "mended"

    def flow(_: int) -> Any:
        first = yield good()
        second = yield bad()
        return [first, second]

    graph, thread = ways.entrypoint(flow), ways.thread()
    with pytest.raises(ValueError, match="broken"):
        ways.invoke(graph, 1, thread)
    broken[0] = False
    assert ways.invoke(graph, None, thread) == ["good", "mended"]
    assert ran == ["good", "bad", "bad"]


def test_a_failure_that_was_caught_happens_again_where_it_did(ways: Ways) -> None:
    ran: list[str] = []

    @ways.task
    def fail() -> None:
        ran.append("fail")
        raise ValueError("no")

    def flow(_: int) -> Any:
        try:
            yield fail()
        except ValueError:
            return interrupt("what now?")

    graph, thread = ways.entrypoint(flow), ways.thread()
    ways.invoke(graph, 1, thread)
    assert ways.invoke(graph, Command(resume="go on"), thread) == "go on"
    assert ran == ["fail", "fail"]


def test_a_new_input_starts_its_calls_afresh(ways: Ways) -> None:
    ran: list[int] = []

    @ways.task
    def double(number: int) -> int:
        ran.append(number)
        return number * 2

    def flow(number: int) -> Any:
        doubled = yield double(number)
        return doubled + interrupt("?")

    graph, thread = ways.entrypoint(flow), ways.thread()
    ways.invoke(graph, 1, thread)
    ways.invoke(graph, 2, thread)
    assert ways.invoke(graph, Command(resume=10), thread) == 14
    assert ran == [1, 2]


def test_a_retried_attempt_calls_its_tasks_anew(ways: Ways) -> None:
    ran: list[int] = []

    @ways.task
    def draw() -> int:
        ran.append(len(ran))
        return ran[-1]

    def flow(_: int) -> Any:
        drawn = yield draw()
        if drawn == 0:
            raise ConnectionError("try again")
        return drawn

    policy = RetryPolicy(initial_interval=0.0001, jitter=False)
    assert ways.invoke(ways.entrypoint(flow, retry_policy=policy), 1, ways.thread()) == 1
    assert ran == [0, 1]


def test_a_resume_after_a_retried_attempt_finds_the_calls_of_the_first(ways: Ways) -> None:
    ran: list[int] = []
    broken = [True]

    @ways.task
    def draw() -> int:
        ran.append(len(ran))
        return ran[-1]

    def flow(_: int) -> Any:
        drawn = yield draw()
        if broken[0]:
            raise ConnectionError("down")
        return drawn, (yield draw())

    policy = RetryPolicy(initial_interval=0.0001, jitter=False, max_attempts=2)
    graph, thread = ways.entrypoint(flow, retry_policy=policy), ways.thread()
    with pytest.raises(ConnectionError):
        ways.invoke(graph, 1, thread)
    broken[0] = False
    assert ways.invoke(graph, None, thread) == (0, 2)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_every_durability_keeps_finished_calls(ways: Ways, durability: str) -> None:
    ran: list[int] = []

    @ways.task
    def double(number: int) -> int:
        ran.append(number)
        return number * 2

    def flow(number: int) -> Any:
        doubled = yield [double(number), double(number + 1)]
        return [*doubled, interrupt("?")]

    graph, thread = ways.entrypoint(flow), ways.thread()
    ways.invoke(graph, 1, thread, durability=durability)
    assert ways.invoke(graph, Command(resume=0), thread, durability=durability) == [2, 4, 0]
    assert sorted(ran) == [1, 2]


# ---- another process


PROGRAM = """
import sys
from stepgraph.checkpoint.sqlite import SqliteSaver
from stepgraph.func import entrypoint, task
from stepgraph.types import Command, interrupt

@task
def work(name):
    print("ran", name)
    return name.upper()

@task
def ask(question):
    return interrupt(question)

with SqliteSaver.from_conn_string(sys.argv[1]) as saver:
    @entrypoint(checkpointer=saver)
    def flow(name):
        first = work(name).result()
        answer = ask("sure?").result()
        return [first, answer, work(answer).result()]

    thread = {"configurable": {"thread_id": "1"}}
    answer = sys.argv[2:]
    print(flow.invoke(Command(resume=answer[0]) if answer else "a", thread))
"""


def test_another_process_goes_on(tmp_path: Any) -> None:
    def run(*arguments: str) -> list[str]:
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / "threads.db"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout.splitlines()

    assert run()[0] == "ran a"
    assert run("yes") == ["ran yes", "['A', 'yes', 'YES']"]


def test_a_saver_of_another_kind_keeps_calls_too(ways: Ways) -> None:
    class Plain(InMemorySaver):
        """A saver whose own `put_writes` makes the engine use the standard protocol."""

        def put_writes(self, *arguments: Any, **named: Any) -> None:
            super().put_writes(*arguments, **named)

    ran: list[int] = []

    @ways.task
    def double(number: int) -> int:
        ran.append(number)
        return number * 2

    def flow(number: int) -> Any:
        doubled = yield double(number)
        return doubled + interrupt("?")

    graph, thread = ways.entrypoint(flow, checkpointer=Plain()), ways.thread()
    ways.invoke(graph, 1, thread)
    assert ways.invoke(graph, Command(resume=1), thread) == 3
    assert ran == [1]


def test_an_answer_without_a_saver_is_an_error(ways: Ways) -> None:
    @ways.task
    def ask() -> Any:
        return interrupt("?")

    def flow(_: int) -> Any:
        return (yield ask())

    graph = entrypoint()(ways.flow(flow))
    assert list(asked(ways.invoke(graph, 1))) == ["?"]
    with pytest.raises(RuntimeError, match="without checkpointer"):
        ways.invoke(graph, Command(resume=1))
