"""Everything a sketch knows, as plain data: what merging combines and what the codec writes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.counters import Counters
from ecmsketch.frequent import FrequentItems
from ecmsketch.late import LateArrivals
from ecmsketch.names import Names

MAX_LEVELS = 64
"""Of merging. With errors compounding at each, bounds say nothing long before."""


@dataclass
class SketchState:
    """A sketch without its manners."""

    config: SketchConfig
    key: int = 0
    """What tells this stream's random draws from others'; zero where nothing is drawn."""
    now: int | None = None
    """The clock: the newest tick seen or advanced to."""
    origin: int | None = None
    """The oldest tick ever counted; before it nothing arrived, so ranges from there are exact."""
    levels: int = 0
    """Levels of merging behind this sketch: each displaced arrivals by epsilon_sw of a range's count at most."""
    counters: Counters | None = None
    late: LateArrivals = field(default_factory=LateArrivals)
    frequent: FrequentItems | None = None
    """(heavy_hitters=True) Candidates among what came on time."""
    names: Names = field(default_factory=dict)
    """Of the candidates, and of late arrivals that may become some."""

    def __post_init__(self) -> None:
        self.late.key = ~self.key & (2**64 - 1)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever counted."""
        return self.origin is None

    @property
    def arrivals(self) -> int:
        """No counter has had more arrivals than this."""
        parts = (self.counters, self.late.settled)
        return sum(part.most_arrivals for part in parts if part is not None) + self.late.held.arrivals()

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
            dict(self.names),
        )  # fmt: skip
