"""The default cache key: equal inputs give equal keys, others do not, and not by chance of one process."""

from __future__ import annotations

import copy
import enum
import functools
import os
import subprocess
import sys
import threading
from array import array
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepgraph.values.cache_key import cache_key

atoms = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
values = st.recursive(
    atoms,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=10,
)


def key(*args, **kwargs):
    return cache_key(args, kwargs)


@dataclass
class Point:
    x: int
    y: object


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Image:
    __hash__ = None

    def __init__(self, content):
        self.content = content

    def __repr__(self):
        return f"Image({self.content!r})"


@given(values)
def test_copies_have_the_same_key(value):
    assert key(value) == key(copy.deepcopy(value))


@given(st.dictionaries(st.text(), st.integers(), min_size=2))
def test_the_order_of_a_dict_does_not_matter(mapping):
    assert key(mapping) == key(dict(reversed(mapping.items())))
    assert key(a=1, b=2) == key(b=2, a=1)


@given(values, values)
def test_different_plain_values_have_different_keys(one, two):
    if repr(one) != repr(two) and one != two:
        assert key(one) != key(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ("1", 1),
        ("a", b"a"),
        ([1], (1,)),
        ({1}, frozenset({1})),
        ([1, [2]], [[1], 2]),
        (["ab"], ["a", "b"]),
        ({"a": 1}, [("a", 1)]),
        (None, "None"),
        (Point(1, 2), Point(2, 1)),
        (Color.RED, Color.BLUE),
        (Image(array("B", [200])), Image(array("b", [-56]))),
        (deque([1], 2), deque([1], 3)),
        (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)),
        pytest.param([1].append, [2].append, id="bound methods of unequal lists"),
        (functools.partial(int, base=2), functools.partial(int, base=3)),
        (int, str),
        (datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1)),
    ],
    ids=repr,
)
def test_what_only_looks_alike_has_different_keys(one, two):
    assert key(one) != key(two)
    assert key(one) == key(one)


def test_equal_objects_have_the_same_key():
    assert key(Point(1, [2])) == key(Point(1, [2]))
    assert key({"b", "a"}) == key({"a", "b"})


def test_arguments_and_keywords_differ():
    assert key(1) != key(a=1)
    assert key(1, 2) != key((1, 2))


def test_a_value_that_contains_itself_has_a_key():
    loop = [1]
    loop.append(loop)
    other = [2]
    other.append(other)
    assert key(loop) == key(loop)
    assert key(loop) != key(other)


def test_a_key_is_the_same_in_another_process():
    code = (
        "from stepgraph.values.cache_key import cache_key;"
        "print(cache_key(({'b', 'a', 'c'}, {'x': [1.5, None], 'y': b'z'}), {'k': frozenset({'p', 'q'})}))"
    )
    keys = {
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        ).stdout.strip()
        for seed in ("1", "2")
    }
    expected = cache_key(({"b", "a", "c"}, {"x": [1.5, None], "y": b"z"}), {"k": frozenset({"p", "q"})})
    assert keys == {expected}


@pytest.mark.parametrize(
    "value", [lambda: 1, threading.Lock(), (n for n in ())], ids=["lambda", "lock", "generator"]
)
def test_what_has_no_content_is_refused_with_advice(value):
    with pytest.raises(TypeError, match=r"Give CachePolicy\(key_func="):
        key(value)


def test_arrays_of_another_type_or_shape_have_other_keys():
    numpy = pytest.importorskip("numpy")
    flat = numpy.arange(6, dtype="int64")
    assert key(flat) == key(flat.copy())
    assert key(flat) != key(flat.reshape(2, 3))
    assert key(flat) != key(flat.view("uint64"))


def test_models_have_keys_by_content():
    pydantic = pytest.importorskip("pydantic")

    class Model(pydantic.BaseModel):
        a: int
        b: str = "x"

    assert key(Model(a=1)) == key(Model(a=1, b="x"))
    assert key(Model(a=1)) != key(Model(a=2))
