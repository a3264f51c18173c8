"""The test that lets a site stay silent: while every site passes it, the combined value is admissible."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ecmsketch.monitor.functions import Vector, Zone
from ecmsketch.monitor.watch import Watch
from ecmsketch.monitor.wire import Reader, put_float, put_vector


@dataclass(frozen=True, eq=False)
class LocalTest:
    """Tests a drift vector against the reference of the last synchronisation and the values admissible since."""

    watch: Watch
    reference: Vector
    low: float
    high: float

    @cached_property
    def zone(self) -> Zone | None:
        """The safe zone, if the watch wants one, one is known and the reference is inside it."""
        if self.watch.test == "ball":
            return None
        zone = self.watch.function.zone(self.reference, self.low, self.high)
        return zone if zone is not None and zone.contains(self.reference) else None

    def passes(self, drift: Vector) -> bool:
        """Whether the drift is in the zone, or without a zone, whether every value in a ball is admissible.

        The ball's diameter reaches from the reference to the drift.

        The average of drifts that pass is admissible: a zone is convex, and the balls cover their points' convex hull.
        """
        if self.zone is not None:
            return self.zone.contains(drift)
        center = (self.reference + drift) / 2
        radius = float(np.sqrt(((drift - self.reference) ** 2).sum())) / 2
        low, high = self.watch.function.extrema(center, radius)
        return self.low <= low and high <= self.high

    def parts(self) -> list[bytes]:
        """The test as bytes, without its watch."""
        return [put_vector(self.reference), put_float(self.low), put_float(self.high)]

    @classmethod
    def read_from(cls, reader: Reader, watch: Watch) -> LocalTest:
        """The test that `parts` wrote."""
        return cls(watch, reader.vector(), reader.float(), reader.float())
