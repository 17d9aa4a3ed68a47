"""Records answer like dataclasses, and `dataclasses` is imported only when somebody asks."""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import subprocess
import sys

import pytest

from stepgraph.values.commands import Command, Interrupt, Overwrite
from stepgraph.values.parts import GraphOutput
from stepgraph.values.policies import CachePolicy, TimeoutPolicy, TracePolicy
from stepgraph.values.record import FrozenRecord, set_slot
from stepgraph.values.runtime import ExecutionInfo, Runtime, ServerInfo

FROZEN = [
    Command(update="x"),
    TimeoutPolicy(run_timeout=1),
    CachePolicy(ttl=3),
    TracePolicy(),
    GraphOutput(1),
    Runtime(context=1),
    ExecutionInfo("c", "n", "t"),
    ServerInfo("a", "g"),
]
CHANGEABLE = [Overwrite(1), Interrupt(1, "i")]


@pytest.mark.parametrize("record", FROZEN + CHANGEABLE, ids=lambda r: type(r).__name__)
def test_dataclass_functions_work(record):
    assert dataclasses.is_dataclass(record)
    names = [field.name for field in dataclasses.fields(record)]
    assert names == list(type(record).record_fields)
    assert dataclasses.replace(record) == record
    assert list(dataclasses.asdict(record)) == names


@pytest.mark.parametrize("record", FROZEN + CHANGEABLE, ids=lambda r: type(r).__name__)
def test_copies_and_pickles_are_equal(record):
    assert copy.copy(record) == record
    assert copy.deepcopy(record) == record
    assert pickle.loads(pickle.dumps(record)) == record


@pytest.mark.parametrize("record", FROZEN, ids=lambda r: type(r).__name__)
def test_frozen_records_refuse_change(record):
    name = type(record).record_fields[0]
    with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{name}'"):
        setattr(record, name, 2)
    with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot delete field '{name}'"):
        delattr(record, name)


@pytest.mark.parametrize("record", FROZEN, ids=lambda r: type(r).__name__)
def test_equal_frozen_records_have_equal_hashes(record):
    assert hash(dataclasses.replace(record)) == hash(record)


@pytest.mark.parametrize("record", CHANGEABLE, ids=lambda r: type(r).__name__)
def test_changeable_records_have_no_hash(record):
    with pytest.raises(TypeError, match="unhashable"):
        hash(record)


def test_records_of_different_classes_differ():
    assert GraphOutput(1) != Overwrite(1)


def test_a_record_that_contains_itself_has_a_repr():
    loop = Overwrite([])
    loop.value.append(loop)
    assert repr(loop) == "Overwrite(value=[...], type='__overwrite__')"


def test_defaults_of_fields_are_those_of_the_constructor():
    fields = {field.name: field.default for field in dataclasses.fields(Command)}
    assert fields == {"graph": None, "update": None, "resume": None, "goto": ()}
    assert Command.__dataclass_params__.frozen


def test_records_do_not_import_dataclasses():
    code = (
        "import sys, stepgraph.values.commands, stepgraph.errors, stepgraph.values.runtime\n"
        "assert 'dataclasses' not in sys.modules, 'dataclasses was imported'"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_looking_at_a_base_does_not_hide_the_fields_of_its_records():
    class Place(FrozenRecord):
        __slots__ = ("x",)
        record_fields = ("x",)

        def __init__(self, x: int) -> None:
            set_slot(self, "x", x)

    assert not dataclasses.is_dataclass(FrozenRecord)
    assert [field.name for field in dataclasses.fields(Place)] == ["x"]
