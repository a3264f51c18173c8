"""One site of a monitor as Spark's state: it observes events, and exchanges messages with the coordinator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from ecmsketch.monitor import Site, Watch
from ecmsketch.monitor.messages import message_kind
from ecmsketch.spark import cleaning
from ecmsketch.spark.clocks import Clock, began_wrong, judge
from ecmsketch.spark.packing import add_reasons, unpack
from ecmsketch.spark.recipe import Recipe
from ecmsketch.spark.spark_clock import from_millis, next_timer

OUTPUT = "site string, message binary, now bigint, events bigint, reasons map<string, bigint>"
"""The schema of what sites say in a trigger."""
_STATE = "site binary, events bigint, suspect bigint, live boolean, others bigint, jumped bigint, active bigint"

_QUESTIONS = ("request", "orders", "welcome", "width")
"""Messages that are answered with what is known after a trigger's events."""


class SiteWatcher(StatefulProcessor):
    """Keeps one site of a monitor as Spark's state, with what it remembers of clocks."""

    def __init__(self, watch: Watch, recipe: Recipe, every: int, ahead: int | None) -> None:
        assert watch.sketch is not None
        self._recipe = recipe
        self._watch, self._every, self._ahead, self._unit = watch, every, ahead, watch.sketch.unit

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state: the bytes of the site, and the clocks."""
        self._handle = handle
        self._state = handle.getValueState("site", _STATE)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Apply the coordinator's answers, observe events, check the threshold, then answer its questions."""
        (name,) = key
        given = list(rows)
        messages = [bytes(row["message"]) for row in given if row["message"] is not None]
        done = _Done()
        add_reasons(done.reasons, given)
        if name is None:
            yield self._row(name, None, None, 0, done.reasons)
            return
        site, clock, before = self._load(name)
        for message in messages:
            if message_kind(message) not in _QUESTIONS:
                done.said += site.receive(message)
        newest = self._newest(timerValues)
        clock = clock.hear(newest, site.now, self._ahead)
        batches = self._batches(given)
        if batches:
            ticks = np.sort(np.concatenate([batch.ticks for batch in batches.values()]))
            if began_wrong(ticks, site.now, before, self._ahead, clock):
                cleaning.add_reasons(done.reasons, {cleaning.TOO_FAR_AHEAD: before})
                site, before, done.said = Site(name, self._watch), 0, []
            wall = from_millis(given[0]["wall"], self._unit)
            believed, clock = judge(ticks, site.now, wall, self._ahead, clock)
            cleaning.add_reasons(done.reasons, {cleaning.TOO_FAR_AHEAD: len(ticks) - believed})
            self._observe(site, batches, int(ticks[believed - 1]) if believed else None, done)
        if done.events:
            clock = clock.met(newest, site.now)
        done.said += self._check(site, clock, newest)
        for message in messages:
            if message_kind(message) in _QUESTIONS:
                done.said += site.receive(message)
        yield from self._keep(site, clock, before + done.events, done, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Check a site that had no events for a while, since events that expire change its value too."""
        site, clock, events = self._load(key[0])
        newest = self._newest(timerValues)
        clock = clock.hear(newest, site.now, self._ahead)
        yield from self._keep(site, clock, events, _Done(self._check(site, clock, newest)), timerValues)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _load(self, name: str) -> tuple[Site, Clock, int]:
        kept = self._state.get()
        if kept is None:
            return Site(name, self._watch), Clock(), 0
        return Site.deserialize(bytes(kept[0]), self._watch), Clock(*kept[2:]), kept[1]

    def _newest(self, timers: Any) -> int | None:
        return from_millis(timers.getCurrentWatermarkInMs(), self._unit)

    def _batches(self, given: list[Row]) -> dict[str, cleaning.Rows]:
        """The events of each stream that has any, in order of time."""
        return {
            stream: batch
            for stream in self._watch.function.streams
            for batch in unpack(row for row in given if row["stream"] == stream)
        }

    def _observe(self, site: Site, batches: dict[str, cleaning.Rows], until: int | None, done: _Done) -> None:
        """Count the events up to a tick."""
        for stream, batch in batches.items():
            count = 0 if until is None else int(np.searchsorted(batch.ticks, until, side="right"))
            if count:
                done.feed(site, stream, batch.part(0, count), self._recipe)

    def _check(self, site: Site, clock: Clock, newest: int | None) -> list[bytes]:
        """Check the threshold. A site without events uses the clock of the others, one with events its own."""
        if site.now is None:
            return []
        idle = clock.others is not None and clock.is_idle(newest, self._every)
        return site.tick(max(clock.others or 0, site.now) if idle else site.now)

    def _keep(self, site: Site, clock: Clock, events: int, done: _Done, timers: Any) -> Iterator[Row]:
        self._state.update((site.serialize(), events, *clock))
        for timer in self._handle.listTimers():
            self._handle.deleteTimer(timer)
        self._handle.registerTimer(next_timer(clock, timers.getCurrentWatermarkInMs(), self._every, self._unit))
        yield self._row(site.name, None, site.now, done.events, done.reasons)
        for message in done.said:
            yield self._row(site.name, message, site.now, 0, {})

    @staticmethod
    def _row(site: str | None, message: bytes | None, now: int | None, events: int, reasons: cleaning.Reasons) -> Row:
        return Row(site=site, message=message, now=now, events=events, reasons=reasons)


@dataclass
class _Done:
    """What a site did in a trigger: messages sent, events counted, rows rejected."""

    said: list[bytes] = field(default_factory=list)
    events: int = 0
    reasons: cleaning.Reasons = field(default_factory=dict)

    def feed(self, site: Site, stream: str, rows: cleaning.Rows, recipe: Recipe) -> None:
        """Let the site count rows that are in order of time."""

        def observe(part: cleaning.Rows) -> None:
            site.observe(recipe.items(part.items), part.ticks, part.weights, stream, check=False)

        refused = cleaning.feed(observe, rows)
        cleaning.add_reasons(self.reasons, refused)
        self.events += len(rows.ticks) - sum(refused.values())
