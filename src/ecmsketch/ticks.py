"""Ticks are integers in the caller's unit. Datetimes become ticks here, and nowhere else."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.errors import InputError

UNITS = ("ns", "us", "ms", "s", "m", "h", "D")
MIN_TICK = -(2**61)
MAX_TICK = 2**61

Tick = int | np.integer[Any] | date | np.datetime64
Span = int | np.integer[Any] | timedelta | np.timedelta64


def to_tick(moment: Any, unit: str | None) -> int:
    """One tick from an integer or, given a unit, from a datetime (naive ones count as UTC)."""
    if isinstance(moment, Integral):
        return check_tick(int(moment))
    if isinstance(moment, date | np.datetime64):
        _require_unit(moment, unit)
        if isinstance(moment, datetime) and moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        stamp = np.datetime64(moment)
        if np.isnat(stamp):
            raise InputError("tick: expected a moment in time, got NaT")
        return check_tick(int(stamp.astype(f"datetime64[{unit}]").astype(np.int64)))
    raise InputError(f"tick: expected an integer or a datetime, got {moment!r} ({type(moment).__name__})")


def to_span(length: Any, unit: str | None) -> int:
    """A length of time in ticks, from an integer or, given a unit, from a timedelta."""
    if isinstance(length, timedelta | np.timedelta64):
        _require_unit(length, unit)
        exact = np.timedelta64(length)
        ticks = exact.astype(f"timedelta64[{unit}]")
        if ticks != exact:
            raise InputError(f"range: {length!r} is not a whole number of ticks of unit={unit!r}")
        return int(ticks.astype(np.int64))
    if isinstance(length, Integral):
        return int(length)
    raise InputError(f"range: expected an integer or a timedelta, got {length!r} ({type(length).__name__})")


def to_ticks(moments: Any, unit: str | None) -> NDArray[np.int64]:
    """Many ticks at once, from numpy, Arrow, pandas or a list; missing values are an error."""
    column = _column(moments)
    if column.dtype.kind == "M":
        _require_unit("datetimes", unit)
        missing = int(np.isnat(column).sum())
        if missing:
            raise InputError(f"ticks: {missing} of {len(column)} are missing (NaT); drop or fill them first")
        column = column.astype(f"datetime64[{unit}]").astype(np.int64)
    elif column.dtype.kind == "O":
        column = np.array([to_tick(moment, unit) for moment in column.tolist()], np.int64)
    elif column.dtype.kind not in "iu" and len(column):
        raise InputError(f"ticks: expected integers or datetimes, got an array of {column.dtype}")
    if column.dtype == np.uint64 and len(column):
        check_tick(int(column.max()))
    return np.ascontiguousarray(column, np.int64)


def _column(moments: Any) -> NDArray[Any]:
    if type(moments).__module__.startswith("pyarrow"):
        if moments.null_count:
            raise InputError(f"ticks: {moments.null_count} of {len(moments)} are null; drop or fill them first")
        moments = moments.to_numpy(zero_copy_only=False) if hasattr(moments, "buffers") else moments.to_numpy()
    if getattr(getattr(moments, "dtype", None), "tz", None) is not None:
        moments = moments.dt.tz_convert(None) if hasattr(moments, "dt") else moments.tz_convert(None)
    column = np.asarray(moments)
    if column.ndim != 1:
        raise InputError(f"ticks: expected one dimension, got an array of shape {column.shape}")
    return column


def _require_unit(moment: Any, unit: str | None) -> None:
    if unit is None:
        raise InputError(f"tick: got {moment!r}, but the config has no unit; give SketchConfig(unit='s'), for example")


def check_tick(tick: int) -> int:
    """The tick itself, if kernels can count with it."""
    if not MIN_TICK <= tick <= MAX_TICK:
        raise InputError(f"tick: expected a value from -2**61 to 2**61, got {tick}")
    return tick
