"""Ticks as moments: times of the calendar, in ISO 8601."""

from __future__ import annotations

from datetime import datetime, timedelta

_PER_SECOND = {"ns": 10**9, "us": 10**6, "ms": 10**3, "s": 1}
_SECONDS = {"m": 60, "h": 3600, "D": 86_400}
_EPOCH = datetime(1970, 1, 1)


def moment(tick: int | None, unit: str | None) -> str | None:
    """A tick as ISO 8601 in UTC, to the precision of the unit; None if no calendar has such a time."""
    if tick is None or unit is None:
        return None
    per_second = _PER_SECOND.get(unit, 1)
    seconds, part = divmod(tick * _SECONDS.get(unit, 1), per_second)
    try:
        time = _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        return None
    if unit == "D":
        return f"{time:%Y-%m-%d}".rjust(10, "0")
    digits = len(str(per_second)) - 1
    return time.isoformat() + (f".{part:0{digits}}" if digits else "") + "Z"
