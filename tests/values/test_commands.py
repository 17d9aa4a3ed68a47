"""Send, Command, Overwrite, Interrupt: what they hold, how they compare, and that nothing is lost in copies."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import dataclass
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepgraph.values.commands import Command, Interrupt, Overwrite, Send, ToolOutput, resume_of
from stepgraph.values.missing import MISSING
from stepgraph.values.policies import TimeoutPolicy
from stepgraph.warnings import LangGraphDeprecatedSinceV10

falsy = st.sampled_from([None, False, 0, "", [], {}, 0.0, b""])


def test_a_send_shows_node_and_argument():
    assert repr(Send("n", {"a": 1})) == "Send(node='n', arg={'a': 1})"


def test_a_send_turns_its_timeout_into_a_policy():
    assert Send("n", 1, timeout=3).timeout == TimeoutPolicy(run_timeout=3.0)
    assert Send("n", 1, timeout=timedelta(seconds=2)).timeout == TimeoutPolicy(run_timeout=2.0)
    assert Send("n", 1).timeout is None


def test_a_send_refuses_a_timeout_that_is_over_at_once():
    with pytest.raises(ValueError, match="run_timeout must be greater than 0, got -1"):
        Send("n", 1, timeout=-1)


def test_sends_compare_by_value():
    assert Send("n", [1]) == Send("n", [1])
    assert Send("n", 1) != Send("m", 1)
    assert Send("n", 1) != Send("n", 1, timeout=2)
    assert Send("n", 1) != ("n", 1)
    assert len({Send("n", 1), Send("n", 1)}) == 1


def test_a_send_hashes_only_if_its_argument_does():
    with pytest.raises(TypeError, match="unhashable"):
        hash(Send("n", [1]))


def test_sends_survive_pickling_and_copying():
    send = Send("n", {"a": [1]}, timeout=3)
    assert pickle.loads(pickle.dumps(send)) == send
    assert copy.deepcopy(send) == send


def test_an_empty_command_shows_nothing():
    assert repr(Command()) == "Command()"
    assert repr(Command(update={"a": 1}, goto="x")) == "Command(update={'a': 1}, goto='x')"


def test_a_command_takes_no_positional_arguments():
    with pytest.raises(TypeError):
        Command("x")


def test_the_parent_has_a_name():
    assert Command.PARENT == "__parent__"


@given(falsy)
def test_every_answer_is_an_answer(answer):
    command = Command(resume=answer)
    assert command.resume_given
    assert resume_of(command) == answer
    assert command.resume == answer
    assert command != Command()


def test_no_answer_is_missing():
    assert resume_of(Command(update={"a": 1})) is MISSING
    assert Command().resume is None


@given(falsy)
def test_an_answer_survives_copies(answer):
    command = Command(resume=answer, goto="x")
    for twin in (
        copy.copy(command),
        copy.deepcopy(command),
        pickle.loads(pickle.dumps(command)),
        dataclasses.replace(command),
        dataclasses.replace(command, goto="y"),
    ):
        assert twin.resume_given
        assert type(twin.resume) is type(answer)
        assert twin.resume == answer


def test_replacing_a_field_does_not_invent_an_answer():
    command = dataclasses.replace(Command(goto="x"), update={"a": 1})
    assert command == Command(goto="x", update={"a": 1})
    assert not command.resume_given


def test_replacing_the_answer_gives_one():
    assert resume_of(dataclasses.replace(Command(goto="x"), resume=7)) == 7


def test_the_repr_shows_an_answer_of_none():
    assert repr(Command(resume=None)) == "Command(resume=None)"


def test_commands_hash_by_value():
    assert hash(Command(goto="x")) == hash(Command(goto="x"))
    assert Command(resume=None) not in {Command()}


@pytest.mark.parametrize(
    ("update", "pairs"),
    [
        (None, []),
        ({}, []),
        ([], []),
        ({"a": 1, "b": 2}, [("a", 1), ("b", 2)]),
        ([("a", 1), ("a", 2)], [("a", 1), ("a", 2)]),
        ((("a", 1),), (("a", 1),)),
        (3, [("__root__", 3)]),
        (0, [("__root__", 0)]),
        ("x", [("__root__", "x")]),
        ([1], [("__root__", [1])]),
        ([("a", 1, 2)], [("__root__", [("a", 1, 2)])]),
        ([(1, "a")], [("__root__", [(1, "a")])]),
    ],
)
def test_an_update_becomes_pairs(update, pairs):
    assert Command(update=update)._update_as_tuples() == pairs


def test_an_object_as_update_gives_its_annotated_fields():
    @dataclass
    class Base:
        a: int

    @dataclass
    class State(Base):
        b: list[int]

    assert Command(update=State(1, [2]))._update_as_tuples() == [("a", 1), ("b", [2])]


def test_an_attribute_that_is_not_set_is_not_written():
    class State:
        a: int
        b: int

    state = State()
    state.b = 2
    assert Command(update=state)._update_as_tuples() == [("b", 2)]


def test_the_base_of_commands_can_be_swapped_for_a_mark_of_others():
    class Mark:
        pass

    original = Command.__bases__
    made_before = Command(goto="x")
    try:
        Command.__bases__ = tuple(Mark if base is ToolOutput else base for base in original)
        assert isinstance(made_before, Mark)
        assert isinstance(Command(), Mark)
        assert Command(goto="x") == made_before
    finally:
        Command.__bases__ = original


def test_overwrites_compare_by_value():
    assert Overwrite([1]) == Overwrite(value=[1])
    assert Overwrite([1]) != Overwrite([2])
    assert repr(Overwrite(1)) == "Overwrite(value=1, type='__overwrite__')"


def test_an_interrupt_outside_of_a_graph_has_a_placeholder_id():
    assert repr(Interrupt(1)) == "Interrupt(value=1, id='placeholder-id', response_schema=None)"


def test_an_old_namespace_gives_an_id():
    old = Interrupt(1, ns=["x:1", "y:2"], resumable=True, when="during")
    assert old.id == Interrupt.from_ns(1, "x:1|y:2").id
    assert len(old.id) == 32
    assert Interrupt(1, "mine", ns=["x:1"]).id == "mine"


def test_interrupts_match_by_position():
    match Interrupt({"question": "?"}, "i"):
        case Interrupt({"question": question}, id):
            assert (question, id) == ("?", "i")
        case _:
            pytest.fail("the pattern did not match")


def test_the_old_name_of_the_id_warns():
    with pytest.warns(LangGraphDeprecatedSinceV10, match="Use `id` instead"):
        assert Interrupt(1, "i").interrupt_id == "i"


def test_interrupts_carry_a_schema():
    schema = {"type": "object"}
    assert Interrupt(1, "i", response_schema=schema).response_schema == schema
    assert Interrupt(1, "i", response_schema=schema) != Interrupt(1, "i")
