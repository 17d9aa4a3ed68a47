"""NumPy arrays and scalars come back with dtype, shape and order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from checkpoint.serde.compare import round_trip
from stepgraph.checkpoint.serde.errors import NotStorableError
from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

dtypes = npst.scalar_dtypes() | npst.array_dtypes() | npst.byte_string_dtypes() | npst.unicode_string_dtypes()


def same_array(first: Any, second: Any) -> bool:
    return (
        type(first) is type(second)
        and first.dtype == second.dtype
        and first.shape == second.shape
        and first.tobytes() == second.tobytes()
    )


@given(st.data(), dtypes)
def test_arrays_come_back(data: st.DataObject, dtype: Any) -> None:
    array = data.draw(npst.arrays(dtype, npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))
    assert same_array(round_trip({"a": [array]})["a"][0], array)


@given(st.data(), npst.scalar_dtypes())
def test_scalars_come_back(data: st.DataObject, dtype: Any) -> None:
    scalar = data.draw(npst.arrays(dtype, ()))[()]
    assert same_array(round_trip([scalar])[0], scalar)


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.arange(6).reshape(2, 3),
        np.arange(24).reshape(2, 3, 4).transpose(2, 1, 0),
    ],
)
def test_order_is_kept(array: Any) -> None:
    back = round_trip(array)
    assert same_array(back, array)
    assert back.flags.f_contiguous == array.flags.f_contiguous


@pytest.mark.parametrize(
    "scalar", [np.str_(""), np.str_("é"), np.bytes_(b""), np.datetime64("NaT", "D"), np.bool_(True)]
)
def test_odd_scalars_come_back(scalar: Any) -> None:
    back = round_trip(scalar)
    assert type(back) is type(scalar)
    assert repr(back) == repr(scalar)


def test_array_that_came_back_can_be_changed() -> None:
    back = round_trip(np.zeros(3))
    back[0] = 1
    assert back.tolist() == [1, 0, 0]


def test_strided_view_is_stored_by_what_it_shows() -> None:
    assert round_trip(np.arange(10)[::3]).tolist() == [0, 3, 6, 9]


@pytest.mark.parametrize(
    "array",
    [
        np.array([None, 1], dtype=object),
        np.array([(1, None)], dtype=[("a", "i4"), ("b", object)]),
        np.ma.array([1], mask=[True]),
        np.array(["a"], dtype=np.dtypes.StringDType()),
    ],
)
def test_arrays_whose_bytes_are_not_their_value_are_refused(array: Any) -> None:
    with pytest.raises(NotStorableError) as caught:
        JsonPlusSerializer().pack({"x": [array]})
    assert caught.value.path == "['x'][0]"
