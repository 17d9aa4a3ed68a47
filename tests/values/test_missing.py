"""MISSING is one object, whatever is done to it."""

from __future__ import annotations

import copy
import pickle

from stepgraph.values.missing import MISSING, Missing


def test_copies_are_the_same_object():
    assert copy.copy(MISSING) is MISSING
    assert copy.deepcopy([MISSING])[0] is MISSING


def test_pickling_gives_the_same_object():
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(MISSING, protocol)) is MISSING


def test_calling_its_type_gives_the_same_object():
    assert Missing() is MISSING


def test_it_is_no_falsy_value():
    assert MISSING
    assert MISSING != None  # noqa: E711


def test_its_repr_is_its_name():
    assert repr(MISSING) == "MISSING"
