"""Frames and series of pandas and Polars come back with their dtypes and indexes."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis.extra import pandas as pdst

from checkpoint.serde.compare import round_trip
from stepgraph.checkpoint.serde.errors import NotStorableError
from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer


def many_columns() -> Any:
    return pd.DataFrame(
        {
            "int": [1, 2],
            "small": np.array([1, 2], dtype="u1"),
            "float": [1.5, float("nan")],
            "complex": [1j, 2],
            "text": ["x", None],
            "string": pd.array(["x", None], dtype="string"),
            "objects": [Decimal(1), (1, {"a": pd.NaT})],
            "missing": [pd.NA, None],
            "time": pd.to_datetime(["2020-01-01", None]),
            "zoned": pd.to_datetime(["2020-01-01", "2021-01-01"]).tz_localize("Europe/Berlin"),
            "span": pd.to_timedelta([1, None], unit="s"),
            "category": pd.Categorical(["u", None], categories=["v", "u"], ordered=True),
            "Int64": pd.array([2**60 + 1, None], dtype="Int64"),
            "Float32": pd.array([1.5, None], dtype="Float32"),
            "boolean": pd.array([True, None], dtype="boolean"),
            "period": pd.PeriodIndex(["2020-01", "2020-02"], freq="M"),
            "interval": pd.arrays.IntervalArray.from_breaks([0, 1, 2], closed="left"),
        }
    )


@pytest.mark.parametrize(
    "frame",
    [
        many_columns(),
        pd.DataFrame(),
        pd.DataFrame(index=[1, 2]),
        pd.DataFrame(columns=["a", 2]),
        pd.DataFrame([[1, 2]], columns=["x", "x"]),
        pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", 1)], names=["n", None])),
        pd.DataFrame({"x": [1, 2]}, index=pd.date_range("2020", periods=2, freq="D", name="day")),
        pd.DataFrame({"x": [1, 2]}, index=pd.date_range("2020", periods=2, freq="h", tz="UTC")),
        many_columns().set_index(["int", "text"]),
    ],
)
def test_frames_come_back(frame: Any) -> None:
    pd.testing.assert_frame_equal(round_trip(frame), frame, check_freq=True)


@given(
    pdst.data_frames(
        [pdst.column("a", dtype=int), pdst.column("b", dtype=float), pdst.column("c", dtype=bool)]
    )
)
def test_random_frames_come_back(frame: Any) -> None:
    pd.testing.assert_frame_equal(round_trip(frame), frame)


@pytest.mark.parametrize("name", list(many_columns().columns))
def test_series_come_back(name: str) -> None:
    series = many_columns()[name].rename((name, 1))
    pd.testing.assert_series_equal(round_trip(series), series)


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(["a"]),
        pd.Index([1, "a"], name="n"),
        pd.RangeIndex(1, 9, 2),
        pd.CategoricalIndex(["a"]),
        pd.interval_range(0, 2),
        pd.timedelta_range("1D", periods=2),
        pd.period_range("2020", periods=2, freq="M"),
    ],
)
def test_indexes_come_back(index: Any) -> None:
    back = round_trip(index)
    assert type(back) is type(index)
    pd.testing.assert_index_equal(back, index)


@pytest.mark.parametrize(
    "scalar",
    [
        pd.Timestamp("2020-01-01 00:00:00.000000001"),
        pd.Timestamp("2020-01-01", tz="Europe/Berlin"),
        pd.Timestamp("2020-01-01").as_unit("s"),
        pd.Timedelta(5, "s"),
        pd.Period("2020-01", freq="M"),
        pd.Interval(1, 2, closed="both"),
    ],
)
def test_scalars_come_back(scalar: Any) -> None:
    back = round_trip([scalar])[0]
    assert type(back) is type(scalar)
    assert repr(back) == repr(scalar)
    assert getattr(back, "unit", None) == getattr(scalar, "unit", None)


def test_marks_of_missing_values_are_the_same_objects() -> None:
    assert round_trip([pd.NaT, pd.NA])[0] is pd.NaT
    assert round_trip([pd.NaT, pd.NA])[1] is pd.NA


def test_attributes_of_a_frame_are_kept() -> None:
    frame = pd.DataFrame({"a": [1]})
    frame.attrs["source"] = ("x", 1)
    assert round_trip(frame).attrs == {"source": ("x", 1)}


def test_sparse_column_is_refused_with_its_dtype() -> None:
    frame = pd.DataFrame({"s": pd.arrays.SparseArray([0, 1])})
    with pytest.raises(NotStorableError, match="Sparse") as caught:
        JsonPlusSerializer().pack({"x": frame})
    assert caught.value.path == "['x']"


def test_subclass_of_a_frame_is_refused() -> None:
    class Special(pd.DataFrame):  # type: ignore[misc]
        pass

    with pytest.raises(NotStorableError):
        JsonPlusSerializer().pack(Special())


def polars_frame() -> Any:
    return pl.DataFrame(
        {
            "int": [1, None],
            "text": ["x", "é"],
            "time": [dt.datetime(2020, 1, 1), None],
            "list": [[1], [2, 3]],
            "struct": [{"q": 1}, {"q": 2}],
            "category": pl.Series(["a", "b"], dtype=pl.Categorical),
            "enum": pl.Series(["a", "b"], dtype=pl.Enum(["b", "a"])),
            "decimal": pl.Series([Decimal("1.1"), None]),
        }
    )


@pytest.mark.parametrize("frame", [polars_frame(), pl.DataFrame(), pl.DataFrame(schema={"a": pl.Int8})])
def test_polars_frames_come_back(frame: Any) -> None:
    back = round_trip({"x": frame})["x"]
    assert back.equals(frame)
    assert back.schema == frame.schema


@pytest.mark.parametrize("name", polars_frame().columns)
def test_polars_series_come_back(name: str) -> None:
    series = polars_frame()[name]
    back = round_trip(series)
    assert (back.name, back.dtype) == (series.name, series.dtype)
    assert back.equals(series)


@pytest.mark.parametrize(
    "value", [pl.LazyFrame({"a": [1]}), pl.DataFrame({"o": pl.Series([object()], dtype=pl.Object)})]
)
def test_polars_plans_and_objects_are_refused(value: Any) -> None:
    with pytest.raises(NotStorableError) as caught:
        JsonPlusSerializer().pack({"x": [value]})
    assert caught.value.path == "['x'][0]"


def test_many_frames_do_not_get_each_others_columns() -> None:
    frames = [pd.DataFrame({"a": [n, n + 1], "b": pd.Categorical([str(n), "x"])}) for n in range(40)]
    for back, frame in zip(round_trip(frames), frames, strict=True):
        pd.testing.assert_frame_equal(back, frame)
