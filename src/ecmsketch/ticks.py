"""Ticks are integers in the caller's unit. Datetimes become ticks here, and nowhere else."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.columns import as_column
from ecmsketch.errors import InputError

TICKS_PER_DAY = {
    "ns": 86_400 * 10**9, "us": 86_400 * 10**6, "ms": 86_400 * 10**3, "s": 86_400, "m": 1440, "h": 24, "D": 1,
}  # fmt: skip
UNITS = tuple(TICKS_PER_DAY)
MIN_TICK = -(2**61)
MAX_TICK = 2**62

Tick = int | np.integer[Any] | date | np.datetime64
Span = int | np.integer[Any] | timedelta | np.timedelta64


def to_tick(moment: Any, unit: str | None) -> int:
    """One tick from an integer or, given a unit, from a datetime (naive ones count as UTC)."""
    if isinstance(moment, date | np.datetime64):
        return int(_from_datetimes(np.array([_numpy_moment(moment)]), _required(unit, moment))[0])
    if isinstance(moment, Integral) and not isinstance(moment, np.timedelta64):
        return check_tick(int(moment))
    raise InputError(f"tick: expected an integer or a datetime, got {moment!r} ({type(moment).__name__})")


def to_span(length: Any, unit: str | None) -> int:
    """A length of time in ticks, from an integer or, given a unit, from a timedelta."""
    if isinstance(length, timedelta | np.timedelta64):
        unit = _required(unit, length)
        exact = length.to_timedelta64() if hasattr(length, "to_timedelta64") else np.timedelta64(length)
        if np.isnat(exact) or np.datetime_data(exact.dtype)[0] in "YM":
            raise InputError(f"range: expected a fixed length of time, got {length!r}")
        ticks = exact.astype(f"timedelta64[{unit}]")
        if ticks != exact:
            raise InputError(f"range: {length!r} is not a whole number of ticks of unit={unit!r}")
        return int(ticks.astype(np.int64))
    if isinstance(length, Integral):
        return int(length)
    raise InputError(f"range: expected an integer or a timedelta, got {length!r} ({type(length).__name__})")


def to_ticks(moments: Any, unit: str | None) -> NDArray[np.int64]:
    """Many ticks at once, from numpy, Arrow, pandas or a list; missing values are an error."""
    column = as_column(_without_zone(moments), "ticks")
    if column.dtype.kind == "M":
        return _from_datetimes(column, _required(unit, "datetimes"))
    if column.dtype.kind == "O":
        return np.array([to_tick(moment, unit) for moment in column.tolist()], np.int64)
    if column.dtype.kind not in "iu" and len(column):
        raise InputError(f"ticks: expected integers or datetimes, got an array of {column.dtype}")
    if column.dtype == np.uint64 and len(column):
        check_tick(int(column.max()))
    return np.ascontiguousarray(column, np.int64)


def _numpy_moment(moment: Any) -> np.datetime64:
    if hasattr(moment, "to_datetime64"):  # pandas: keeps nanoseconds, and is UTC already
        stamp: np.datetime64 = moment.to_datetime64()
        return stamp
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(moment)


def _without_zone(moments: Any) -> Any:
    if getattr(getattr(moments, "dtype", None), "tz", None) is None:
        return moments
    return moments.dt.tz_convert(None) if hasattr(moments, "dt") else moments.tz_convert(None)


def _from_datetimes(column: NDArray[Any], unit: str) -> NDArray[np.int64]:
    missing = int(np.isnat(column).sum())
    if missing:
        raise InputError(f"ticks: {missing} of {len(column)} are missing (NaT); drop or fill them first")
    days = column.astype("datetime64[D]").astype(np.int64)
    reach = MAX_TICK // TICKS_PER_DAY[unit]
    if len(days) and not -reach // 2 <= int(days.min()) <= int(days.max()) < reach:
        raise InputError(
            f"ticks: with unit={unit!r} ticks reach from {np.datetime64(-reach // 2, 'D')} to "
            f"{np.datetime64(reach, 'D')}; choose a coarser unit"
        )
    return column.astype(f"datetime64[{unit}]").astype(np.int64)


def _required(unit: str | None, moment: Any) -> str:
    if unit is None:
        raise InputError(f"tick: got {moment!r}, but the config has no unit; give SketchConfig(unit='s'), for example")
    return unit


def check_tick(tick: int) -> int:
    """The tick itself, if kernels can count with it."""
    if not MIN_TICK <= tick <= MAX_TICK:
        raise InputError(f"tick: expected a value from -2**61 to 2**62, got {tick}")
    return tick
