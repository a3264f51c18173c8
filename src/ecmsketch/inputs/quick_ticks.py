"""One tick from one moment, at the least cost: `update` does this for every arrival.

Every unit has its own functions, by the class of the moment. They are exact. A result outside MIN_TICK .. MAX_TICK
means that `to_ticks` has to look at the moment: it is of another kind, or wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from struct import Struct
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from ecmsketch.inputs.integers import NUMPY_INTEGERS
from ecmsketch.inputs.tick_units import ATTOSECONDS, NO_TICK, NUMPY_NAT, TICKS_PER_DAY, ratio

Converters = dict[type, Callable[[Any], int]]

_PER_SECOND = {"ns": 10**9, "us": 10**6, "ms": 10**3, "s": 1}
_SECONDS = {"m": 60, "h": 3600, "D": 86_400}
_EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
_QUARTER = timedelta(minutes=15)
_EVER = 10**12
"""More seconds than the calendar of datetimes has."""
_INT64 = Struct("q")


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
