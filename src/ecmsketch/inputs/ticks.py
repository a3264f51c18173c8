"""Ticks are integers in the caller's unit. Datetimes become ticks here, and nowhere else.

All conversions use whole numbers, and those of Python where 64 bits may not suffice. A result is exact, or refused.
A moment inside a tick counts as that tick (rounded down); a length of time must be a whole number of ticks.

`update` converts a moment for every arrival, so every unit has its own functions, by the class of the moment
(`quick_converters`). A result of theirs outside MIN_TICK .. MAX_TICK means that `to_tick` has to look at the moment: it
is of another class, or wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from math import gcd
from struct import Struct
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from ecmsketch.errors import InputError
from ecmsketch.inputs.columns import (
    INT64,
    NUMPY_INTEGERS,
    as_column,
    count_missing,
    is_int64,
    is_integer,
    missing_values,
    packed,
    wrong_type,
)

Tick = int | np.integer[Any] | date | np.datetime64
Span = int | np.integer[Any] | timedelta | np.timedelta64

_MOST_YEARS = 10**16
"""numpy converts so many years into days without overflow. Ticks do not reach as far."""
Converters = dict[type, Callable[[Any], int]]

_PER_SECOND = {"ns": 10**9, "us": 10**6, "ms": 10**3, "s": 1}
_SECONDS = {"m": 60, "h": 3600, "D": 86_400}
_EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
_QUARTER = timedelta(minutes=15)
_EVER = 10**12
"""More seconds than the calendar of datetimes has."""
_INT64 = Struct("q")

TICKS_PER_DAY = {
    "ns": 86_400 * 10**9, "us": 86_400 * 10**6, "ms": 86_400 * 10**3, "s": 86_400, "m": 1440, "h": 24, "D": 1,
}  # fmt: skip
UNITS = tuple(TICKS_PER_DAY)
MIN_TICK = -(2**61)
MAX_TICK = 2**62
NO_TICK = MIN_TICK - 1
"""What `quick_tick` returns if it cannot convert a moment."""

ATTOSECONDS = {
    "as": 1, "fs": 10**3, "ps": 10**6, "ns": 10**9, "us": 10**12, "ms": 10**15, "s": 10**18,
    "m": 60 * 10**18, "h": 3600 * 10**18, "D": 86_400 * 10**18, "W": 7 * 86_400 * 10**18,
}  # fmt: skip
"""Lengths of numpy's units. Years and months have no fixed length."""
NUMPY_NAT = -(2**63)
"""The 64 bits of a datetime64 that is missing."""


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


@lru_cache(maxsize=16)
def quick_converters(unit: str | None) -> Converters:
    """How moments become ticks of a unit, by their class. Without a unit only integers do."""
    converters: Converters = dict.fromkeys(NUMPY_INTEGERS, int) | {type(None): lambda _: NO_TICK}
    if unit is not None:
        converters |= {datetime: _from_datetime(unit), date: _from_date(unit), np.datetime64: _from_datetime64(unit)}
    return converters


def quick_tick(moment: Any, unit: str | None) -> int:
    """The tick of a datetime or an integer of numpy, or of a class derived from these; NO_TICK for anything else."""
    converters = quick_converters(unit)
    convert = converters.get(moment.__class__)
    if convert is None and unit is not None and isinstance(moment, datetime):
        if hasattr(moment, "to_datetime64"):
            return _from_timestamp(moment, unit)
        convert = converters[datetime]
    return NO_TICK if convert is None else convert(moment)


def _from_datetime(unit: str) -> Callable[[datetime], int]:
    """Make the function for datetimes."""
    if unit in _SECONDS:
        length = _SECONDS[unit]
        return lambda moment: _seconds(moment) // length
    finer = _PER_SECOND[unit]

    def to_fractions(moment: datetime) -> int:
        zone = moment.tzinfo
        if zone is None or zone is UTC or zone is _offset.zone:  # whole seconds from UTC
            return _seconds(moment) * finer + moment.microsecond * finer // 10**6
        since = _since_epoch(moment, zone)
        return (since.days * 86_400 + since.seconds) * finer + since.microseconds * finer // 10**6

    return _seconds if unit == "s" else to_fractions


def _seconds(moment: datetime) -> int:
    """Whole seconds since 1970. A moment without a zone counts as UTC.

    Two moments of one zone are subtracted without asking it for its offset, which takes a tenth of the time.
    """
    zone = moment.tzinfo
    if zone is None:
        since = moment - _EPOCH
    elif zone is UTC:
        since = moment - _EPOCH_UTC
    else:
        known, fold, first, end, offset, epoch = _offset
        if zone is known:
            since = moment - epoch
            seconds = since.days * 86_400 + since.seconds
            if first <= seconds < end and moment.fold == fold:
                return seconds - offset
        since = _since_epoch(moment, zone)
    return since.days * 86_400 + since.seconds


def _since_epoch(moment: datetime, zone: tzinfo) -> timedelta:
    try:
        since = moment - _EPOCH_UTC  # `astimezone` would overflow near the years 1 and 9999
    except TypeError:  # a zone that does not know its offset
        return moment.replace(tzinfo=None) - _EPOCH
    with suppress(OverflowError):  # at an end of the calendar
        _remember_offset(moment, zone)
    return since


class _Offset(NamedTuple):
    """A zone's offset during some time, in seconds, and 1970 in that zone."""

    zone: tzinfo
    fold: int
    first: int
    end: int
    offset: int
    epoch: datetime


_offset = _Offset(UTC, 0, 0, 0, 0, _EPOCH_UTC)
"""The last offset that was asked for: asking a zone takes most of the time."""


def _remember_offset(moment: datetime, zone: tzinfo) -> None:
    """Remember the offset at a moment, if it is a whole number of seconds.

    It is remembered for a quarter of an hour, in which no zone changes its offset twice: so one with the same offset at
    both ends has it throughout. Zones with a fixed offset have it for ever. Zones of other classes may do anything.
    """
    global _offset  # one assignment, so other threads see the old one or the new one
    offset = zone.utcoffset(moment)
    if offset is None or offset.microseconds:
        return
    seconds, epoch = offset.days * 86_400 + offset.seconds, datetime(1970, 1, 1, tzinfo=zone)
    if zone.__class__ is timezone:
        _offset = _Offset(zone, moment.fold, -_EVER, _EVER, seconds, epoch)
    elif zone.__class__ is ZoneInfo:
        quarter = moment.replace(minute=moment.minute // 15 * 15, second=0, microsecond=0)
        if zone.utcoffset(quarter) == offset == zone.utcoffset(quarter + _QUARTER):
            since = quarter.replace(tzinfo=None) - _EPOCH
            first = since.days * 86_400 + since.seconds
            _offset = _Offset(zone, moment.fold, first, first + _QUARTER.seconds, seconds, epoch)


def _from_date(unit: str) -> Callable[[date], int]:
    per_day, epoch = TICKS_PER_DAY[unit], _EPOCH.toordinal()
    return lambda moment: (moment.toordinal() - epoch) * per_day


def _from_datetime64(unit: str) -> Callable[[np.datetime64], int]:
    """Make the function for numpy's moments. It remembers the last type: finding its ratio takes most of the time."""
    last = np.dtype("M8[s]"), *ratio("s", 1, unit)
    unpack = _INT64.unpack_from

    def convert(moment: np.datetime64) -> int:
        nonlocal last
        kind, numerator, denominator = last
        if moment.dtype != kind:
            last = kind, numerator, denominator = moment.dtype, *_ticks_per_step(moment.dtype, unit)
        steps: int = unpack(moment)[0]  # type: ignore[arg-type]
        if steps == NUMPY_NAT or not numerator:
            return NO_TICK
        return steps if numerator == denominator else steps * numerator // denominator

    return convert


def _ticks_per_step(kind: np.dtype[Any], unit: str) -> tuple[int, int]:
    """How many ticks a step of one of numpy's types is, as a fraction; 0 if it has no fixed length."""
    source, count = np.datetime_data(kind)
    return ratio(source, count, unit) if source in ATTOSECONDS else (0, 1)


def _from_timestamp(moment: Any, unit: str) -> int:
    """The tick of a moment of pandas, which is UTC inside, and has nanoseconds."""
    try:
        steps: int = moment.value
    except (AttributeError, OverflowError, ValueError):
        return quick_converters(unit)[np.datetime64](moment.to_datetime64())
    if steps == NUMPY_NAT:
        return NO_TICK
    numerator, denominator = ratio("ns", 1, unit)
    return steps * numerator // denominator


@lru_cache(maxsize=256)
def ratio(source: str, count: int, unit: str) -> tuple[int, int]:
    """How many ticks `count` of a numpy unit are, as a fraction in lowest terms."""
    numerator, denominator = count * ATTOSECONDS[source], ATTOSECONDS[unit]
    common = gcd(numerator, denominator)
    return numerator // common, denominator // common
