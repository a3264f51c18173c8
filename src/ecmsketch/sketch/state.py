"""Everything a sketch knows, as plain data: what merging combines and what the codec writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.heavy.candidates import FrequentItems
from ecmsketch.heavy.names import Names
from ecmsketch.inputs.kinds import NOTHING, Kinds
from ecmsketch.sketch.engines import Engine
from ecmsketch.sketch.late import LateArrivals
from ecmsketch.slices import SlicedStream

MAX_LEVELS = 64
"""Maximum levels of merging. Errors compound at each level, so bounds say nothing long before this."""


@dataclass
class SketchState:
    """The state of a sketch: arrays and numbers, no behaviour."""

    config: SketchConfig
    key: int = 0
    """Seeds the random draws of this stream; zero where nothing is drawn."""
    now: int | None = None
    """The clock: the newest tick seen or advanced to."""
    origin: int | None = None
    """The oldest tick ever counted; before it nothing arrived, so ranges from there are exact."""
    levels: int = 0
    """Levels of merging behind this sketch: each displaced arrivals by epsilon_sw of a range's count at most."""
    counters: Engine | None = None
    late: LateArrivals = field(default_factory=LateArrivals)
    frequent: FrequentItems | None = None
    """(heavy_hitters=True) Candidates among what came on time."""
    names: Names = field(default_factory=dict)
    """Names of the candidates, and of late arrivals that may become candidates."""
    kinds: Kinds = NOTHING
    """Whether integers, texts or rows of both were counted; none for a PrefixSketch, whose items are numbers."""

    def __post_init__(self) -> None:
        self.late.key = ~self.key & (2**64 - 1)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever counted."""
        return self.origin is None

    def counted_since(self, since: int) -> tuple[int, int]:
        """Bounds of the number of arrivals after `since`, of all items, from one row."""
        if self.now is None or self.origin is None:
            return 0, 0
        since = min(max(since, self.now - self.config.window), self.now)
        if isinstance(self.counters, SlicedStream):
            total = self.counters.total(since, self.now)
            return floor(total.lower), ceil(total.upper)
        row = np.arange(int(self.config.row_hashes().width[0]), dtype=np.uint32)
        parts = [part for part in (self.counters, self.late.settled) if part is not None]
        readings = [part.read(row, since, self.now, self.origin) for part in parts]
        held = self.late.held.select(self.late.held.ticks > since).arrivals()
        least = sum(float(reading.lower.sum()) for reading in readings)
        most = sum(float(reading.upper.sum()) for reading in readings)
        return floor(least) + held, ceil(most) + held

    def named(self) -> NDArray[np.uint64]:
        """The hashes whose names are kept, ascending."""
        parts = [part.keys(self.now or 0) for part in (self.frequent, self.late.frequent) if part is not None]
        return np.unique(np.concatenate([self.late.held.items, *parts]))

    def copy(self, config: SketchConfig | None = None) -> SketchState:
        """An independent copy."""
        counters = None if self.counters is None else self.counters.copy(config)
        frequent = None if self.frequent is None else self.frequent.copy()
        late = self.late.copy(config)
        return SketchState(
            config or self.config, self.key, self.now, self.origin, self.levels, counters, late, frequent,
            dict(self.names), self.kinds,
        )  # fmt: skip
