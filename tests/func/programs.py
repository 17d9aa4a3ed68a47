"""Small workflows as data: what they call, in which order, side by side or one in the other, and where they ask.

A program is a list of operations, made by hypothesis:

    ("call", n)             one task
    ("all", [n, m, ...])    several tasks side by side
    ("ask",)                a question of the caller's own
    ("ask_all", n)          n tasks side by side that each ask
    ("task", program)       a task that runs a program of its own
    ("flow", program)       a nested workflow
    ("fail", n)             a task that fails, and whose failure is caught

Every result depends on all results before it, so a result that goes to the wrong call is seen at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from stepgraph.func import entrypoint, task
from stepgraph.runtime import get_runtime
from stepgraph.types import Command, interrupt

from .conftest import Ways

Program = list[Any]

_NUMBERS = st.integers(0, 9)


def _programs(inner: Any) -> Any:
    operation = st.one_of(
        st.tuples(st.just("call"), _NUMBERS),
        st.tuples(st.just("all"), st.lists(_NUMBERS, min_size=1, max_size=3)),
        st.tuples(st.just("ask")),
        st.tuples(st.just("ask_all"), st.integers(1, 2)),
        st.tuples(st.just("fail"), _NUMBERS),
        st.tuples(st.sampled_from(["task", "flow"]), inner),
    )
    return st.lists(operation, min_size=1, max_size=3)


PROGRAMS: st.SearchStrategy[Program] = st.recursive(
    st.lists(st.one_of(st.tuples(st.just("call"), _NUMBERS), st.tuples(st.just("ask"))), max_size=2),
    _programs,
    max_leaves=5,
)


class Workflow:
    """A program made runnable in one way; `started` counts how often each call began, by its id."""

    def __init__(self, program: Program, ways: Ways, saver: Any) -> None:
        self.ways = ways
        self.started: Counter[str] = Counter()
        self._work = ways.task(self._worked, name="work")
        self._ask = ways.task(self._asked, name="ask")
        self._fail = ways.task(self._failed, name="fail")
        self.graph = entrypoint(checkpointer=saver)(ways.flow(self._body(program, "flow")))

    def _begin(self) -> None:
        self.started[get_runtime().execution_info.task_id] += 1

    def _worked(self, number: int, before: Any) -> Any:
        self._begin()
        return (number, before)

    def _asked(self, number: int, before: Any) -> Any:
        self._begin()
        return (interrupt(f"question {number}"), before)

    def _failed(self, number: int, before: Any) -> Any:
        self._begin()
        raise KeyError(number)

    def _body(self, program: Program, name: str) -> Callable[..., Any]:
        inner = [self._inner(operation, f"{name}{place}") for place, operation in enumerate(program)]

        def body(given: Any) -> Any:
            result = given
            for operation, below in zip(program, inner, strict=True):
                result = yield from self._step(operation, below, result)
            return result

        body.__name__ = body.__qualname__ = name
        return body

    def _inner(self, operation: Any, name: str) -> Any:
        """The task or workflow that an operation runs, made once."""
        if operation[0] not in ("task", "flow"):
            return None
        flow = self.ways.flow(self._body(operation[1], name))
        if operation[0] == "task":
            return task(flow, name=name)
        graph = entrypoint()(flow)

        def run_graph(given: Any) -> Any:
            return graph.invoke(given)

        return task(run_graph, name=name)

    def _step(self, operation: Any, below: Any, result: Any) -> Any:
        kind, *details = operation
        if kind == "call":
            return (yield self._work(details[0], result))
        if kind == "all":
            return (yield [self._work(number, result) for number in details[0]])
        if kind == "ask":
            return (interrupt("question"), result)
        if kind == "ask_all":
            return (yield [self._ask(number, result) for number in range(details[0])])
        if kind == "fail":
            try:
                yield self._fail(details[0], result)
            except KeyError as error:
                return ("caught", error.args[0], result)
        return (yield below(result))

    def to_end(self, given: Any, thread: Any, **options: Any) -> Any:
        """Run, answering every question with a text of its own, until there is a result."""
        for _ in range(60):
            output = self.ways.invoke(self.graph, given, thread, **options)
            if not isinstance(output, dict) or "__interrupt__" not in output:
                return output
            given = Command(resume=answers(output["__interrupt__"]))
        raise AssertionError("the workflow asks for ever")


def answers(questions: Any) -> dict[str, str]:
    """An answer to each question."""
    return {question.id: f"answer to {question.value}" for question in questions}
