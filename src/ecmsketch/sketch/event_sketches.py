"""Bytes of sketches that still consist of their events, made without the sketches: for sites with few events."""

from __future__ import annotations

from ecmsketch.config import SketchConfig
from ecmsketch.counters import MAX_ARRIVALS
from ecmsketch.counters.arrivals import Batch
from ecmsketch.inputs.kinds import Kinds
from ecmsketch.sketch.codec import encode
from ecmsketch.sketch.state import SketchState
from ecmsketch.slices import SlicedStream
from ecmsketch.slices.recent_events import RecentEvents


class EventSketches:
    """Makes the bytes of sketches of slices, each from its events: the very bytes that the sketch itself would give.

    It is several times quicker than making the sketch. One state is used again and again, and never handed out.
    """

    def __init__(self, config: SketchConfig, kind: int, kinds: Kinds) -> None:
        """`kind` is the sketch's class by number (codec.py), `kinds` are those of its items."""
        self._kind = kind
        self._stream = SlicedStream(config)
        self._state = SketchState(config, counters=self._stream, kinds=kinds)

    @staticmethod
    def can(config: SketchConfig) -> bool:
        """Whether sketches of a config consist of their events while these are few."""
        return config.counter == "slices" and config.model == "time" and not config.heavy_hitters

    def fits(self, batch: Batch) -> bool:
        """Whether a sketch of these events would still consist of them: they are few, and none has weight zero."""
        if not 0 < len(batch.ticks) < self._state.config.block:
            return False
        if batch.weights is None:
            return True
        return bool(batch.weights.all()) and float(batch.weights.sum(dtype=float)) <= MAX_ARRIVALS

    def serialize(self, batch: Batch) -> bytes:
        """The bytes of a sketch that has counted these events, which are sorted by tick and fit."""
        stream, state = self._stream, self._state
        weights = batch.ticks[:0] if batch.weights is None else batch.weights
        stream.fresh, stream.events = len(batch.ticks), RecentEvents.of(batch.items, batch.ticks, weights)
        state.origin, state.now = batch.ticks.item(0), batch.ticks.item(-1)
        return encode(state, self._kind)
