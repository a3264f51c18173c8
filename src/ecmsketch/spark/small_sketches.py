"""Sketches of small sites, each made at once of all events of its site."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ecmsketch.inputs.kinds import INTEGER, NOTHING
from ecmsketch.sketch.small_sketches import EventSketchWriter, consists_of_events
from ecmsketch.spark.cleaning import Reasons, Rows, feed
from ecmsketch.spark.recipe import Recipe


class Counted(NamedTuple):
    """A sketch, and what it has counted. Without arrivals there are no ticks."""

    sketch: bytes | None
    events: int
    first_tick: int | None
    last_tick: int | None
    reasons: Reasons


class SmallSketches:
    """Makes sketches of events that are in order of time, site by site."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        empty = recipe.new("")
        kinds = NOTHING if recipe.bits is not None else frozenset({recipe.kind or INTEGER})
        quick = consists_of_events(recipe.config)
        self._quick = EventSketchWriter(empty.config, empty.type_id, kinds) if quick else None
        self._empty = empty.serialize()

    def count(self, rows: Rows, name: str) -> Counted:
        """The sketch of one site's events. `name` tells apart the random draws of randomized waves."""
        if self._quick is not None and isinstance(rows.items, np.ndarray):
            keys = rows.items.view(np.uint64)
            if self._quick.fits(rows.ticks, rows.weights):
                ends = rows.ticks.item(0), rows.ticks.item(-1)
                return Counted(self._quick.serialize(keys, rows.ticks, rows.weights), len(rows.ticks), *ends, {})
        return self._count(rows, name)

    def _count(self, rows: Rows, name: str) -> Counted:
        sketch = self._recipe.new(name)

        def count(part: Rows) -> None:
            sketch.update_many(self._recipe.items(part.items), part.ticks, part.weights)

        reasons = feed(count, rows)
        events = len(rows.ticks) - sum(reasons.values())
        return Counted(sketch.serialize(), events, sketch.first_tick, sketch.now, reasons)

    def nothing(self, name: str) -> bytes:
        """The sketch of a site without events that count."""
        return self._recipe.new(name).serialize() if self._recipe.config.counter == "rw" else self._empty
