"""Whatever is given as an argument, the answer is an answer or one of our errors, and an error changes nothing."""

from __future__ import annotations

from array import array
from collections import deque, namedtuple
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ecmsketch as ecm
from ecmsketch.domains import floats, ipv4, ipv6, network_range
from ecmsketch.errors import EcmError, InputError
from ecmsketch.sketch.merging import unite


class Level(IntEnum):
    LOW = 1


Pair = namedtuple("Pair", "a b")

SCALARS: list[Callable[[], Any]] = [
    lambda: None, lambda: True, lambda: 0, lambda: 1, lambda: 7, lambda: -1, lambda: 2**63, lambda: 2**64,
    lambda: 2**61, lambda: 10**400, lambda: Level.LOW, lambda: 0.5, lambda: 1.0, lambda: float("nan"),
    lambda: float("inf"), lambda: -0.0, lambda: 1j, lambda: Decimal("0.5"), lambda: Decimal("NaN"),
    lambda: Fraction(1, 2),
    lambda: "a", lambda: "", lambda: "\ud800", lambda: "2026-01-01", lambda: b"a", lambda: bytearray(b"a"),
    lambda: memoryview(b"ab"), lambda: object(), lambda: int, lambda: len, lambda: ..., lambda: NotImplemented,
    lambda: datetime(2026, 1, 1), lambda: datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
    lambda: datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-12))), lambda: datetime(2026, 1, 1, tzinfo=UTC),
    lambda: date(1, 1, 1), lambda: date(9999, 12, 31), lambda: time(12), lambda: timedelta(seconds=1),
    lambda: timedelta.max, lambda: timedelta.min, lambda: timedelta(days=215_000), lambda: timedelta(microseconds=1),
    lambda: np.int8(1), lambda: np.uint64(2**64 - 1), lambda: np.float32(0.5), lambda: np.float64("nan"),
    lambda: np.bool_(True), lambda: np.str_("a"), lambda: np.bytes_(b"a"), lambda: np.complex64(1),
    lambda: np.datetime64("2026-01-01"), lambda: np.datetime64("NaT"), lambda: np.datetime64(2**62, "Y"),
    lambda: np.datetime64(5, "as"), lambda: np.timedelta64(1, "s"), lambda: np.timedelta64(2**62, "s"),
    lambda: np.timedelta64(1, "M"), lambda: np.timedelta64(1), lambda: np.timedelta64("NaT"), lambda: np.ma.masked,
    lambda: np.zeros(1, [("a", "i4"), ("b", "f4")])[0], lambda: np.void(b"ab"), lambda: np.array(5),
    lambda: np.array(1.5), lambda: np.array("a"), lambda: np.array(None), lambda: np.longdouble(0.5),
    lambda: pd.NA, lambda: pd.NaT, lambda: pd.Timestamp(2026, 1, 1), lambda: pd.Timestamp.min,
    lambda: pd.Timestamp("2026-01-01", tz="Europe/Paris"), lambda: pd.Timedelta(1, "s"), lambda: pd.Timedelta(1, "ns"),
    lambda: pd.Period("2026-01"), lambda: pd.Interval(0, 1), lambda: pa.scalar(5), lambda: pa.scalar(None),
]  # fmt: skip

CONTAINERS: list[Callable[[], Any]] = [
    list, lambda: [1], lambda: [1, 2], lambda: [[1], [2, 3]], lambda: [1, [2]], lambda: [1, "a", None],
    lambda: [2**63, -1], lambda: [pd.NA], lambda: [pd.NaT], lambda: [None], lambda: [float("nan")], lambda: ["a", 1],
    lambda: (1,), lambda: (1, 2), lambda: ("a", "b"), lambda: ((1, 2), 3), lambda: (None, None), lambda: Pair("a", 1),
    lambda: Pair(0, 5), lambda: {1, 2}, lambda: frozenset([1]), lambda: {"a": [1]}, lambda: {"a": [1], "b": [2]},
    dict, lambda: {1: 2}.values(), lambda: {1: 2}.keys(), lambda: {1: 2}.items(), lambda: range(2),
    lambda: range(0), lambda: (x for x in (1, 2)), lambda: iter([1, 2]), lambda: map(str, [1, 2]),
    lambda: deque([1, 2]), lambda: array("q", [1, 2]), lambda: array("d", [1.0]),
    lambda: memoryview(array("q", [1, 2])),
    lambda: np.array([1, 2]), lambda: np.array([1.5]), lambda: np.array([1, None], object), lambda: np.array([1j]),
    lambda: np.array([[1, 2]]), lambda: np.array([True]), lambda: np.array(["a", "b"]), lambda: np.array([b"a"]),
    lambda: np.array([1, "a", 2.5], object), lambda: np.array([[1], [1, 2]], object), lambda: np.array([2**64], object),
    lambda: np.array(["2026", "NaT"], "M8[s]"), lambda: np.array(["2026", "2027"], "M8[D]"),
    lambda: np.array([2**62], "M8[Y]"), lambda: np.array([2**62], "M8[W]"), lambda: np.array([5], "M8[25s]"),
    lambda: np.array([5], "m8[s]"), lambda: np.array([5], ">i8"), lambda: np.array(["2026"], ">M8[s]"),
    lambda: np.zeros(2, [("a", "i4")]), lambda: np.ma.array([1, 2], mask=[0, 1]), lambda: np.ma.array([1, 2]),
    lambda: np.rec.array([(1, 2)]), lambda: np.array(["a"], np.dtypes.StringDType()),
    lambda: pd.Series([1, 2]), lambda: pd.Series([1, None], dtype="Int64"), lambda: pd.Series([1, 2], dtype="Int64"),
    lambda: pd.Series(["a", None]), lambda: pd.Series(["a", "b"], dtype="category"),
    lambda: pd.Series([], dtype=object),
    lambda: pd.Series(["a", None], dtype="category"), lambda: pd.Series(["a", None], dtype="string"),
    lambda: pd.Series([1.0, None]), lambda: pd.Series([True, None], dtype="boolean"), lambda: pd.array([1, 2]),
    lambda: pd.Series(pd.date_range("2026", periods=2, tz="UTC")), lambda: pd.date_range("2026", periods=2),
    lambda: pd.Series([pd.NaT, pd.Timestamp(2026, 1, 1)]),
    lambda: pd.Series(pd.period_range("2026", periods=2, freq="D")),
    lambda: pd.Series([1, 2], dtype="int64[pyarrow]"), lambda: pd.Series(["a", None], dtype="string[pyarrow]"),
    lambda: pd.Series(pd.date_range("2026", periods=2, tz="UTC")).astype("timestamp[us, UTC][pyarrow]"),
    lambda: pd.Index([1, 2]), lambda: pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]), lambda: pd.RangeIndex(2),
    lambda: pd.MultiIndex.from_tuples([("a", None)]), lambda: pd.IntervalIndex.from_breaks([0, 1, 2]),
    lambda: {"a": pd.MultiIndex.from_tuples([("a", 1)]), "b": [1]}, lambda: pd.DataFrame({"a": [1], "b": ["x"]}),
    lambda: pd.DataFrame([[1, "x"]], columns=["a", "a"]), lambda: pd.DataFrame(),
    lambda: pa.array([1, 2]), lambda: pa.array([1, None]), lambda: pa.array([]), lambda: pa.nulls(2),
    lambda: pa.array(["a", "b"]).dictionary_encode(), lambda: pa.array(["a", None]).dictionary_encode(),
    lambda: pa.chunked_array([[1], [2]]), lambda: pa.chunked_array([], pa.int64()), lambda: pa.array([True]),
    lambda: pa.array([{"a": 1, "b": "x"}]), lambda: pa.chunked_array([[{"a": 1, "b": None}]]), lambda: pa.array([[1]]),
    lambda: pa.table({"a": [1], "b": [2]}), lambda: pa.array([datetime(2026, 1, 1)]), lambda: pa.array([Decimal(1)]),
    lambda: pa.array(["a"], pa.string_view()), lambda: pa.array([timedelta(1)]), lambda: pa.array([1.5]),
    lambda: pl.Series([1, 2]), lambda: pl.Series([1, None]), lambda: pl.Series(["a", "b"]),
    lambda: pl.Series(["a", None]),
    lambda: pl.Series(["a", "b"], dtype=pl.Categorical), lambda: pl.Series([1.5]), lambda: pl.Series([None]),
    lambda: pl.Series([datetime(2026, 1, 1)]), lambda: pl.Series([datetime(2026, 1, 1, tzinfo=UTC)]),
    lambda: pl.Series([]),
    lambda: pl.Series([date(2026, 1, 1)]), lambda: pl.Series([timedelta(1)]), lambda: pl.Series([[1]]),
    lambda: pl.Series([{"a": 1, "b": 2}]), lambda: pl.DataFrame({"a": [1], "b": ["x"]}),
    lambda: pl.DataFrame({"a": [1]}),
    lambda: pl.LazyFrame({"a": [1]}), lambda: pl.col("a"), lambda: pl.Series([object()], dtype=pl.Object),
]  # fmt: skip

ZOO = [*SCALARS, *CONTAINERS]

Ask = Callable[[Any, Any], Any]

FEEDING: list[Ask] = [
    lambda sketch, odd: sketch.update(odd, 100), lambda sketch, odd: sketch.update(odd),
    lambda sketch, odd: sketch.update(5, odd), lambda sketch, odd: sketch.update(5, 100, odd),
    lambda sketch, odd: sketch.update(5, None, odd), lambda sketch, odd: sketch.update((1, odd), 100),
    lambda sketch, odd: sketch.update_many(odd, [100]), lambda sketch, odd: sketch.update_many([odd], [100]),
    lambda sketch, odd: sketch.update_many(odd, [100, 100]), lambda sketch, odd: sketch.update_many(odd),
    lambda sketch, odd: sketch.update_many([5], odd), lambda sketch, odd: sketch.update_many([5], [odd]),
    lambda sketch, odd: sketch.update_many([5, 6], odd), lambda sketch, odd: sketch.update_many([5], None, odd),
    lambda sketch, odd: sketch.update_many([5], [100], odd), lambda sketch, odd: sketch.update_many([5], [100], [odd]),
    lambda sketch, odd: sketch.update_many([5, 6], [100, 101], odd),
    lambda sketch, odd: sketch.update_many({"a": [1], "b": odd}, [100]), lambda sketch, odd: sketch.advance(odd),
]  # fmt: skip
RANGES: list[Ask] = [
    lambda ask, odd: ask(last=odd), lambda ask, odd: ask(between=odd), lambda ask, odd: ask(between=(0, odd)),
    lambda ask, odd: ask(between=(odd, 9)), lambda ask, odd: ask(last=odd, between=odd),
]  # fmt: skip
COMMON: list[Ask] = [
    lambda sketch, odd: sketch.estimate(odd), lambda sketch, odd: sketch.estimate(5, last_arrivals=odd),
    lambda sketch, odd: sketch.history(odd, 25), lambda sketch, odd: sketch.history(5, odd),
    lambda sketch, odd: sketch.history(5, 25, odd), lambda sketch, odd: sketch.heavy_hitters(odd),
    lambda sketch, odd: sketch.heavy_hitters(count=odd),
    lambda sketch, odd: sketch.heavy_hitters(0.5, last_arrivals=odd),
    lambda sketch, odd: ecm.merge(odd), lambda sketch, odd: ecm.merge([sketch, odd]),
    lambda sketch, odd: ecm.merge([sketch], odd), lambda sketch, odd: ecm.concat([sketch, odd]),
    lambda sketch, odd: unite([odd]), lambda sketch, odd: type(sketch)(sketch.config, site=odd),
    *(lambda sketch, odd, ask=ask: ask(sketch.total, odd) for ask in RANGES),
    *(lambda sketch, odd, ask=ask: ask(lambda **range: sketch.heavy_hitters(0.9, **range), odd) for ask in RANGES),
]  # fmt: skip
OF_ITEMS: list[Ask] = [
    lambda sketch, odd: sketch.estimate_many(odd), lambda sketch, odd: sketch.estimate_many([5], last_arrivals=odd),
    lambda sketch, odd: sketch.top(odd), lambda sketch, odd: sketch.top(3, last_arrivals=odd),
    lambda sketch, odd: sketch.inner_product(odd), lambda sketch, odd: sketch.inner_product(sketch, odd),
    lambda sketch, odd: sketch.self_join(odd),
]  # fmt: skip
OF_NUMBERS: list[Ask] = [
    lambda sketch, odd: sketch.range_sum(odd, 9), lambda sketch, odd: sketch.range_sum(0, odd),
    lambda sketch, odd: sketch.rank(odd), lambda sketch, odd: sketch.rank(5, last_arrivals=odd),
    lambda sketch, odd: sketch.quantile(odd), lambda sketch, odd: sketch.quantile(0.5, last=odd),
    lambda sketch, odd: sketch.quantile(0.5, last_arrivals=odd), lambda sketch, odd: sketch.quantiles(odd),
    lambda sketch, odd: sketch.quantiles([odd]),
]  # fmt: skip


def filled(**changes: Any) -> ecm.EcmSketch:
    config = ecm.SketchConfig(**{"epsilon": 0.3, "delta": 0.3, "window": 50, **changes})
    sketch = ecm.EcmSketch(config, site="here")
    sketch.update_many([5, 5, 6], None if config.model == "count" else [1, 2, 3])
    return sketch


def numbers() -> ecm.PrefixSketch:
    sketch = ecm.PrefixSketch(ecm.SketchConfig(epsilon=0.3, delta=0.3, window=50, unit="s"), bits=8)
    sketch.update_many([5, 5, 6], [1, 2, 3])
    return sketch


def check(sketch: Any, asks: list[Ask]) -> None:
    data = sketch.serialize()
    kind = type(sketch)
    wrong = []
    for number, ask in enumerate(asks):
        for make in ZOO:
            odd = make()
            refused = False
            try:
                ask(sketch, odd)
            except EcmError:
                refused = True
            except Exception as error:
                wrong.append(f"question {number} of {odd!r}: {error!r}")
            if sketch.serialize() != data:
                sketch = kind.deserialize(data)
                if refused or asks is not FEEDING:
                    wrong.append(f"question {number} of {odd!r}: changed the sketch")
    assert not wrong


@pytest.mark.parametrize(
    "changes",
    [{"unit": "s", "heavy_hitters": True}, {"model": "count", "counter": "dw"}, {"unit": "ns", "late": "side"}],
)
def test_feeding_takes_anything_or_says_what_is_wrong(changes):
    check(filled(**changes), FEEDING)


def test_feeding_numbers_takes_anything_or_says_what_is_wrong():
    check(numbers(), FEEDING)


def test_questions_take_anything_or_say_what_is_wrong():
    check(filled(unit="s", heavy_hitters=True), [*COMMON, *OF_ITEMS])


def test_questions_about_numbers_take_anything_or_say_what_is_wrong():
    check(numbers(), [*COMMON, *OF_NUMBERS])


def test_domains_take_anything_or_say_what_is_wrong():
    for make in ZOO:
        for ask in (*(part for domain in (floats, ipv4, ipv6) for part in (domain.encode, domain.name)), network_range):
            try:
                ask(make())
            except EcmError:
                pass
            except Exception as error:
                raise AssertionError(f"{ask} of {make()!r}") from error


def test_missing_values_are_named_as_such():
    missing = [
        pd.Series([1, None], dtype="Int64"), pd.Series([1.0, None]), np.array([1, None], object), [1, None], [1, pd.NA],
        pd.Series(["a", None], dtype="category"), pa.array([1, None]), pl.Series([1, None]), [1, float("nan")],
        np.ma.array([1, 2], mask=[0, 1]), pd.Series([pd.NaT, pd.Timestamp(2026, 1, 1)]), [pd.NaT, 1], pl.Series(["a",
        None]),
    ]  # fmt: skip
    sketch = filled(unit="s")
    for column in missing:
        for give in (
            lambda column: sketch.update_many(["a", "b"], column),
            lambda column: sketch.update_many(["a", "b"], [9, 9], column),
            lambda column: sketch.update_many(column, [9, 9]),
        ):
            if "datetime64" in str(getattr(column, "dtype", "")) or any(value is pd.NaT for value in column):
                column = np.asarray(column, "M8[s]") if hasattr(column, "dtype") else column
            with pytest.raises(InputError, match=r"missing|null|datetime64"):
                give(column)


@pytest.mark.parametrize("late", ["raise", "side", "drop"])
def test_a_weight_that_is_no_number_counts_nothing(late):
    sketch = filled(late=late)
    for weight in (pd.NA, np.array([1, 2]), None, np.timedelta64(1, "s"), 1.5, "2"):
        with pytest.raises(InputError, match="weight"):
            sketch.update("a", 9, weight)
    assert sketch.total().value == 3


def test_rows_of_a_multi_index_are_tuples():
    sketch, expected = filled(heavy_hitters=True), filled(heavy_hitters=True)
    sketch.update_many(pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]), [4, 5])
    expected.update_many([("a", 1), ("b", 2)], [4, 5])
    assert sketch == expected
    assert sketch.estimate(("a", 1)).value == 1
    assert {hitter.item for hitter in sketch.top(9)} >= {("a", 1), ("b", 2)}


def test_generators_and_views_are_columns_too():
    expected = filled()
    expected.update_many([1, 2], [4, 5], [1, 2])
    for give in (iter, deque, lambda values: dict(enumerate(values)).values(), lambda values: array("q", values)):
        sketch = filled()
        sketch.update_many(give([1, 2]), give([4, 5]), give([1, 2]))
        assert sketch == expected
    digits = numbers()
    digits.update_many(iter([7, 8]), iter([4, 5]))
    assert digits.total().value == 5
