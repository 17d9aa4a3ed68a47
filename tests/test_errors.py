"""Every error: its text, its place in the hierarchy, its attributes, and that all of it survives pickling."""

from __future__ import annotations

import pickle

import pytest

from stepgraph import errors
from stepgraph.errors import (
    EmptyChannelError,
    EmptyInputError,
    ErrorCode,
    GraphBubbleUp,
    GraphChange,
    GraphChangedError,
    GraphCheckError,
    GraphDrained,
    GraphInterrupt,
    GraphRecursionError,
    InvalidResumeError,
    InvalidUpdateError,
    NodeCancelledError,
    NodeError,
    NodeInterrupt,
    NodeTimeoutError,
    ParentCommand,
    TaskNotFound,
    TaskOrderError,
    ThreadBusyError,
    UnknownInterruptError,
    is_invalid_resume,
    mark_invalid_resume,
)
from stepgraph.values.commands import Command, Interrupt
from stepgraph.values.findings import Finding
from stepgraph.warnings import LangGraphDeprecatedSinceV10


def _node_interrupt() -> NodeInterrupt:
    with pytest.warns(LangGraphDeprecatedSinceV10):
        return NodeInterrupt("?", "i")


SAMPLES = {
    EmptyChannelError: lambda: EmptyChannelError("nothing in 'x'"),
    EmptyInputError: lambda: EmptyInputError("no input"),
    GraphBubbleUp: GraphBubbleUp,
    GraphChangedError: lambda: GraphChangedError(
        "g", "child:1", "t", "c", [GraphChange("node", "a", "'a'", "'b'", "Node 'a' is gone.", "Rename it.")]
    ),
    GraphCheckError: lambda: GraphCheckError(
        "g", [Finding("SG203", "error", "g", "", "p", "w", "m", "f.py:1")]
    ),
    GraphDrained: lambda: GraphDrained("deploy"),
    GraphInterrupt: lambda: GraphInterrupt((Interrupt("?", "i"),)),
    GraphRecursionError: lambda: GraphRecursionError("limit"),
    InvalidResumeError: lambda: InvalidResumeError("no number", interrupt_id="i", node="ask", value="x"),
    InvalidUpdateError: lambda: InvalidUpdateError(
        "two", key="x", node="a", namespace="n:1", writers=["a", "b"], code=ErrorCode.MULTIPLE_SUBGRAPHS
    ),
    NodeCancelledError: lambda: NodeCancelledError("n"),
    NodeInterrupt: _node_interrupt,
    NodeTimeoutError: lambda: NodeTimeoutError("n", 1.5, kind="run", run_timeout=1),
    ParentCommand: lambda: ParentCommand(Command(goto="x")),
    TaskNotFound: lambda: TaskNotFound("t"),
    TaskOrderError: lambda: TaskOrderError(0, "flow", "b", "a", "LangGraph"),
    ThreadBusyError: lambda: ThreadBusyError("1", "n", run_id="a", other_run_id="b", last_step=3),
    UnknownInterruptError: lambda: UnknownInterruptError(
        "which?", reason="ambiguous", interrupt_ids=["x"], pending_ids=["a", "b"]
    ),
}


def test_every_error_class_has_a_sample():
    public = {getattr(errors, name) for name in errors.__all__}
    classes = {item for item in public if isinstance(item, type) and issubclass(item, BaseException)}
    assert classes == set(SAMPLES)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [k for k in SAMPLES if k is not NodeInterrupt], ids=lambda k: k.__name__)
def test_errors_survive_pickling(kind):
    error = SAMPLES[kind]()
    twin = pickle.loads(pickle.dumps(error))
    assert type(twin) is kind
    assert str(twin) == str(error)
    assert repr(twin.args) == repr(error.args)
    assert vars(twin) == vars(error)


def test_a_node_interrupt_survives_pickling_without_a_second_warning(recwarn):
    error = _node_interrupt()
    recwarn.clear()
    twin = pickle.loads(pickle.dumps(error))
    assert type(twin) is NodeInterrupt
    assert twin.interrupts == [Interrupt("?", "i")]
    assert not recwarn.list


@pytest.mark.parametrize("kind", [GraphBubbleUp, GraphInterrupt, NodeInterrupt, ParentCommand])
def test_a_node_cannot_swallow_control_flow(kind):
    assert issubclass(kind, GraphBubbleUp)
    assert not issubclass(kind, Exception)


def test_a_drain_is_both_control_flow_and_an_exception():
    assert GraphDrained.__mro__[1:3] == (GraphBubbleUp, Exception)
    assert str(GraphDrained()) == "Graph drained: shutdown"
    assert GraphDrained("deploy").reason == "deploy"


@pytest.mark.parametrize(
    "kind", [k for k in SAMPLES if not issubclass(k, GraphBubbleUp)], ids=lambda k: k.__name__
)
def test_faults_are_exceptions(kind):
    assert issubclass(kind, Exception)


def test_the_recursion_error_is_pythons_own():
    assert issubclass(GraphRecursionError, RecursionError)


def test_interrupts_are_the_argument():
    pauses = (Interrupt("?", "i"),)
    assert GraphInterrupt(pauses).interrupts == pauses
    assert GraphInterrupt().args == ((),)


def test_a_node_interrupt_is_deprecated():
    error = _node_interrupt()
    assert error.interrupts == [Interrupt("?", "i")]
    with pytest.warns(
        LangGraphDeprecatedSinceV10, match=r"use `stepgraph\.types\.interrupt` instead"
    ) as seen:
        assert NodeInterrupt("?").interrupts[0].id == "placeholder-id"
    assert seen[0].filename == __file__


def test_a_parent_command_carries_its_command():
    assert ParentCommand(Command(goto="x")).args == (Command(goto="x"),)


def test_an_invalid_update_knows_where():
    error = SAMPLES[InvalidUpdateError]()
    assert (error.key, error.node, error.namespace, error.writers) == ("x", "a", "n:1", ("a", "b"))
    assert error.code is ErrorCode.MULTIPLE_SUBGRAPHS
    assert InvalidUpdateError("plain").writers == ()


def test_a_cancelled_node_is_named():
    assert str(NodeCancelledError("n")) == "Node 'n' raised asyncio.CancelledError"
    assert str(NodeCancelledError("n", "other")) == "other"
    assert NodeCancelledError("n", "other").node == "n"


def test_a_timeout_says_which_limit_was_passed():
    run = NodeTimeoutError("n", 1.5, kind="run", run_timeout=1)
    idle = NodeTimeoutError("n", 2, kind="idle", idle_timeout=1, run_timeout=9)
    assert str(run) == "Node 'n' exceeded its run timeout of 1.000s (elapsed: 1.500s)."
    assert (
        str(idle) == "Node 'n' exceeded its idle timeout of 1.000s without making progress (elapsed: 2.000s)."
    )
    assert (idle.timeout, idle.kind, idle.elapsed, idle.run_timeout) == (1, "idle", 2, 9)


def test_a_timeout_needs_its_limit():
    with pytest.raises(ValueError, match="idle_timeout is required when kind='idle'"):
        NodeTimeoutError("n", 1, kind="idle", run_timeout=1)
    with pytest.raises(ValueError, match="kind must be 'idle' or 'run', got 'other'"):
        NodeTimeoutError("n", 1, kind="other", run_timeout=1)


def test_a_node_error_is_a_value():
    cause = ValueError(1)
    assert NodeError("n", cause) == NodeError("n", cause)
    assert repr(NodeError("n", cause)) == "NodeError(node='n', error=ValueError(1))"
    assert not isinstance(NodeError("n", cause), BaseException)


def test_an_unknown_interrupt_lists_ids():
    error = SAMPLES[UnknownInterruptError]()
    assert isinstance(error, RuntimeError)
    assert (error.reason, error.interrupt_ids, error.pending_ids) == ("ambiguous", ("x",), ("a", "b"))


def test_a_wrong_answer_is_known():
    error = SAMPLES[InvalidResumeError]()
    assert is_invalid_resume(error)
    assert (error.interrupt_id, error.node, error.value) == ("i", "ask", "x")


def test_an_error_of_a_validator_can_be_marked_as_a_wrong_answer():
    error = ValueError("no number")
    assert not is_invalid_resume(error)
    mark_invalid_resume(error)
    assert is_invalid_resume(error)


def test_a_busy_thread_says_who_and_what_to_do():
    error = ThreadBusyError("1", "n:1", run_id="a", other_run_id="b", last_step=3)
    text = str(error)
    for part in ("'1'", "'n:1'", "run a", "run b", "last saved step: 3", "overwrote nothing", "get_state()"):
        assert part in text
    assert (error.thread_id, error.namespace, error.run_id, error.other_run_id) == ("1", "n:1", "a", "b")


def test_a_busy_thread_names_update_state():
    assert "a call of update_state" in str(ThreadBusyError("1", cause="update_state"))


def test_a_busy_thread_may_refuse_before_the_start():
    assert "did not start" in str(ThreadBusyError("1", other_run_id="b", cause="lease"))


def test_a_busy_thread_may_have_its_own_text():
    assert str(ThreadBusyError("1", message="busy")) == "busy"


def test_a_task_order_error_names_both_tasks_and_what_to_do():
    error = TaskOrderError(2, "flow", "b", "a", "LangGraph")
    assert "Call 2 of 'flow' in graph 'LangGraph' is to 'b' now, but 'a' was called there" in str(error)
    assert "@task(name=...)" in str(error)
    assert "no longer exists under its name" in str(TaskOrderError(0, "flow", "b"))
