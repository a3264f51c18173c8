"""Spark's clock: event times and a watermark by which no row is ever late, and timers.

The event time that Spark sees is set forward by as much as its watermark lags behind, and kept between two limits that
are no further apart than that. So no row is ever late, whatever its ticks, and Spark's watermark is the newest event of
all sites.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ecmsketch.inputs.ticks import TICKS_PER_DAY
from ecmsketch.spark.clocks import Clock

_DAY = TICKS_PER_DAY["ms"]
_REACH_DAYS = 73_000
"""What Spark sees of the clock begins in 1970 and ends two hundred years later, whatever the ticks."""
_LAG_DAYS = _REACH_DAYS + 1
"""How far event times are set forward, and how far the watermark lags: more than any two event times can differ."""


def to_millis(tick: int, unit: str | None) -> int:
    """A tick as the milliseconds that Spark sees: from 1970 to 2169, whatever the tick."""
    assert unit is not None
    return min(max(tick * _DAY // TICKS_PER_DAY[unit], 0), _REACH_DAYS * _DAY)


def from_millis(millis: int, unit: str | None) -> int | None:
    """The tick of Spark's watermark or wall clock; None if there is none yet."""
    assert unit is not None
    return millis * TICKS_PER_DAY[unit] // _DAY if millis > 0 else None


def with_clock(packed: DataFrame, unit: str | None, ahead: int | None) -> DataFrame:
    """Packs with the trigger's time "wall", an event time "at" and a watermark that is the newest event of all.

    A pack whose newest event is more than `ahead` after the wall clock does not move the watermark; nor does one that
    consists of a single event, unless that is near the wall clock.
    """
    timed = packed.withColumn("wall", F.unix_millis(F.current_timestamp()))
    newest = F.col("newest")
    if ahead is not None:
        reach = F.lit(to_millis(ahead, unit))
        single = F.col("alone") & (newest < F.col("wall") - reach)
        newest = F.when((newest <= F.col("wall") + reach) & ~single, newest)
    moment = F.coalesce(newest, F.lit(0)) + F.lit(_LAG_DAYS * _DAY)
    return timed.withColumn("at", F.timestamp_millis(moment)).withWatermark("at", f"{_LAG_DAYS} days")


def next_timer(clock: Clock, watermark: int, idle_after: int, unit: str | None) -> int:
    """When to look at a site again: when it has been idle for long, or at once when a jump may be confirmed."""
    if clock.jumped is not None:
        return watermark + 1
    idle = to_millis((clock.active or 0) + idle_after, unit) + 1
    return idle if idle > watermark else watermark + to_millis(idle_after, unit) + 1
