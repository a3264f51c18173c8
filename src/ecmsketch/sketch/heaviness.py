"""From when on an item is a heavy hitter: a share `phi` of the arrivals in a range, or a count."""

from __future__ import annotations

from typing import NamedTuple

from ecmsketch.counters import MAX_ARRIVALS
from ecmsketch.errors import QueryError
from ecmsketch.estimate import Estimate
from ecmsketch.inputs.integers import is_integer, is_number


class Heaviness(NamedTuple):
    """The least count that a heavy hitter has, and the share of the arrivals that this is."""

    least: float
    share: float


def heaviness(phi: float | None, count: int | None, last_arrivals: int | None, everything: Estimate) -> Heaviness:
    """What a question means by heavy, if `everything` is the number of arrivals in its range."""
    if (phi is None) == (count is None):
        raise QueryError("heavy_hitters: give a share phi, or count=, and not both")
    if count is not None:
        if not is_integer(count) or count < 1:
            raise QueryError(f"heavy_hitters: expected a count of 1 or more, got {count!r}")
        least = float(min(int(count), MAX_ARRIVALS**2))  # more than any sketch counts, and still a float
        arrivals = everything.upper if last_arrivals is None else float(last_arrivals)
        return Heaviness(least, least / max(arrivals, 1.0))
    assert phi is not None
    if not is_number(phi) or not 0 < phi <= 1:
        raise QueryError(f"heavy_hitters: expected a share phi above 0 and at most 1, got {phi!r}")
    return Heaviness(float(phi) * (everything.lower if last_arrivals is None else last_arrivals), float(phi))
