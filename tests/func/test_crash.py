"""A workflow that is cut after any save goes on to the result of one that was not, and repeats no stored call.

The steps of each test: 1. run the program to its end, 2. run it again with a saver that dies after the k-th save, 3. make
the workflow anew over what was stored, as another process would, 4. go on to the end; compare the results, and see that no
call began again whose result was stored at the cut.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postgres_server import database
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.checkpoint.sqlite import SqliteSaver
from stepgraph.types import Command

from .conftest import WAYS, Ways
from .programs import PROGRAMS, Program, Workflow, answers

THREAD = {"configurable": {"thread_id": "1"}}
LONG: Program = [
    ("call", 1),
    ("all", [2, 3]),
    ("ask_all", 2),
    ("task", [("call", 4), ("ask",), ("call", 5)]),
    ("flow", [("call", 6), ("ask_all", 2), ("fail", 7), ("call", 8)]),
    ("call", 9),
]


class Cut(Exception):
    """What a save raises after the cut."""


class Memory(InMemorySaver):
    """A memory saver that dies after so many saves."""

    left: int | None = None
    saves = 0

    def _spend(self) -> None:
        if self.left is not None:
            if self.left <= 0:
                raise Cut("the process ended before this save")
            self.left -= 1
        self.saves += 1

    def put(self, *arguments: Any, **named: Any) -> Any:
        self._spend()
        return super().put(*arguments, **named)

    def put_step(self, *arguments: Any, **named: Any) -> None:
        self._spend()
        super().put_step(*arguments, **named)

    def put_writes(self, *arguments: Any, **named: Any) -> None:
        self._spend()
        super().put_writes(*arguments, **named)

    def get_tuple(self, *arguments: Any, **named: Any) -> Any:
        return super().get_tuple(*arguments, **named)


def dying(base: Any) -> Any:
    """The same for a saver in a database: a save is one batch that would be stored in one transaction."""

    class Dying(base):  # type: ignore[misc]
        left: int | None = None
        saves = 0

        def store(self, *arguments: Any, **named: Any) -> None:
            if self.left is not None:
                if self.left <= 0:
                    raise Cut("the process ended before this save")
                self.left -= 1
            self.saves += 1
            super().store(*arguments, **named)

    return Dying


@contextmanager
def stored(kind: str) -> Iterator[Any]:
    """A function that opens the one saver of this kind anew, as each process would."""
    if kind == "memory":
        saver = Memory()
        yield lambda: saver
        return
    if kind == "postgres":
        with database() as url:
            from stepgraph.checkpoint.postgres import PostgresSaver

            with dying(PostgresSaver).from_conn_string(url) as opened:
                yield lambda: opened
        return
    saver_in_file = dying(SqliteSaver)
    with (
        TemporaryDirectory() as folder,
        saver_in_file.from_conn_string(str(Path(folder) / "threads.db")) as opened,
    ):
        yield lambda: opened


def stored_calls(saver: Any) -> set[str]:
    """The ids of all calls whose results are stored, on all levels."""
    return {
        task_id
        for found in saver.list(THREAD)
        for task_id, channel, _ in found.pending_writes or ()
        if channel == "__return__"
    }


def go_on(workflow: Workflow, saver: Any, durability: str) -> Any:
    """What a person does after a crash: look at the thread, answer what it asks, and let it go on."""
    found = saver.get_tuple(THREAD)
    if found is None:
        return workflow.to_end(0, THREAD, durability=durability)
    state = workflow.graph.get_state(THREAD)
    if not state.next:
        return state.values
    given = Command(resume=answers(state.interrupts)) if state.interrupts else None
    return workflow.to_end(given, THREAD, durability=durability)


def run_cut(program: Program, way: Any, kind: str, durability: str, saves: int) -> tuple[Any, int]:
    """Run a program with a cut, and go on; answers the result, and how many saves there were before the cut."""
    with stored(kind) as opened:
        ways = Ways(*way, None)
        saver = opened()
        before, saver.left = saver.saves, saves
        try:
            Workflow(program, ways, saver).to_end(0, THREAD, durability=durability)
        except Cut:
            assert saver.left == 0
        done, saver.left = saver.saves - before, None
        kept = stored_calls(saver)
        again = Workflow(program, ways, opened())
        result = go_on(again, saver, durability)
        assert not kept & again.started.keys(), "a call ran again although its result was stored"
        return result, done


def uncut(program: Program, way: Any) -> Any:
    return Workflow(program, Ways(*way, None), InMemorySaver()).to_end(0, THREAD)


def cut_everywhere(way: Any, kind: str, durability: str, stride: int) -> None:
    """Cut the long workflow after its first save, and then `stride` saves later each time."""
    expected = uncut(LONG, way)
    saves, cut = 0, True
    while cut:
        result, done = run_cut(LONG, way, kind, durability, saves)
        assert result == expected
        cut = done == saves
        saves += stride


@pytest.mark.parametrize("durability", ["sync", "async"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(way))
def test_a_long_workflow_goes_on_from_any_save(way: Any, durability: str) -> None:
    cut_everywhere(way, "memory", durability, 1)


@pytest.mark.parametrize("durability", ["sync", "async"])
@pytest.mark.parametrize("way", [WAYS[0], WAYS[3], WAYS[5], WAYS[6]], ids=lambda way: "-".join(way))
def test_a_long_workflow_in_a_file_goes_on_from_any_save(way: Any, durability: str) -> None:
    cut_everywhere(way, "sqlite", durability, 4)


@pytest.mark.parametrize("durability", ["sync", "async"])
@pytest.mark.parametrize("way", [WAYS[0], WAYS[5]], ids=lambda way: "-".join(way))
def test_a_long_workflow_on_a_server_goes_on_from_any_save(way: Any, durability: str) -> None:
    cut_everywhere(way, "postgres", durability, 7)


@settings(max_examples=60, deadline=None)
@given(
    program=PROGRAMS,
    way=st.sampled_from(WAYS),
    kind=st.sampled_from(["memory", "sqlite"]),
    durability=st.sampled_from(["sync", "async"]),
    data=st.data(),
)
def test_any_workflow_goes_on_from_any_save(
    program: Program, way: Any, kind: str, durability: str, data: st.DataObject
) -> None:
    expected = uncut(program, way)
    saves = data.draw(st.integers(0, 40), label="saves before the cut")
    result, _ = run_cut(program, way, kind, durability, saves)
    assert result == expected


@settings(max_examples=60, deadline=None)
@given(program=PROGRAMS, way=st.sampled_from(WAYS), durability=st.sampled_from(["sync", "async", "exit"]))
def test_pausing_and_resuming_repeats_nothing(program: Program, way: Any, durability: str) -> None:
    workflow = Workflow(program, Ways(*way, None), InMemorySaver())
    expected = uncut(program, way)
    assert workflow.to_end(0, THREAD, durability=durability) == expected
    kept = stored_calls(workflow.graph.checkpointer)
    if durability != "exit":
        asking = {t for t, n in workflow.started.items() if n > 1}
        answered = {
            task_id
            for found in workflow.graph.checkpointer.list(THREAD)
            for task_id, channel, _ in found.pending_writes or ()
            if channel in ("__resume__", "__error__")
        }
        below_a_question = asking - answered
        assert not below_a_question & kept


async def cancelled_after(workflow: Workflow, turns: int) -> None:
    """Run until the event loop has turned so often, then cancel, and see that nothing is left."""
    run = asyncio.create_task(workflow.graph.ainvoke(0, THREAD))
    for _ in range(turns):
        if run.done():
            break
        await asyncio.sleep(0)
    run.cancel()
    await asyncio.wait([run])
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144])
@pytest.mark.parametrize("way", [w for w in WAYS if w[0] == "async"], ids=lambda way: "-".join(way))
def test_a_run_that_is_cancelled_anywhere_goes_on(way: Any, turns: int) -> None:
    saver = InMemorySaver()
    asyncio.run(cancelled_after(Workflow(LONG, Ways(*way, None), saver), turns))
    kept = stored_calls(saver)
    again = Workflow(LONG, Ways(*way, None), saver)
    assert go_on(again, saver, "async") == uncut(LONG, way)
    assert not kept & again.started.keys()
