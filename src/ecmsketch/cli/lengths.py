"""Lengths of time as people type them, such as 5m or 1h, in ticks."""

from __future__ import annotations

import typer

from ecmsketch.errors import QueryError
from ecmsketch.inputs.durations import parse_duration

UNITS = ("ns", "us", "ms", "s", "m", "h", "D")
"""The units that a tick may have. The same as `ecmsketch.inputs.ticks.UNITS`, which would import numpy for --help."""


def to_ticks(text: str | None, unit: str | None, name: str) -> int | None:
    """Convert a length such as 300, 5m or 1h to ticks; `name` is the option that errors point to."""
    if text is None:
        return None
    try:
        return parse_duration(text, unit)
    except QueryError as error:
        raise typer.BadParameter(str(error), param_hint=name) from error


def to_unit(text: str) -> str | None:
    """Check a unit of ticks; "none" becomes None."""
    if text not in (*UNITS, "none"):
        raise typer.BadParameter(f"expected one of {', '.join(UNITS)} or none, got {text!r}", param_hint="--unit")
    return None if text == "none" else text


def ahead_ticks(text: str, unit: str | None) -> int | None:
    """Convert --ahead to ticks. None means no limit; without a unit ticks are not times, so there is none."""
    return None if text == "none" or unit is None else to_ticks(text, unit, "--ahead")
