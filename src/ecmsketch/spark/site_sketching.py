"""One site of a stream as Spark's state: its sketch, fed trigger by trigger, and its clocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from ecmsketch.errors import ConfigError
from ecmsketch.sketch.loading import AnySketch, load
from ecmsketch.spark import cleaning
from ecmsketch.spark.clocks import Clock, began_wrong, judge
from ecmsketch.spark.packing import add_reasons, unpack
from ecmsketch.spark.recipe import Recipe
from ecmsketch.spark.spark_clock import from_millis, next_timer

OUTPUT = (
    "site {site}, sketch binary, events bigint, now bigint, late_counted bigint, late_dropped bigint, rejected bigint, "
    "reasons map<string, bigint>"
)
"""The schema of the sketches that changed in a trigger; {site} is the type of the site."""
_STATE = (
    "sketch binary, events bigint, reasons map<string, bigint>, timer bigint, suspect bigint, live boolean, "
    "others bigint, jumped bigint, active bigint"
)


class SiteSketcher(StatefulProcessor):
    """Keeps one site's sketch as Spark's state, with what the site remembers of clocks."""

    def __init__(self, recipe: Recipe, idle_after: int, ahead: int | None) -> None:
        self._recipe, self._idle_after, self._ahead = recipe, idle_after, ahead

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state: the bytes of the sketch, what was counted and rejected, a timer and the clocks."""
        self._handle = handle
        self._state = handle.getValueState("site", _STATE)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Feed this trigger's events to the sketch, in order of time. A site with events keeps its own clock."""
        (site,) = key
        given = list(rows)
        kept = self._load(site)
        add_reasons(kept.reasons, given)
        newest = self._newest(timerValues)
        kept.hear(newest, self._ahead)
        for batch in unpack(given):
            wall = from_millis(given[0]["wall"], self._recipe.config.unit)
            if began_wrong(batch.ticks, kept.now, kept.events, self._ahead, kept.clock):
                kept.begin_anew()
            believed, kept.clock = judge(batch.ticks, kept.now, wall, self._ahead, kept.clock)
            cleaning.add_reasons(kept.reasons, {cleaning.TOO_FAR_AHEAD: len(batch.ticks) - believed})
            if believed:
                kept.feed(batch.part(0, believed), self._recipe, str(site))
            kept.clock = kept.clock.met(newest, kept.now)
        yield self._keep(site, kept, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Move the clock of a site that had no events for a while to that of the others."""
        (site,) = key
        kept = self._load(site)
        kept.timer = None
        before, newest = kept.now, self._newest(timerValues)
        kept.hear(newest, self._ahead)
        if kept.clock.is_idle(newest, self._idle_after):
            config = self._recipe.config
            kept.follow_others(config.allowed_lateness if config.late == "side" else 0)
        row = self._keep(site, kept, timerValues)
        if row["now"] != before:
            yield row

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _newest(self, timers: Any) -> int | None:
        """The newest event of all sites before this trigger."""
        return from_millis(timers.getCurrentWatermarkInMs(), self._recipe.config.unit)

    def _load(self, site: Any) -> _Kept:
        state = self._state.get()
        if state is None:
            return _Kept(None, 0, {}, None, Clock())
        data, events, reasons, timer, *clock = state
        kept = _Kept(
            None if data is None else load(bytes(data), max_nbytes=None), events, dict(reasons), timer, Clock(*clock)
        )
        if kept.sketch is not None:
            different = self._recipe.new("").config.differences(kept.sketch.config)
            if different:
                raise ConfigError(
                    f"site {site!r}: the running query keeps sketches with another {', '.join(different)}; a query's "
                    "config cannot change. Start one with the new config beside it, with a checkpoint of its own"
                )
        return kept

    def _keep(self, site: Any, kept: _Kept, timers: Any) -> Row:
        """Store everything; returns the site's row. The timer is set again only if it is due: that takes time."""
        self._set_timer(kept, timers.getCurrentWatermarkInMs())
        data = None if kept.sketch is None else kept.sketch.serialize()
        self._state.update((data, kept.events, kept.reasons, kept.timer, *kept.clock))
        return Row(
            site=site,
            sketch=data,
            events=kept.events,
            now=kept.now,
            late_counted=0 if kept.sketch is None else kept.sketch.late_counted,
            late_dropped=0 if kept.sketch is None else kept.sketch.late_dropped,
            rejected=sum(kept.reasons.values()),
            reasons=kept.reasons,
        )

    def _set_timer(self, kept: _Kept, watermark: int) -> None:
        if kept.timer is not None and kept.timer <= watermark:
            self._handle.deleteTimer(kept.timer)
            kept.timer = None
        if kept.timer is None:
            kept.timer = next_timer(kept.clock, watermark, self._idle_after, self._recipe.config.unit)
            self._handle.registerTimer(kept.timer)


@dataclass
class _Kept:
    """What is kept of a site between triggers."""

    sketch: AnySketch | None
    events: int
    reasons: cleaning.Reasons
    timer: int | None
    clock: Clock

    @property
    def now(self) -> int | None:
        return None if self.sketch is None else self.sketch.now

    def feed(self, rows: cleaning.Rows, recipe: Recipe, site: str) -> None:
        """Count rows that are in order of time."""
        sketch = self.sketch = self.sketch or recipe.new(site)

        def count(part: cleaning.Rows) -> None:
            sketch.update_many(recipe.items(part.items), part.ticks, part.weights)

        refused = cleaning.feed(count, rows)
        cleaning.add_reasons(self.reasons, refused)
        self.events += len(rows.ticks) - sum(refused.values())

    def begin_anew(self) -> None:
        """Reject everything counted so far, because the site's clock was wrong."""
        cleaning.add_reasons(self.reasons, {cleaning.TOO_FAR_AHEAD: self.events})
        self.sketch, self.events = None, 0

    def hear(self, newest: int | None, ahead: int | None) -> None:
        """Take the clock of all sites."""
        self.clock = self.clock.hear(newest, self.now, ahead)

    def follow_others(self, lateness: int) -> None:
        """Move the clock to that of all sites, less what may be late."""
        others = self.clock.others
        if self.sketch is not None and self.now is not None and others is not None and others - lateness > self.now:
            self.sketch.advance(others - lateness)
