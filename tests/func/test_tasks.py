"""`@task`: when calls run, what they answer, what they find around them, and what becomes of failures."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import operator
import threading
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.config import get_config, get_stream_writer
from stepgraph.func import entrypoint, task
from stepgraph.graph import START, StateGraph
from stepgraph.pregel.drivers.calls import MAX_THREADS, TaskFuture
from stepgraph.runtime import Runtime, get_runtime
from stepgraph.types import Command, Send
from stepgraph.warnings import UncollectedFailureWarning

from .conftest import Ways


class State(TypedDict, total=False):
    numbers: Annotated[list[int], operator.add]
    number: int


def one_node(node: Any, saver: Any = None) -> Any:
    """A graph of one node."""
    return StateGraph(State).add_node("node", node).add_edge(START, "node").compile(saver)


def test_a_call_answers_what_the_function_returns(ways: Ways) -> None:
    @ways.task
    def power(base: int, *, exponent: int = 2) -> int:
        return base**exponent

    def flow(base: int) -> Any:
        square = yield power(base)
        cube = yield power(base, exponent=3)
        return (square, cube)

    assert ways.invoke(ways.entrypoint(flow), 2, ways.thread()) == (4, 8)


def test_calls_work_without_a_saver(ways: Ways) -> None:
    @ways.task
    def double(number: int) -> int:
        return number * 2

    def flow(number: int) -> Any:
        return (yield [double(number), double(number + 1)])

    assert ways.invoke(ways.entrypoint(flow, checkpointer=None), 1) == [2, 4]


def test_none_is_a_result(ways: Ways) -> None:
    @ways.task
    def nothing() -> None:
        return None

    def flow(_: int) -> Any:
        return [(yield nothing())]

    assert ways.invoke(ways.entrypoint(flow), 1, ways.thread()) == [None]


def test_calls_of_a_node_run_in_graphs_too(ways: Ways) -> None:
    @ways.task
    def double(number: int) -> int:
        return number * 2

    def body(state: State) -> Any:
        doubled = yield [double(number) for number in state["numbers"]]
        return {"numbers": doubled}

    graph = one_node(ways.flow(body), ways.saver)
    assert ways.invoke(graph, {"numbers": [1, 2]}, ways.thread()) == {"numbers": [1, 2, 2, 4]}


def test_every_send_has_calls_of_its_own(ways: Ways) -> None:
    @ways.task
    def double(number: int) -> int:
        return number * 2

    def body(state: State) -> Any:
        return {"numbers": [(yield double(state["number"]))]}

    builder = StateGraph(State).add_node("node", ways.flow(body))
    builder.add_conditional_edges(START, lambda _: [Send("node", {"number": n}) for n in (1, 2, 3)], ["node"])
    assert ways.invoke(builder.compile(ways.saver), {"numbers": []}, ways.thread()) == {"numbers": [2, 4, 6]}


def test_tasks_call_tasks(ways: Ways) -> None:
    @ways.task
    def double(number: int) -> int:
        return number * 2

    def twice(number: int) -> Any:
        once = yield double(number)
        return (yield double(once))

    outer = task(ways.flow(twice))

    def flow(number: int) -> Any:
        return (yield [outer(number), outer(number + 1)])

    assert ways.invoke(ways.entrypoint(flow), 1, ways.thread()) == [4, 8]


def test_calls_are_at_work_at_the_same_time(ways: Ways) -> None:
    together = threading.Barrier(3, timeout=20)

    @task
    def meet(number: int) -> int:
        together.wait()
        return number

    def flow(_: int) -> Any:
        return (yield [meet(1), meet(2), meet(3)])

    assert ways.invoke(ways.entrypoint(flow), 1, ways.thread()) == [1, 2, 3]


def test_coroutines_are_at_work_at_the_same_time(ways: Ways) -> None:
    arrived: list[int] = []

    @task
    async def meet(number: int) -> int:
        arrived.append(number)
        while len(arrived) < 3:
            await asyncio.sleep(0)
        return number

    def flow(_: int) -> Any:
        return (yield [meet(1), meet(2), meet(3)])

    assert ways.invoke(ways.entrypoint(flow), 1, ways.thread()) == [1, 2, 3]


def test_more_calls_than_threads_all_run(ways: Ways) -> None:
    @ways.task
    def double(number: int) -> int:
        return number * 2

    def flow(count: int) -> Any:
        return (yield [double(number) for number in range(count)])

    count = 2 * MAX_THREADS + 3
    assert ways.invoke(ways.entrypoint(flow), count, ways.thread()) == [2 * n for n in range(count)]


def test_one_caller_has_a_bounded_number_of_threads() -> None:
    at_work, most, lock = [0], [0], threading.Lock()

    @task
    def work() -> None:
        with lock:
            at_work[0] += 1
            most[0] = max(most[0], at_work[0])
        threading.Event().wait(0.001)
        with lock:
            at_work[0] -= 1

    @entrypoint()
    def flow(count: int) -> int:
        return len([future.result() for future in [work() for _ in range(count)]])

    assert flow.invoke(3 * MAX_THREADS) == 3 * MAX_THREADS
    assert most[0] <= MAX_THREADS


def test_a_call_that_nobody_waits_for_ends_before_the_run(ways: Ways) -> None:
    ended: list[str] = []

    @ways.task
    def work() -> None:
        threading.Event().wait(0.02)
        ended.append("work")

    def flow(_: int) -> Any:
        work()
        return list(ended)
        yield

    ways.invoke(ways.entrypoint(flow), 1, ways.thread())
    assert ended == ["work"]


@pytest.mark.parametrize("limit", [1, 2])
def test_max_concurrency_bounds_calls_and_their_callers_hold_no_slot(ways: Ways, limit: int) -> None:
    at_work, most, lock = [0], [0], threading.Lock()

    @ways.task
    def work(number: int) -> int:
        with lock:
            at_work[0] += 1
            most[0] = max(most[0], at_work[0])
        threading.Event().wait(0.002)
        with lock:
            at_work[0] -= 1
        return number

    def several(first: int) -> Any:
        return (yield [work(first), work(first + 1)])

    group = task(ways.flow(several))

    def flow(_: int) -> Any:
        return (yield [work(0), group(1), group(3), work(5)])

    out = ways.invoke(ways.entrypoint(flow), 1, ways.thread(max_concurrency=limit))
    assert out == [0, [1, 2], [3, 4], 5]
    assert most[0] <= limit


# ---- futures


def test_code_of_a_coroutine_gets_an_asyncio_future() -> None:
    @task
    def sync_task() -> int:
        return 1

    @task
    async def async_task() -> int:
        return 2

    @entrypoint()
    async def flow(_: int) -> Any:
        futures = [sync_task(), async_task()]
        assert all(isinstance(future, asyncio.Future) for future in futures)
        done, _rest = await asyncio.wait(futures)
        first = [await future for future in asyncio.as_completed([sync_task(), async_task()])]
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(_await(async_task()))
        return sorted(future.result() for future in done), sorted(first), waiting.result()

    async def _await(future: Any) -> Any:
        return await future

    assert asyncio.run(flow.ainvoke(1)) == ([1, 2], [1, 2], 2)
    assert flow.invoke(1) == ([1, 2], [1, 2], 2)


def test_other_code_gets_a_future_of_the_standard_kind() -> None:
    @task
    def sync_task() -> int:
        return 1

    @task
    async def async_task() -> int:
        return 2

    @entrypoint()
    def flow(_: int) -> Any:
        futures = [sync_task(), async_task()]
        assert all(isinstance(future, concurrent.futures.Future) for future in futures)
        done, rest = concurrent.futures.wait(futures)
        assert not rest
        return sorted(future.result() for future in concurrent.futures.as_completed(done))

    assert flow.invoke(1) == [1, 2]
    assert asyncio.run(flow.ainvoke(1)) == [1, 2]


def test_a_synchronous_flow_below_a_running_event_loop_gets_a_future_of_the_standard_kind() -> None:
    @task
    def sync_task() -> int:
        return 1

    @task
    async def async_task() -> int:
        return 2

    @entrypoint()
    def flow(_: int) -> Any:
        return sync_task().result() + async_task().result()

    async def notebook() -> Any:
        return flow.invoke(1)

    assert asyncio.run(notebook()) == 3


def test_a_future_of_the_standard_kind_can_be_awaited() -> None:
    @task
    def one() -> int:
        return 1

    @entrypoint()
    def flow(_: int) -> Any:
        async def inner() -> Any:
            return await one(), await asyncio.gather(one(), one())

        return asyncio.run(inner())

    assert flow.invoke(1) == (1, [1, 1])


def test_threads_that_carry_the_context_and_threads_of_asyncio_may_call() -> None:
    @task
    def double(number: int) -> int:
        return number * 2

    @entrypoint()
    def in_thread(number: int) -> Any:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            context = contextvars.copy_context()
            return pool.submit(context.run, lambda: double(number).result()).result()

    @entrypoint()
    async def to_thread(number: int) -> Any:
        def call() -> int:
            future = double(number)
            assert isinstance(future, TaskFuture)
            return future.result()

        return await asyncio.to_thread(call)

    assert in_thread.invoke(2) == 4
    assert asyncio.run(to_thread.ainvoke(3)) == 6


def test_result_with_a_timeout_gives_up_waiting() -> None:
    go_on = threading.Event()

    @task
    def slow() -> int:
        go_on.wait(20)
        return 1

    @entrypoint()
    def flow(_: int) -> Any:
        future = slow()
        with pytest.raises(TimeoutError):
            future.result(timeout=0.001)
        go_on.set()
        return future.result()

    assert flow.invoke(1) == 1


# ---- failures


def test_a_failure_reaches_the_result_and_says_where_it_happened(ways: Ways) -> None:
    @ways.task
    def fail(number: int) -> int:
        raise ValueError(f"no {number}")

    def flow(number: int) -> Any:
        try:
            yield fail(number)
        except ValueError as error:
            return str(error), error.__notes__

    text, notes = ways.invoke(ways.entrypoint(flow), 3, ways.thread())
    assert text == "no 3"
    assert len(notes) == 1
    assert notes[0].startswith("During task with name 'fail' and id ")
    assert "step 0 of graph 'LangGraph'" in notes[0]


def test_a_failure_that_is_not_caught_fails_the_run_with_the_same_exception(ways: Ways) -> None:
    raised: list[Exception] = []

    @ways.task
    def fail() -> int:
        raised.append(ValueError("no"))
        raise raised[0]

    def flow(_: int) -> Any:
        yield fail()

    with pytest.raises(ValueError, match="no") as caught:
        ways.invoke(ways.entrypoint(flow), 1, ways.thread())
    assert caught.value is raised[0]


def test_a_failure_that_nobody_looks_at_is_reported(ways: Ways) -> None:
    @ways.task
    def fail() -> int:
        raise ValueError("no")

    def flow(_: int) -> Any:
        fail()
        return "done"
        yield

    with pytest.warns(UncollectedFailureWarning, match=r"Task 'fail', call 0 of 'flow'.*ValueError.'no'"):
        assert ways.invoke(ways.entrypoint(flow), 1, ways.thread()) == "done"


def test_looking_at_a_failure_is_no_reason_to_warn(ways: Ways, recwarn: pytest.WarningsRecorder) -> None:
    @ways.task
    def fail() -> int:
        raise ValueError("no")

    def flow(_: int) -> Any:
        try:
            yield [fail(), fail()]
        except ValueError:
            return "done"

    def looked(_: int) -> Any:
        future = fail()
        try:
            yield future
        except ValueError:
            return "done"

    assert ways.invoke(ways.entrypoint(looked), 1, ways.thread()) == "done"
    assert [w for w in recwarn if w.category is UncollectedFailureWarning] == []


def test_a_result_that_cannot_be_stored_fails_the_call(ways: Ways) -> None:
    @ways.task
    def open_file() -> Any:
        return threading.Lock()

    def flow(_: int) -> Any:
        yield open_file()

    with pytest.raises(Exception, match="__return__") as caught:
        ways.invoke(ways.entrypoint(flow), 1, ways.thread())
    assert "During task with name 'open_file'" in caught.value.__notes__[0]


def test_calling_outside_of_a_run_is_an_error() -> None:
    @task
    def double(number: int) -> int:
        return number * 2

    with pytest.raises(RuntimeError, match="Called task 'double' outside of a graph's run"):
        double(1)
    assert double.func(2) == 4


def test_calling_after_the_caller_has_ended_is_an_error() -> None:
    @task
    def double(number: int) -> int:
        return number * 2

    ended, late = threading.Event(), []

    @entrypoint()
    def flow(number: int) -> int:
        context = contextvars.copy_context()

        def stray() -> None:
            ended.wait(20)
            try:
                context.run(double, number)
            except RuntimeError as error:
                late.append(str(error))

        late.append(threading.Thread(target=stray))
        late[0].start()
        return double(number).result()

    assert flow.invoke(1) == 2
    ended.set()
    late[0].join()
    assert "after 'flow', to which the calling code belongs, had ended" in late[1]


def test_only_callables_are_tasks() -> None:
    with pytest.raises(TypeError, match="got 3 of type int"):
        task(3)  # type: ignore[call-overload]


# ---- what a task finds around it


def test_a_task_has_a_config_runtime_and_writer_of_its_own(ways: Ways) -> None:
    seen: dict[str, Any] = {}

    @ways.task
    def look() -> None:
        config, runtime = get_config(), get_runtime()
        seen["metadata"] = {k: v for k, v in config["metadata"].items() if k.startswith("langgraph")}
        seen["map"] = config["configurable"]["checkpoint_map"]
        seen["info"] = runtime.execution_info
        seen["previous"] = runtime.previous
        get_stream_writer()("from the task")

    def flow(_: int, *, previous: Any) -> Any:
        yield look()

    graph, thread = ways.entrypoint(flow), ways.thread()
    assert ways.stream(graph, 1, thread, stream_mode="custom") == ["from the task"]
    info = seen["info"]
    caller = info.checkpoint_ns.split("|")[0]
    assert info.checkpoint_ns == f"{caller}|look:{info.task_id}"
    assert seen["metadata"] == {
        "langgraph_step": 0,
        "langgraph_node": "look",
        "langgraph_triggers": ("__pregel_push",),
        "langgraph_path": ("__pregel_push", ("__pregel_pull", "flow"), 0, True),
        "langgraph_checkpoint_ns": info.checkpoint_ns,
    }
    assert seen["map"] == {"": info.checkpoint_id, caller: info.checkpoint_id}
    assert seen["previous"] is None


def test_what_the_caller_does_not_pass_is_injected(ways: Ways) -> None:
    @ways.task
    def named(config: Any) -> Any:
        return type(config).__name__

    @ways.task
    def mixed(number: int, runtime: Runtime[Any], *, store: Any = "own", writer: Any = None) -> Any:
        return number, type(runtime).__name__, store, callable(writer)

    def flow(_: int) -> Any:
        return (yield [named(), named("mine"), named(config=5), mixed(1), mixed(2, store="given")])

    assert ways.invoke(ways.entrypoint(flow), 1, ways.thread()) == [
        "dict",
        "str",
        "int",
        (1, "Runtime", None, True),
        (2, "Runtime", "given", True),
    ]


def test_context_variables_reach_a_task_and_do_not_leak_back(ways: Ways) -> None:
    variable = contextvars.ContextVar("variable", default="unset")

    @ways.task
    def change() -> str:
        found = variable.get()
        variable.set("changed")
        return found

    def flow(_: int) -> Any:
        variable.set("set")
        found = yield change()
        return found, variable.get()

    assert ways.invoke(ways.entrypoint(flow), 1, ways.thread()) == ("set", "set")


def test_a_graph_inside_a_task_lives_below_the_call(ways: Ways) -> None:
    child = StateGraph(State).add_node("leaf", lambda _: {"number": 5}).add_edge(START, "leaf").compile()

    @ways.task
    def run_child() -> Any:
        return child.invoke({"number": 1})["number"]

    def flow(_: int) -> Any:
        return (yield run_child())

    graph, thread = ways.entrypoint(flow), ways.thread()
    assert ways.invoke(graph, 1, thread) == 5
    spaces = {found.config["configurable"]["checkpoint_ns"] for found in ways.saver.list(thread)}
    below = next(space for space in spaces if space)
    assert [part.split(":")[0] for part in below.split("|")] == ["flow", "run_child"]


def test_a_graph_inside_a_task_hands_control_to_the_node_that_called(ways: Ways) -> None:
    child = (
        StateGraph(State)
        .add_node("leaf", lambda _: Command(graph=Command.PARENT, update={"number": 7}))
        .add_edge(START, "leaf")
        .compile()
    )

    @ways.task
    def run_child() -> Any:
        return child.invoke({"number": 1})

    def body(_: State) -> Any:
        yield run_child()

    out = ways.invoke(one_node(ways.flow(body), ways.saver), {"number": 0}, ways.thread())
    assert out["number"] == 7


def test_names_and_documentation_stay() -> None:
    @task
    def documented(number: int) -> int:
        """What it does."""
        return number

    assert (documented.__name__, documented.__doc__) == ("documented", "What it does.")
    assert task(documented.func, name="other").__name__ == "other"
    assert repr(documented) == "<task 'documented'>"


def test_nothing_is_left_on_a_node_that_calls_no_task() -> None:
    seen: list[Any] = []

    def node(state: State) -> State:
        from stepgraph.pregel.task import current_task

        seen.append(current_task())
        return {"number": 1}

    one_node(node, InMemorySaver()).invoke({"number": 0}, {"configurable": {"thread_id": "1"}})
    assert seen[0].calls is None
    assert seen[0].swallowed is None
