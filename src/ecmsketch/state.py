"""Everything a sketch knows, as plain data: what merging combines and what the codec writes."""

from __future__ import annotations

from dataclasses import dataclass, field

from ecmsketch.config import SketchConfig
from ecmsketch.counters import Counters
from ecmsketch.late import LateArrivals

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

    def copy(self, config: SketchConfig | None = None) -> SketchState:
        """An independent copy."""
        counters = None if self.counters is None else self.counters.copy(config)
        return SketchState(
            config or self.config, self.key, self.now, self.origin, self.levels, counters, self.late.copy(config)
        )
