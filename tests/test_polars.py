"""Columns of polars, and of whatever else speaks Arrow's stream protocol."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import polars as pl
import pyarrow as pa
import pytest

import ecmsketch as ecm
from ecmsketch.domains import floats, ipv4
from ecmsketch.errors import InputError


def make(**changes):
    return ecm.SketchConfig(**{"epsilon": 0.1, "delta": 0.1, "window": 10**6, **changes})


def counted(items, ticks, weights=None, **changes):
    sketch = ecm.EcmSketch(make(**changes))
    sketch.update_many(items, ticks, weights)
    return sketch


TEXTS = ["a", "b", "ü", "a"]


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(["a", "b", "ü"])])
@pytest.mark.parametrize("names", [False, True])
def test_texts_are_items(dtype, names):
    column = pl.Series(TEXTS).cast(dtype)
    sketch = counted(column, pl.Series([1, 2, 3, 4]), pl.Series([1, 2, 3, 4], dtype=pl.UInt8), heavy_hitters=names)
    assert sketch == counted(TEXTS, [1, 2, 3, 4], [1, 2, 3, 4], heavy_hitters=names)
    assert sketch.estimate_many(column).value.tolist() == [5, 2, 3, 5]
    if names:
        assert [hitter.item for hitter in sketch.top(3)] == ["a", "ü", "b"]


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int64, pl.UInt64])
def test_integers_and_bytes_are_items(dtype):
    assert counted(pl.Series([1, 2, 2], dtype=dtype), [1, 1, 1]) == counted([1, 2, 2], [1, 1, 1])
    assert counted(pl.Series([b"a", b"b"]), [1, 1]) == counted([b"a", b"b"], [1, 1])


def test_columns_in_chunks():
    column = pl.concat([pl.Series(["a"]), pl.Series(["b", "c"])], rechunk=False)
    assert counted(column, [1, 2, 3]) == counted(["a", "b", "c"], [1, 2, 3])


@pytest.mark.parametrize("names", [False, True])
def test_rows_are_tuples(names):
    frame = pl.DataFrame({"host": ["x", "y", "x"], "port": [80, 443, 80]})
    expected = counted([("x", 80), ("y", 443), ("x", 80)], [1, 2, 3], heavy_hitters=names)
    for rows in (frame, frame.to_struct(), frame.to_arrow(), pa.chunked_array(frame.to_struct())):
        assert counted(rows, [1, 2, 3], heavy_hitters=names) == expected


@pytest.mark.parametrize("unit", ["ns", "us", "ms"])
def test_times_are_ticks(unit):
    moments = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hour) for hour in range(3)]
    expected = counted(["a", "b", "c"], moments, unit="s")
    for zone in (None, "UTC", "Europe/Paris"):
        naive = pl.Series([moment.replace(tzinfo=None) for moment in moments], dtype=pl.Datetime(unit))
        column = naive if zone is None else naive.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        assert counted(["a", "b", "c"], column, unit="s") == expected
    days = [date(2026, 1, 1), date(2026, 1, 2)]
    assert counted(["a", "b"], pl.Series(days), unit="D") == counted(["a", "b"], days, unit="D")


def test_what_is_missing_or_of_another_type_is_said():
    with pytest.raises(InputError, match="1 of 2 are null"):
        counted(pl.Series(["a", None]), [1, 2])
    with pytest.raises(InputError, match="ticks: 1 of 2 are missing"):
        counted(["a", "b"], pl.Series([1, None]))
    with pytest.raises(InputError, match="weights: 1 of 2 are missing"):
        counted(["a", "b"], [1, 2], pl.Series([1, None]))
    for wrong in (pl.Series([1.5]), pl.Series([[1]]), pl.Series([object()], dtype=pl.Object), pl.col("a")):
        with pytest.raises(InputError, match="expected"):
            counted(wrong, [1])
    with pytest.raises(InputError, match="expected"):
        counted(["a"], pl.DataFrame({"a": [1]}))


def test_numbers_and_domains():
    sketch = ecm.PrefixSketch(make(), bits=16)
    sketch.update_many(pl.Series([1, 2, 900]), pl.Series([1, 2, 3]))
    assert sketch.range_sum(0, 10).value == 2
    assert (floats.encode(pl.Series([0.5, 1.5])) == floats.encode([0.5, 1.5])).all()
    assert ipv4.encode(pl.Series(["1.2.3.4"])).tolist() == [0x01020304]


def test_without_pyarrow_numpy_takes_the_columns(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert counted(pl.Series(TEXTS), pl.Series([1, 2, 3, 4])) == counted(TEXTS, [1, 2, 3, 4])
    with pytest.raises(InputError, match=r"missing|null"):
        counted(pl.Series(["a", None]), [1, 2])
