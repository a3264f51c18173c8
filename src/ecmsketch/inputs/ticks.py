"""Ticks are integers in the caller's unit. Datetimes become ticks here, and nowhere else.

All conversions use whole numbers, and those of Python where 64 bits may not suffice. A result is exact, or refused.
A moment inside a tick counts as that tick (rounded down); a length of time must be a whole number of ticks.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.errors import InputError
from ecmsketch.inputs.columns import INT64, as_column, count_missing, is_int64, missing_values, packed, wrong_type
from ecmsketch.inputs.integers import is_integer
from ecmsketch.inputs.quick_ticks import quick_tick
from ecmsketch.inputs.tick_units import (
    ATTOSECONDS,
    MAX_TICK,
    MIN_TICK,
    NO_TICK,
    NUMPY_NAT,
    TICKS_PER_DAY,
    UNITS,
    ratio,
)

__all__ = ["MAX_TICK", "MIN_TICK", "NO_TICK", "TICKS_PER_DAY", "UNITS", "Span", "Tick", "check_tick", "to_span",
           "to_tick", "to_ticks"]  # fmt: skip

Tick = int | np.integer[Any] | date | np.datetime64
Span = int | np.integer[Any] | timedelta | np.timedelta64

_MOST_YEARS = 10**16
"""numpy converts so many years into days without overflow. Ticks do not reach as far."""


def to_tick(moment: Any, unit: str | None) -> int:
    """One tick from an integer or, given a unit, from a datetime (naive ones count as UTC)."""
    if isinstance(moment, date | np.datetime64):
        unit = _required(unit, moment)
        tick = quick_tick(moment, unit)
        if not MIN_TICK <= tick <= MAX_TICK:
            tick = int(_from_datetimes(np.array([_numpy_moment(moment)]), unit)[0])
        return tick
    if is_integer(moment) or isinstance(moment, bool):
        return check_tick(int(moment))
    raise InputError(f"tick: expected an integer or a datetime, got {moment!r} ({type(moment).__name__})")


def to_span(length: Any, unit: str | None) -> int:
    """A length of time in ticks, from an integer or, given a unit, from a timedelta."""
    if isinstance(length, timedelta | np.timedelta64):
        unit = _required(unit, length)
        steps, (numerator, denominator) = _steps(length, unit)
        ticks, rest = divmod(steps * numerator, denominator)
        if rest:
            raise InputError(f"range: {length!r} is not a whole number of ticks of unit={unit!r}")
        return ticks
    if is_integer(length) or isinstance(length, bool):
        return int(length)
    raise InputError(f"range: expected an integer or a timedelta, got {length!r} ({type(length).__name__})")


def to_ticks(moments: Any, unit: str | None) -> NDArray[np.int64]:
    """Many ticks at once, from numpy, Arrow, polars, pandas or a list; missing values are an error."""
    if is_int64(moments):
        return packed(moments, INT64)
    if isinstance(moments, list | tuple):
        classes = set(map(type, moments))
        if classes == {int}:
            with suppress(OverflowError):  # as objects below, which says what is wrong
                return np.fromiter(moments, np.int64, len(moments))
        if classes == {datetime} or np.datetime64 in classes:
            return _from_objects(list(moments), unit)  # numpy would bring all to the finest unit, past 64 bits
    column = as_column(_without_zone(moments), "ticks")
    if column.dtype.kind == "M":
        return _from_datetimes(column, _required(unit, "datetimes"))
    if column.dtype.kind == "O":
        return _from_objects(column.tolist(), unit)
    if column.dtype.kind not in "iu" and len(column):
        raise wrong_type(column, "ticks", "integers or datetimes")
    if column.dtype == np.uint64 and len(column):
        check_tick(int(column.max()))
    return packed(column, INT64)


def _microseconds(length: timedelta) -> int:
    return (length.days * 86_400 + length.seconds) * 10**6 + length.microseconds


def _steps(length: Any, unit: str) -> tuple[int, tuple[int, int]]:
    """A length of time as a number of its own units, and how many ticks one of them is."""
    if isinstance(length, timedelta) and not hasattr(length, "to_timedelta64"):
        return _microseconds(length), ratio("us", 1, unit)
    exact = length.to_timedelta64() if hasattr(length, "to_timedelta64") else length
    source, count = np.datetime_data(exact.dtype)
    if np.isnat(exact) or source not in ATTOSECONDS:
        raise InputError(f"range: expected a fixed length of time, got {length!r}")
    return int(exact.astype(np.int64)), ratio(source, count, unit)


def _numpy_moment(moment: Any) -> np.datetime64:
    if hasattr(moment, "to_datetime64"):  # pandas: keeps nanoseconds, and is UTC already
        stamp: np.datetime64 = moment.to_datetime64()
        return stamp
    if isinstance(moment, datetime):
        return np.datetime64(quick_tick(moment, "us"), "us")
    return np.datetime64(moment)


def _without_zone(moments: Any) -> Any:
    if getattr(getattr(moments, "dtype", None), "tz", None) is None:
        return moments
    return moments.dt.tz_convert(None) if hasattr(moments, "dt") else moments.tz_convert(None)


def _from_objects(moments: list[Any], unit: str | None) -> NDArray[np.int64]:
    try:
        quick = [quick_tick(moment, unit) for moment in moments]
        if quick and MIN_TICK <= min(quick) <= max(quick) <= MAX_TICK:
            return np.array(quick, np.int64)
        return np.array([to_tick(moment, unit) for moment in moments], np.int64)
    except InputError as error:
        missing = count_missing(moments)
        if missing:
            raise missing_values("ticks", missing, len(moments)) from error
        raise


def _from_datetimes(column: NDArray[Any], unit: str) -> NDArray[np.int64]:
    source, count = np.datetime_data(column.dtype)
    steps = np.ascontiguousarray(column, column.dtype.newbyteorder("=")).view(np.int64)
    if not len(steps):
        return steps
    if int(steps.min()) == NUMPY_NAT:
        missing = int(np.isnat(column).sum())
        raise InputError(f"ticks: {missing} of {len(column)} are missing (NaT); drop or fill them first")
    if source in ("Y", "M"):
        steps, source, count = _days_of_calendar(steps, source, count, unit), "D", 1
    if source not in ATTOSECONDS:
        raise InputError("ticks: expected datetimes with a unit, got an array of datetime64 without one")
    numerator, denominator = ratio(source, count, unit)
    oldest, newest = (int(step) * numerator // denominator for step in (steps.min(), steps.max()))
    if not MIN_TICK <= oldest <= newest <= MAX_TICK:
        raise _out_of_reach(unit)
    if numerator == denominator:
        return packed(steps, INT64)
    if denominator == 1 and numerator < 2**62:
        return steps * np.int64(numerator)
    if numerator == 1 and denominator < 2**62:
        return steps // np.int64(denominator)
    return np.array([step * numerator // denominator for step in steps.tolist()], np.int64)


def _days_of_calendar(steps: NDArray[np.int64], source: Any, count: int, unit: str) -> NDArray[np.int64]:
    """Years or months since 1970 as days."""
    most = _MOST_YEARS * (12 if source == "M" else 1)
    if max(abs(int(steps.min())), abs(int(steps.max()))) * count > most:
        raise _out_of_reach(unit)
    return (steps * np.int64(count)).astype(f"datetime64[{source}]").astype("datetime64[D]").astype(np.int64)


def _out_of_reach(unit: str) -> InputError:
    reach = MAX_TICK // TICKS_PER_DAY[unit]
    return InputError(
        f"ticks: with unit={unit!r} ticks reach from {np.datetime64(-reach // 2, 'D')} to "
        f"{np.datetime64(reach, 'D')}; choose a coarser unit"
    )


def _required(unit: str | None, moment: Any) -> str:
    if unit is None:
        raise InputError(f"tick: got {moment!r}, but the config has no unit; give SketchConfig(unit='s'), for example")
    return unit


def check_tick(tick: int) -> int:
    """The tick itself, if kernels can count with it."""
    if not MIN_TICK <= tick <= MAX_TICK:
        raise InputError(f"tick: expected a value from -2**61 to 2**62, got {tick}")
    return tick
