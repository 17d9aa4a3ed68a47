"""Runtime and what hangs on it: merging, patching, the drain flag, the idempotency key."""

from __future__ import annotations

import threading

import pytest

from stepgraph.values.runtime import (
    ExecutionInfo,
    RunControl,
    Runtime,
    ServerInfo,
    no_heartbeat,
    no_stream_writer,
)

INFO = ExecutionInfo("c", "n:1", "t", thread_id="1")


def test_a_bare_runtime_does_nothing():
    runtime = Runtime()
    assert runtime.stream_writer("x") is None
    assert runtime.heartbeat() is None
    assert runtime.context is None
    assert not runtime.drain_requested
    assert runtime.drain_reason is None


def test_what_the_other_has_wins_in_a_merge():
    one = Runtime(context=1, store="s", stream_writer=print, execution_info=INFO)
    two = Runtime(context=2, heartbeat=len, server_info=ServerInfo("a", "g"))
    merged = one.merge(two)
    assert (merged.context, merged.store, merged.stream_writer, merged.heartbeat) == (2, "s", print, len)
    assert merged.execution_info is INFO
    assert merged.server_info == ServerInfo("a", "g")


def test_a_merge_with_a_bare_one_keeps_everything():
    full = Runtime(
        context=1,
        store="s",
        stream_writer=print,
        heartbeat=len,
        previous=0,
        execution_info=INFO,
        control=RunControl(),
    )
    assert full.merge(Runtime()) == full
    assert Runtime().merge(full) == full


def test_a_previous_value_that_is_falsy_wins():
    assert Runtime(previous=5).merge(Runtime(previous=0)).previous == 0


def test_an_override_changes_one_field():
    assert Runtime(context=1, store="s").override(context=2) == Runtime(context=2, store="s")


def test_an_override_of_an_unknown_field_is_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        Runtime().override(nonsense=1)


def test_execution_info_can_be_patched():
    patched = Runtime(execution_info=INFO).patch_execution_info(node_attempt=3)
    assert patched.execution_info == ExecutionInfo("c", "n:1", "t", thread_id="1", node_attempt=3)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        INFO.patch(nonsense=1)


def test_patching_what_is_not_there_is_an_error():
    with pytest.raises(RuntimeError, match="Cannot patch execution_info before it has been set"):
        Runtime().patch_execution_info(node_attempt=3)


def test_the_idempotency_key_is_the_same_for_each_attempt_and_run():
    first = Runtime(execution_info=INFO)
    second = Runtime(execution_info=INFO.patch(node_attempt=2, run_id="other", node_first_attempt_time=1.0))
    assert first.idempotency_key == second.idempotency_key
    assert len(first.idempotency_key) == 32


@pytest.mark.parametrize("change", [{"task_id": "u"}, {"thread_id": "2"}, {"checkpoint_ns": "m:1"}])
def test_the_idempotency_key_of_another_task_differs(change):
    key = Runtime(execution_info=INFO).idempotency_key
    assert Runtime(execution_info=INFO.patch(**change)).idempotency_key != key


def test_there_is_no_idempotency_key_outside_of_a_task():
    assert Runtime().idempotency_key is None


def test_a_drain_is_seen_with_its_reason():
    control = RunControl()
    runtime = Runtime(control=control)
    assert (control.drain_requested, control.drain_reason) == (False, None)
    control.request_drain()
    assert (runtime.drain_requested, runtime.drain_reason) == (True, "shutdown")
    control.request_drain("deploy")
    assert runtime.drain_reason == "deploy"


def test_a_drain_is_seen_from_another_thread():
    control = RunControl()
    thread = threading.Thread(target=control.request_drain, args=("deploy",))
    thread.start()
    thread.join()
    assert control.drain_reason == "deploy"


def test_defaults_are_the_silent_functions():
    assert Runtime().stream_writer is no_stream_writer
    assert Runtime().heartbeat is no_heartbeat
