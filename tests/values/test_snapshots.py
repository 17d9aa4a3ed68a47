"""Snapshots and tasks are plain tuples with names."""

from __future__ import annotations

from collections import deque
from dataclasses import FrozenInstanceError

import pytest

from stepgraph.values.snapshots import PregelExecutableTask, PregelTask, StateSnapshot, StateUpdate


def test_a_task_of_a_snapshot_has_defaults():
    assert PregelTask("i", "n", ()) == ("i", "n", (), None, (), None, None)


def test_an_update_has_defaults():
    assert StateUpdate({"a": 1}) == ({"a": 1}, None, None)


def test_a_snapshot_names_its_parts():
    snapshot = StateSnapshot({"a": 1}, ("n",), {}, None, None, None, (), ())
    assert snapshot.values == {"a": 1}
    assert snapshot.next == ("n",)
    assert snapshot._fields[-1] == "interrupts"


def test_an_executable_task_is_frozen():
    task = PregelExecutableTask("n", 1, None, deque(), {}, ["t"], [], None, "i", ())
    assert (task.name, task.writers, task.timeout) == ("n", (), None)
    with pytest.raises(FrozenInstanceError):
        task.name = "m"
