"""Lengths of time as people type them, such as 5m or 1h, in ticks."""

from __future__ import annotations

import re

import typer

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
UNITS = ("ns", "us", "ms", "s", "m", "h", "D")
"""The units that a tick may have. The same as `ecmsketch.inputs.ticks.UNITS`, which would import numpy for --help."""
_LENGTH = re.compile(rf"([0-9]{{1,30}})\s*({'|'.join(_NANOSECONDS)})?")


def to_ticks(text: str | None, unit: str | None, name: str) -> int | None:
    """Convert a length such as 300, 5m or 1h to ticks; `name` is the option that errors point to."""
    if text is None:
        return None
    found = _LENGTH.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(f"expected a length such as 300, 5m, 1h or 7d, got {text!r}", param_hint=name)
    number, suffix = int(found[1]), found[2]
    if suffix is None:
        return number
    if unit is None:
        raise typer.BadParameter(f"{text!r} needs sketches with a unit; give a number of ticks", param_hint=name)
    ticks, rest = divmod(number * _NANOSECONDS[suffix], _NANOSECONDS[unit])
    if rest:
        raise typer.BadParameter(f"{text!r} is not a whole number of ticks of {unit}", param_hint=name)
    return ticks


def to_unit(text: str) -> str | None:
    """Check a unit of ticks; "none" becomes None."""
    if text not in (*UNITS, "none"):
        raise typer.BadParameter(f"expected one of {', '.join(UNITS)} or none, got {text!r}", param_hint="--unit")
    return None if text == "none" else text


def ahead_ticks(text: str, unit: str | None) -> int | None:
    """Convert --ahead to ticks. None means no limit; without a unit ticks are not times, so there is none."""
    return None if text == "none" or unit is None else to_ticks(text, unit, "--ahead")
