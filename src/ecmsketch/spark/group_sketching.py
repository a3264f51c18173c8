"""A group of sites of a stream as Spark's state: their sketches, fed trigger by trigger, and their clocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from ecmsketch.spark.group_packing import Arrived, unpack_sites
from ecmsketch.spark.group_state import Group, GroupStates
from ecmsketch.spark.recipe import Recipe
from ecmsketch.spark.site_buckets import Bucket, SiteRecord
from ecmsketch.spark.site_feeding import Done, SiteFeeder, Work
from ecmsketch.spark.spark_clock import from_millis, next_timer, to_millis

OUTPUT = (
    "site {site}, sketch binary, events bigint, now bigint, late_counted bigint, late_dropped bigint, rejected bigint, "
    "reasons map<string, bigint>, added map<string, bigint>"
)
"""The schema of the sketches that changed in a trigger; {site} is the type of the site."""


class GroupSketcher(StatefulProcessor):
    """Keeps the sketches of a group of sites as Spark's state, with what the sites remember of clocks."""

    def __init__(self, recipe: Recipe, site_type: str, idle_after: int, ahead: int | None) -> None:
        self._recipe, self._site_type, self._idle_after, self._ahead = recipe, site_type, idle_after, ahead
        config = recipe.config
        self._unit = config.unit
        self._lateness = config.allowed_lateness if config.late == "side" else 0

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._handle = handle
        self._states = GroupStates(handle, self._site_type)
        self._feeder = SiteFeeder(self._recipe, self._ahead)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Feed this trigger's events to the sketches, and move on the sites of the group that are due."""
        packs = list(rows)
        wall = from_millis(packs[0]["wall"], self._unit)
        yield from self._visit(unpack_sites(packs), wall, timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Move on the sites that are due."""
        yield from self._visit([], None, timerValues.getCurrentWatermarkInMs(), fired=True)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _visit(self, arrived: list[Arrived], wall: int | None, watermark: int, fired: bool = False) -> Iterator[Row]:
        group = Group.load(self._states)
        if fired:  # Spark deletes such a timer
            group.timer = None
        for bucket, some in group.touched(arrived, watermark).items():
            contents = group.read(bucket)
            places, records = self._touched(contents, some, watermark)
            yield from self._change(records, some, wall, watermark)
            group.write(bucket, contents.replaced(places, records, self._states.text))
        self._set_timer(group, watermark)
        group.save()

    def _touched(self, contents: Bucket, arrived: list[Arrived], watermark: int) -> tuple[list[int], list[SiteRecord]]:
        """The sites for which something came, new ones too, then those that are due; and their places in the bucket."""
        known = {site: place for place, site in enumerate(contents.sites)}
        places = [known[site] for site, _, _ in arrived if site in known]
        fed = set(places)
        due = [place for place in contents.due_by(watermark) if place not in fed]
        found = contents.records([*places, *due])
        by_site = {record.site: record for record in found[: len(places)]}
        records = [by_site.get(site) or SiteRecord(site) for site, _, _ in arrived]
        return [*places, *due], [*records, *found[len(places) :]]

    def _change(
        self, records: list[SiteRecord], arrived: list[Arrived], wall: int | None, watermark: int
    ) -> Iterator[Row]:
        """Feed the first sites what came for them, move the others on; the rows of those that changed."""
        newest = from_millis(watermark, self._unit)
        states, feeder = self._states, self._feeder
        works = [
            feeder.believe(record, states.sketch(record), one, newest, wall)
            for record, one in zip(records, arrived, strict=False)
        ]
        works += [work for record in records[len(arrived) :] for work in self._move(record, newest)]
        for number, done in enumerate(feeder.do(works)):
            record = done.record
            if number < len(arrived) and arrived[number].rows is not None:
                record.clock = record.clock.met(newest, record.now)
            row = _row(done)
            states.place(record, done.sketch)
            yield row
        for record in records:
            record.due = self._next_visit(record, watermark)

    def _move(self, record: SiteRecord, newest: int | None) -> Iterator[Work]:
        """What to do to a site that had no events for a while: its clock follows that of the others."""
        record.clock = record.clock.hear(newest, record.now, self._ahead)
        others = record.clock.others
        if others is None or record.now is None or not record.clock.is_idle(newest, self._idle_after):
            return
        if others - self._lateness > record.now:
            yield Work(record, self._states.sketch(record), None, others - self._lateness)

    def _next_visit(self, record: SiteRecord, watermark: int) -> int:
        """When to look at a site again if nothing comes: when it has been idle for long, and can be moved on.

        It hears of the clock of all sites before that has gone on by `ahead`: else that would look like a jump.
        """
        due = next_timer(record.clock, watermark, self._idle_after, self._unit)
        if record.now is None or record.clock.jumped is not None:
            return due
        movable = record.now + self._lateness
        if self._ahead is not None:
            movable = min(movable, (record.clock.active or 0) + self._ahead // 2)
        return max(due, to_millis(movable, self._unit) + 1)

    def _set_timer(self, group: Group, watermark: int) -> None:
        """Have the group called when its first site is due. A timer that comes too early is left: calls take time."""
        if group.timer is not None and watermark < group.timer <= group.due:
            return
        if group.timer is not None:
            self._handle.deleteTimer(group.timer)
        group.timer = group.due
        self._handle.registerTimer(group.timer)


def _row(done: Done) -> Row:
    record = done.record
    return Row(
        site=record.site,
        sketch=done.sketch,
        events=record.events,
        now=record.now,
        late_counted=done.late_counted,
        late_dropped=done.late_dropped,
        rejected=sum(record.reasons.values()),
        reasons=record.reasons,
        added=record.added or None,
    )
