"""Lengths of time as people type them, such as 5m or 1h, in ticks."""

from __future__ import annotations

import re

from ecmsketch.errors import QueryError

_SECOND = 10**9
_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
    "d": 86_400 * _SECOND,
    "D": 86_400 * _SECOND,
    "w": 604_800 * _SECOND,
}
_LENGTH = re.compile(rf"([0-9]{{1,30}})\s*({'|'.join(_NANOSECONDS)})?")


def parse_duration(text: str, unit: str | None) -> int:
    """Convert a length such as 300, 5m or 1h to ticks of a unit; a QueryError if it is none."""
    found = _LENGTH.fullmatch(text.strip())
    if found is None:
        raise QueryError(f"expected a length such as 300, 5m, 1h or 7d, got {text!r}")
    number, suffix = int(found[1]), found[2]
    if suffix is None:
        return number
    if unit is None:
        raise QueryError(f"{text!r} needs sketches with a unit; give a number of ticks")
    ticks, rest = divmod(number * _NANOSECONDS[suffix], _NANOSECONDS[unit])
    if rest:
        raise QueryError(f"{text!r} is not a whole number of ticks of {unit}")
    return ticks
