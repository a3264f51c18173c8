"""What a trigger does to the sites of a bucket: which events are believed, how they are counted, who is moved on.

Small sketches are fed as bytes, all of them in one call (sketch/appending.py). Those that are not as simple, and large
ones, are fed one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ecmsketch.errors import ConfigError
from ecmsketch.inputs.kinds import INTEGER, encode_kinds
from ecmsketch.inputs.ticks import MIN_TICK
from ecmsketch.sketch.loading import AnySketch, load
from ecmsketch.sketch.small_sketches import append_events, can_append
from ecmsketch.spark import cleaning
from ecmsketch.spark.clocks import began_wrong, judge
from ecmsketch.spark.group_packing import Arrived
from ecmsketch.spark.recipe import Recipe
from ecmsketch.spark.site_buckets import SiteRecord

LATE_COUNTED, LATE_DROPPED = "late_counted", "late_dropped"
"""What the column `added` calls late rows; no reason to reject a row is called so."""
_NO_TICKS = np.empty(0, np.int64)


class Work(NamedTuple):
    """What is to be done to a site's sketch: count rows that are believed, or move its clock to a tick."""

    record: SiteRecord
    sketch: bytes | None
    rows: cleaning.Rows | None = None
    tick: int | None = None


class Done(NamedTuple):
    """A site's sketch after a trigger."""

    record: SiteRecord
    sketch: bytes | None
    late_counted: int
    late_dropped: int


class SiteFeeder:
    """Feeds sites by a recipe. Ticks more than `ahead` ahead of the clocks are not believed."""

    def __init__(self, recipe: Recipe, ahead: int | None) -> None:
        self._recipe, self._ahead = recipe, ahead
        self._config = recipe.new("").config
        self._quickly = recipe.bits is None and can_append(self._config)
        self._empty = recipe.new("").serialize() if self._quickly else b""

    def believe(
        self, record: SiteRecord, sketch: bytes | None, arrived: Arrived, newest: int | None, wall: int | None
    ) -> Work:
        """Decide which of a site's events are believed. A site with events keeps its own clock."""
        record.reject(arrived.reasons)
        record.clock = record.clock.hear(newest, record.now, self._ahead)
        rows = arrived.rows
        if rows is None:
            return Work(record, sketch)
        if began_wrong(rows.ticks, record.now, record.events, self._ahead, record.clock):
            record.reject({cleaning.TOO_FAR_AHEAD: record.events})
            record.events, record.now, sketch = 0, None, None
        believed, record.clock = judge(rows.ticks, record.now, wall, self._ahead, record.clock)
        record.reject({cleaning.TOO_FAR_AHEAD: len(rows.ticks) - believed})
        some = rows if believed == len(rows.ticks) else rows.part(0, believed) if believed else None
        return Work(record, sketch, some)

    def do(self, works: list[Work]) -> Iterator[Done]:
        """Count what is believed, and move clocks."""
        quick = [i for i, work in enumerate(works) if self._is_quick(work)]
        found = dict(zip(quick, self._append([works[i] for i in quick]), strict=True)) if quick else {}
        for i, work in enumerate(works):
            yield found.get(i) or self._feed(work)

    def _is_quick(self, work: Work) -> bool:
        if not self._quickly or work.record.large or (work.rows is None and work.tick is None):
            return False
        return work.rows is None or (work.rows.weights is None and len(work.rows.ticks) < self._config.block)

    def _append(self, works: list[Work]) -> Iterator[Done | None]:
        """What can be done to bytes; None where it cannot."""
        rows = [work.rows for work in works]
        items = [_NO_TICKS if some is None else some.items for some in rows]
        ticks = [_NO_TICKS if some is None else some.ticks for some in rows]
        clocks = [MIN_TICK if work.tick is None else work.tick for work in works]
        found = append_events(
            self._config,
            encode_kinds(frozenset({self._recipe.kind or INTEGER})),
            [self._empty if work.sketch is None else work.sketch for work in works],
            np.concatenate(items).view(np.uint64),
            np.concatenate(ticks),
            np.cumsum([len(some) for some in ticks]),
            np.array(clocks, np.int64),
        )
        for work, clock, moments, sketch, *late in zip(works, clocks, ticks, *found, strict=True):
            if sketch is None:
                yield None
                continue
            record = work.record
            newest = int(moments[-1]) if len(moments) else clock
            record.now = newest if record.now is None else max(record.now, newest)
            record.events += len(moments)
            yield Done(record, sketch, *late)

    def _feed(self, work: Work) -> Done:
        """Feed one site as a sketch."""
        record, rows = work.record, work.rows
        sketch = None if work.sketch is None else load(work.sketch, max_nbytes=None)
        if sketch is None and rows is None:
            return Done(record, None, 0, 0)
        sketch = sketch or self._recipe.new(str(record.site))
        self._check(record.site, sketch)
        before = sketch.late_counted, sketch.late_dropped
        if rows is not None:
            self._count(record, sketch, rows)
        elif work.tick is not None:
            sketch.advance(work.tick)
        record.now = sketch.now
        late = sketch.late_counted, sketch.late_dropped  # more of it than before only here: other ways refuse late rows
        more = zip((LATE_COUNTED, LATE_DROPPED), before, late, strict=True)
        cleaning.add_reasons(record.added, {name: now - then for name, then, now in more})
        return Done(record, sketch.serialize(), *late)

    def _count(self, record: SiteRecord, sketch: AnySketch, rows: cleaning.Rows) -> None:
        def count(part: cleaning.Rows) -> None:
            sketch.update_many(self._recipe.items(part.items), part.ticks, part.weights)

        refused = cleaning.feed(count, rows)
        record.reject(refused)
        record.events += len(rows.ticks) - sum(refused.values())

    def _check(self, site: Any, sketch: AnySketch) -> None:
        different = self._config.differences(sketch.config)
        if different:
            raise ConfigError(
                f"site {site!r}: the running query keeps sketches with another {', '.join(different)}; a query's "
                "config cannot change. Start one with the new config beside it, with a checkpoint of its own"
            )
