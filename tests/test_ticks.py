"""Moments and lengths of time become ticks exactly, or are refused: never wrapped, never rounded by floats."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.errors import InputError, QueryError
from ecmsketch.inputs.ticks import MAX_TICK, MIN_TICK, UNITS, quick_tick, to_span, to_tick, to_ticks

SECONDS = {
    "as": Fraction(1, 10**18), "fs": Fraction(1, 10**15), "ps": Fraction(1, 10**12), "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6), "ms": Fraction(1, 1000), "s": Fraction(1), "m": Fraction(60), "h": Fraction(3600),
    "D": Fraction(86_400), "W": Fraction(604_800),
}  # fmt: skip
FIXED = st.sampled_from(sorted(SECONDS))
STEPS = st.one_of(st.integers(-(2**63) + 1, 2**63 - 1), st.integers(-(10**6), 10**6), st.integers(-9, 9))
EPOCH = datetime(1970, 1, 1)


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


class TestLengths:
    def test_long_ones_do_not_wrap(self):
        assert to_span(timedelta(days=215_000), "ns") == 215_000 * 86_400 * 10**9
        assert to_span(np.timedelta64(2**62, "s"), "ms") == 2**62 * 1000
        assert to_span(np.timedelta64(2**62, "s"), "s") == 2**62
        assert to_span(np.timedelta64(2**62, "W"), "ns") == 2**62 * 604_800 * 10**9
        assert to_span(timedelta.max, "us") == micros(EPOCH) + timedelta.max // timedelta(microseconds=1)
        sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.1, delta=0.1, window=2**59, unit="ns"))
        with pytest.raises(QueryError, match="18576000000000000000"):
            sketch.total(last=timedelta(days=215_000))
        with pytest.raises(QueryError, match=str(2**62 * 10**9)):
            sketch.total(last=np.timedelta64(2**62, "s"))

    @given(STEPS, FIXED, st.sampled_from(UNITS), st.sampled_from([1, 7, 25, 1000]))
    def test_every_length_is_exact_or_refused(self, steps, source, unit, count):
        exact = steps * count * SECONDS[source] / SECONDS[unit]
        length = np.array([steps], f"m8[{count}{source}]")[0]
        if exact.denominator == 1:
            assert to_span(length, unit) == exact
        else:
            with pytest.raises(InputError, match="whole number"):
                to_span(length, unit)

    @given(st.timedeltas(), st.sampled_from(UNITS))
    def test_lengths_of_python_and_pandas(self, length, unit):
        exact = Fraction(length // timedelta(microseconds=1), 10**6) / SECONDS[unit]
        held = abs(length) < timedelta(days=106_000_000)  # pandas holds no longer ones
        for given_length in (length, pd.Timedelta(np.timedelta64(length)) if held else length):
            if exact.denominator == 1:
                assert to_span(given_length, unit) == exact
            else:
                with pytest.raises(InputError, match="whole number"):
                    to_span(given_length, unit)

    @pytest.mark.parametrize("length", [np.timedelta64(1, "M"), np.timedelta64(2, "Y"), np.timedelta64("NaT"),
                                        np.timedelta64("NaT", "s"), np.timedelta64(5)])  # fmt: skip
    def test_what_has_no_fixed_length_is_refused(self, length):
        with pytest.raises(InputError, match="fixed length"):
            to_span(length, "s")


class TestMoments:
    @given(STEPS, FIXED, st.sampled_from(UNITS), st.sampled_from([1, 7, 25]))
    def test_every_moment_is_exact_or_refused(self, steps, source, unit, count):
        exact = steps * count * SECONDS[source] // SECONDS[unit]
        column = np.array([steps], f"M8[{count}{source}]")
        for convert in (lambda: to_ticks(column, unit)[0], lambda: to_tick(column[0], unit),
                        lambda: to_ticks([column[0], column[0]], unit)[1]):  # fmt: skip
            if MIN_TICK <= exact <= MAX_TICK:
                assert convert() == exact
            else:
                with pytest.raises(InputError, match="coarser unit"):
                    convert()

    @pytest.mark.parametrize("unit", UNITS)
    @pytest.mark.parametrize(
        ("source", "most"), [("Y", 2**62), ("M", 2**62), ("W", 2**62), ("D", 2**62), ("h", 2**63 - 1)]
    )
    def test_far_years_do_not_wrap(self, unit, source, most):
        for steps in (most, -most, most // 366, 10**16, 10**12):
            column = np.array([steps], f"M8[{source}]")
            try:
                tick = int(to_ticks(column, unit)[0])
            except InputError:
                continue
            assert (tick > 0) == (steps > 0)
            if unit == "D" and source != "h":
                assert np.array([tick], "M8[D]").astype(column.dtype)[0] == column[0]

    @given(st.integers(-5000, 5000), st.sampled_from(UNITS), st.sampled_from("YM"), st.sampled_from([1, 10]))
    def test_years_and_months_begin_on_their_first_day(self, steps, unit, source, count):
        column = np.array([steps], f"M8[{count}{source}]")
        days = int(column.astype("M8[D]").astype(np.int64)[0])
        exact = days * SECONDS["D"] // SECONDS[unit]
        if MIN_TICK <= exact <= MAX_TICK:
            assert to_ticks(column, unit)[0] == to_tick(column[0], unit) == exact

    @given(st.datetimes(), st.sampled_from(UNITS), st.integers(-1439, 1439))
    def test_datetimes_with_and_without_a_zone(self, moment, unit, offset):
        exact = Fraction(micros(moment), 10**6) // SECONDS[unit]
        shifted = Fraction(micros(moment) - offset * 60 * 10**6, 10**6) // SECONDS[unit]
        zoned = moment.replace(tzinfo=timezone(timedelta(minutes=offset)))
        for given_moment, tick in ((moment, exact), (moment.replace(tzinfo=UTC), exact), (zoned, shifted)):
            for convert in (lambda m=given_moment: to_tick(m, unit), lambda m=given_moment: to_ticks([m], unit)[0]):
                if MIN_TICK <= tick <= MAX_TICK:
                    assert convert() == tick
                else:
                    with pytest.raises(InputError, match="coarser unit"):
                        convert()

    def test_zones_at_the_ends_of_the_calendar(self):
        first = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))
        last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=-12)))
        assert to_tick(first, "s") == (date(1, 1, 1) - EPOCH.date()).days * 86_400 - 14 * 3600
        assert to_tick(last, "s") == (date(9999, 12, 31) - EPOCH.date()).days * 86_400 + 86_399 + 12 * 3600
        sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.1, delta=0.1, window=timedelta(days=1), unit="s"))
        sketch.update("a", first)
        sketch.update("a", last)
        assert sketch.estimate("a", between=(last - timedelta(hours=1), last)).value == 1

    def test_a_zone_that_gives_no_offset_counts_as_utc(self):
        class Nowhere(tzinfo):
            def utcoffset(self, moment):
                return None

        assert to_tick(datetime(1970, 1, 2, tzinfo=Nowhere()), "s") == 86_400

    def test_stamps_of_pandas(self):
        stamp = pd.Timestamp("2026-01-01 12:00:00.123456789", tz="Europe/Paris")
        assert to_tick(stamp, "ns") == stamp.value
        assert to_tick(stamp, "ms") == stamp.value // 10**6
        assert to_tick(pd.Timestamp("0001-01-01").as_unit("s"), "D") == date(1, 1, 1).toordinal() - EPOCH.toordinal()
        assert to_tick(pd.Timestamp.min, "s") == pd.Timestamp.min.value // 10**9

    def test_lists_of_several_units_are_not_brought_to_the_finest(self):
        moments = [np.datetime64(10**6, "Y"), np.datetime64(5, "ns")]
        assert to_ticks(moments, "D").tolist() == [int(moments[0].astype("M8[D]").astype(np.int64)), 0]

    def test_moments_without_a_unit_are_refused(self):
        with pytest.raises(InputError, match="unit"):
            to_ticks(np.array([5]).view("M8"), "s")

    def test_other_byte_orders(self):
        assert to_ticks(np.array(["1970-01-02"], ">M8[s]"), "h").tolist() == [24]


ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Monrovia", "Asia/Manila"]
BORDERS = [
    datetime(2026, 3, 29, 2), datetime(2026, 10, 25, 2), datetime(2026, 10, 25, 3), datetime(2026, 11, 1, 1),
    datetime(2026, 4, 5, 1, 30), datetime(2026, 4, 5, 2), datetime(1972, 1, 7), datetime(1986, 1, 1),
    datetime(1893, 4, 1), datetime(1844, 12, 31), datetime(2026, 7, 1, 12),
]  # fmt: skip
ODD = timezone(timedelta(hours=5, microseconds=7))


def exact_tick(moment: datetime, unit: str) -> int:
    start = datetime(1970, 1, 1, tzinfo=UTC if moment.tzinfo else None)
    return int(Fraction((moment - start) // timedelta(microseconds=1), 10**6) // SECONDS[unit])


class TestZones:
    """The offset of a zone is remembered from one call to the next: it must never be that of another time."""

    @given(st.data(), st.sampled_from(UNITS))
    def test_moments_around_changes_of_the_clock(self, data, unit):
        zones = [ZoneInfo(name) for name in data.draw(st.lists(st.sampled_from(ZONES), min_size=1, max_size=2))]
        border = data.draw(st.sampled_from(BORDERS))
        near = st.timedeltas(timedelta(minutes=-70), timedelta(minutes=70))
        for offset in data.draw(st.lists(near, min_size=2, max_size=30)):
            zone = data.draw(st.sampled_from([*zones, ODD, UTC, None]))
            moment = (border + offset).replace(tzinfo=zone, fold=data.draw(st.integers(0, 1)))
            assert quick_tick(moment, unit) == exact_tick(moment, unit)
            if MIN_TICK <= exact_tick(moment, unit) <= MAX_TICK:
                assert to_tick(moment, unit) == exact_tick(moment, unit)

    @pytest.mark.parametrize("name", ZONES)
    def test_every_minute_of_a_year_with_its_changes(self, name):
        zone, begin = ZoneInfo(name), datetime(2026, 1, 1, tzinfo=UTC)
        for minute in range(0, 365 * 1440, 7):
            moment = (begin + timedelta(minutes=minute)).astimezone(zone)
            assert quick_tick(moment, "s") == int(begin.timestamp()) + minute * 60

    def test_threads_of_different_zones(self):
        def run(name):
            zone = ZoneInfo(name)
            moments = [datetime(2026, 10, 25, tzinfo=zone) + timedelta(minutes=step) for step in range(300)] * 20
            return [quick_tick(moment, "s") for moment in moments] == [exact_tick(moment, "s") for moment in moments]

        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(run, ZONES))
