"""Folds are pure, ordered, linear, and an Overwrite wins wherever it stands."""

from __future__ import annotations

import copy
import functools
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepgraph.channels.binop import BinaryOperatorAggregate
from stepgraph.channels.fold import batch_reducer, binary_operator, last_value, overwrite_of, overwritten
from stepgraph.errors import ErrorCode, InvalidUpdateError
from stepgraph.values.commands import Overwrite
from stepgraph.values.missing import MISSING

lists = st.lists(st.integers(), max_size=5)
batches = st.lists(lists, min_size=1, max_size=6)
dicts = st.dictionaries(st.sampled_from("abcd"), st.integers())


def subtract_then_keep(value: list, write: list) -> list:
    """An operator whose result depends on order."""
    return [item for item in value if item not in write] + write


OPERATORS = [operator.add, operator.concat, subtract_then_keep]


def fold_of(reducer, typ=list, key="x"):
    channel = BinaryOperatorAggregate(typ, reducer)
    channel.key = key
    return channel.folder()


@pytest.mark.parametrize("reducer", OPERATORS)
@given(base=lists, writes=batches)
def test_a_fold_equals_applying_the_reducer_write_by_write(reducer, base, writes):
    assert fold_of(reducer)(base, writes, {}) == functools.reduce(reducer, writes, base)


@given(base=dicts, writes=st.lists(dicts, min_size=1))
def test_dicts_are_merged_in_order(base, writes):
    assert fold_of(operator.or_, dict)(base, writes, {}) == functools.reduce(operator.or_, writes, base)


@pytest.mark.parametrize("reducer", OPERATORS)
@given(base=lists, one=batches, two=batches)
def test_two_steps_equal_one(reducer, base, one, two):
    fold = fold_of(reducer)
    assert fold(fold(base, one, {}), two, {}) == fold(base, one + two, {})


@pytest.mark.parametrize("reducer", OPERATORS)
@given(base=lists, writes=batches)
def test_a_fold_leaves_its_arguments_alone(reducer, base, writes):
    before = copy.deepcopy((base, writes))
    result = fold_of(reducer)(base, writes, {})
    result.append("mine")
    assert (base, writes) == before


@pytest.mark.parametrize("form", [Overwrite, lambda value: {"__overwrite__": value}], ids=["object", "json"])
@given(base=lists, before=st.lists(lists), after=st.lists(lists), value=lists)
def test_an_overwrite_wins_wherever_it_stands(form, base, before, after, value):
    writes = [*before, form(value), *after]
    calls = []

    def reducer(left, right):
        calls.append((left, right))
        return left + right

    assert fold_of(reducer)(base, writes, {}) == value
    assert fold_of(operator.add)(MISSING, writes, {}) == value
    assert last_value("x")(base, writes, {}) == value
    assert batch_reducer(lambda value, writes: 1 / 0, list, "x")(base, writes, {}) == value
    assert not calls


@given(base=lists, between=st.lists(lists))
def test_two_overwrites_are_an_error(base, between):
    writes = [Overwrite([1]), *between, {"__overwrite__": [2]}]
    for fold in (
        fold_of(operator.add),
        last_value("x"),
        batch_reducer(lambda value, writes: value, list, "x"),
    ):
        with pytest.raises(
            InvalidUpdateError, match=r"At key 'x': Can receive only one Overwrite value"
        ) as caught:
            fold(base, writes, {})
        assert caught.value.key == "x"
        assert caught.value.code is ErrorCode.INVALID_CONCURRENT_GRAPH_UPDATE


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (Overwrite(None), (True, None)),
        ({"__overwrite__": 1}, (True, 1)),
        ({"__overwrite__": 1, "more": 2}, (False, {"__overwrite__": 1, "more": 2})),
        ({}, (False, {})),
        ([Overwrite(1)], (False, [Overwrite(1)])),
    ],
)
def test_only_exact_forms_are_overwrites(write, expected):
    assert overwrite_of(write) == expected


def test_an_overwrite_with_none_is_an_overwrite():
    assert overwritten("x", [[1], Overwrite(None)]) is None
    assert overwritten("x", [[1]]) is MISSING


@given(st.one_of(st.none(), st.integers(), lists, dicts))
def test_a_plain_field_takes_its_one_write(value):
    assert last_value("x")(MISSING, [value], {}) == value


@given(st.lists(lists, min_size=2))
def test_a_plain_field_refuses_two_writes(writes):
    with pytest.raises(InvalidUpdateError, match="At key 'x': Can receive only one value per step"):
        last_value("x")([], writes, {})


def test_without_a_start_value_the_first_write_is_taken():
    fold = binary_operator(operator.add, lambda: MISSING)
    assert fold(MISSING, [5], {}) == 5
    assert fold(MISSING, [5, 6], {}) == 11


def test_the_start_value_counts_once():
    fold = binary_operator(operator.add, lambda: ["start"])
    assert fold(MISSING, [["a"], ["b"]], {}) == ["start", "a", "b"]
    assert fold(["x"], [["a"]], {}) == ["x", "a"]


def test_the_first_write_can_be_folded_onto_something():
    fold = binary_operator(lambda value, write: (value + write)[-2:], lambda: MISSING, list)
    assert fold(MISSING, [[1, 2, 3]], {}) == [2, 3]


def test_a_first_write_of_none_is_taken_as_it_is():
    fold = binary_operator(operator.add, lambda: MISSING, list)
    assert fold(MISSING, [None], {}) is None


def test_a_reducer_may_fold_a_whole_step_by_itself():
    seen = []

    def reducer(value, write):
        raise AssertionError("called write by write")

    def fold_all(base, writes, memo):
        seen.append((base, list(writes)))
        memo["calls"] = memo.get("calls", 0) + 1
        return [*base, *writes]

    reducer.fold = fold_all
    memo = {}
    fold = fold_of(reducer)
    assert fold([], ["a", "b"], memo) == ["a", "b"]
    assert fold(["a"], ["b"], memo) == ["a", "b"]
    assert fold(["a"], [Overwrite(["z"])], memo) == ["z"]
    assert seen == [([], ["a", "b"]), (["a"], ["b"])]
    assert memo == {"calls": 2}


def test_a_whole_step_is_not_folded_over_a_first_write_that_was_taken():
    def reducer(value, write):
        raise AssertionError("called")

    reducer.fold = lambda base, writes, memo: [base, *writes]
    fold = binary_operator(reducer, lambda: MISSING)
    assert fold(MISSING, ["a"], {}) == "a"
    assert fold(MISSING, ["a", "b"], {}) == ["a", "b"]


def test_appending_to_a_list_copies_it_once_a_step():
    class Counted(list):
        copies = 0

        def __add__(self, other):
            Counted.copies += 1
            return Counted([*self, *other])

    assert fold_of(operator.add)([0], [[1]] * 1000, {}) == [0] + [1] * 1000
    fold_of(operator.add)(Counted(), [[1]] * 3, {})
    assert Counted.copies == 3, "a list of another class keeps its own addition"


def test_a_concatenation_of_another_type_fails_as_python_does():
    with pytest.raises(TypeError, match="can only concatenate list"):
        fold_of(operator.add)([1], [[2], (3,)], {})


def test_a_batch_reducer_gets_all_writes_at_once():
    calls = []

    def reducer(value, writes):
        calls.append(list(writes))
        return [*value, *writes]

    fold = batch_reducer(reducer, list)
    assert fold(MISSING, [1, 2], {}) == [1, 2]
    assert fold([0], (3,), {}) == [0, 3]
    assert calls == [[1, 2], [3]]
