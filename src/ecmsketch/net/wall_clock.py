"""Ticks of the wall clock: seconds since 1970, or whatever the unit of the sketches is."""

from __future__ import annotations

import time
from math import ceil

from ecmsketch.errors import ConfigError
from ecmsketch.inputs.ticks import TICKS_PER_DAY
from ecmsketch.monitor import Watch


def now_tick(unit: str) -> int:
    """The tick that the wall clock shows."""
    return time.time_ns() * TICKS_PER_DAY[unit] // (86_400 * 10**9)


def seconds_of(ticks: float, unit: str) -> float:
    """How long some ticks are."""
    return ticks * 86_400 / TICKS_PER_DAY[unit]


def ticks_of(seconds: float, unit: str) -> int:
    """The least whole number of ticks, at least one, that is as long."""
    return max(ceil(seconds * TICKS_PER_DAY[unit] / 86_400), 1)


def unit_of(watch: Watch) -> str:
    """The unit of a watch's ticks; a ConfigError if its sketches cannot follow a clock."""
    if watch.sketch is None or watch.sketch.unit is None:
        raise ConfigError(
            "watch: expected sketch=SketchConfig(..., unit='s'), for example: ticks follow the wall clock"
        )
    if watch.sketch.late == "raise":
        raise ConfigError("late: a stream that has begun cannot be refused; set late='side' or late='drop'")
    return watch.sketch.unit
