"""Ticks shown as times."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

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


def shown(tick: int | None, unit: str | None) -> str:
    """A tick as it appears in a sentence: as a time if it is one, else as a number."""
    return moment(tick, unit) or ("no tick" if tick is None else f"tick {tick}")


def with_times(facts: dict[str, Any], names: tuple[str, ...], unit: str | None, as_json: bool) -> dict[str, Any]:
    """Show the facts in `names` as times: instead of the ticks for people, beside them as `..._time` in JSON."""
    timed: dict[str, Any] = {}
    for name, value in facts.items():
        time = moment(value, unit) if name in names else None
        if time is None or as_json:
            timed[name] = value
        else:
            timed[name] = time
        if time is not None and as_json:
            timed[f"{name}_time"] = time
    return timed
