"""How certain answers are: the `confidence=` of a question, bounds that are combined, and those of joins.

Self-joins and inner products are the median of unbiased rows (docs/guarantees.md). A row of exact cells says
sum c^2 = F2 + collisions. Less the squared mean of its cells, and scaled by w/(w - 1), it has no bias, and its
deviation is at most F2 sqrt(2/(w - 1)). Cells are read with an error, which moves the root of a row by at most the norm
of that error.
"""

from __future__ import annotations

from math import comb, inf, sqrt
from typing import Any, NamedTuple

import numpy as np

from ecmsketch.config import SketchConfig
from ecmsketch.engines.contract import Floats, Reading
from ecmsketch.errors import QueryError
from ecmsketch.estimate import Estimate, Estimates
from ecmsketch.inputs.columns import is_number


def delta_of(config: SketchConfig, confidence: Any) -> float:
    """The probability with which bounds may fail. 0 means that only bounds that always hold are wanted."""
    if confidence is None:
        return 1 - config.confidence
    if not is_number(confidence) or not 0 < confidence <= 1:
        raise QueryError(f"confidence: expected a number above 0 and at most 1, got {confidence!r}")
    if config.delta_sw == 0:
        return 1 - float(confidence)
    if confidence > config.confidence:
        raise QueryError(
            f"confidence: with counter='rw' expected at most {config.confidence:.6g}, which its waves were built for, "
            f"got {confidence!r}; build the sketch with a smaller delta"
        )
    return 1 - config.confidence


def delta_of_listed(delta: float, listed: int, candidates: int) -> float:
    """How rarely the bound of one item must fail, so that a share `delta` of a list fails (Benjamini, Yekutieli 2005).

    Items with much luck are more likely to be listed. Of the candidates each fails with this probability, so of all of
    them delta * listed fail on average, which is a share `delta` of the list even if all of those are listed.
    """
    return delta * listed / candidates if candidates else delta


def agree(certain: Estimates, probable: Estimates) -> Estimates:
    """Bounds that always hold, narrowed by probable ones. Where the two contradict each other, the certain one wins."""
    lower = np.where(probable.lower > certain.upper, certain.lower, np.maximum(certain.lower, probable.lower))
    upper = np.where(probable.upper < certain.lower, certain.upper, np.minimum(certain.upper, probable.upper))
    return Estimates(np.clip(probable.value, lower, upper), lower, upper, probable.confidence)


def change(newer: Estimates, older: Estimates, confidence: float) -> Estimates:
    """How much more often items came in one range than in another. Each lower bound fails half as often as allowed."""
    lower, upper = newer.lower - older.upper, newer.upper - older.lower
    return Estimates(np.clip(newer.value - older.value, lower, upper), lower, upper, confidence)


class Rows(NamedTuple):
    """The rows of a table over a range, ready to be multiplied: cells less their mean, scaled by sqrt(w/(w - 1))."""

    centred: Floats
    error: Floats
    """The norm of what the cells of a row may be off, scaled likewise."""
    hard: float
    """An upper bound of the self-join that always holds."""
    width: int

    @classmethod
    def of(cls, table: Reading) -> Rows:
        """The rows of a table of depth x width."""
        width = table.value.shape[1]
        scale = sqrt(width / (width - 1)) if width > 1 else 1.0
        centred = (table.value - table.value.mean(axis=1, keepdims=True)) * scale
        off = np.maximum(table.upper - table.value, table.value - table.lower)
        hard = float((table.upper**2).sum(axis=1).min())
        return cls(centred, np.sqrt((off**2).sum(axis=1)) * scale, hard, width)

    @property
    def squares(self) -> Floats:
        """What each row says about the self-join."""
        return np.asarray((self.centred**2).sum(axis=1))


def self_join(table: Reading, arrivals: Estimate, delta: float) -> Estimate:
    """The sum of squared counts. It is never below their sum, since every arrival meets itself."""
    rows = Rows.of(table)
    lower, upper = _self_join_bounds(rows, delta)
    lower = min(max(lower, arrivals.lower), upper)
    return Estimate(_within(rows.squares, table, table, lower, upper), lower, upper, 1 - delta)


def _self_join_bounds(rows: Rows, delta: float) -> tuple[float, float]:
    spread = _spread(len(rows.error), rows.width, delta)
    if spread == inf:
        return 0.0, rows.hard
    roots = np.sqrt(rows.squares)
    low = np.maximum(roots - rows.error, 0.0) ** 2 / (1 + spread)
    high = (roots + rows.error) ** 2 / (1 - spread) if spread < 1 else np.full(len(roots), inf)
    lower, upper = _medians(low, high)
    return min(lower, rows.hard), min(upper, rows.hard)


def inner_product(one: Reading, other: Reading, delta: float) -> Estimate:
    """The sum over items of their count in one table times that in the other.

    A row's deviation is at most sqrt(2 F2(one) F2(other) / (w - 1)). Half of delta goes to the rows, and a quarter to
    an upper bound of either self-join.
    """
    ours, theirs = Rows.of(one), Rows.of(other)
    hard = float((one.upper * other.upper).sum(axis=1).min())
    found = (ours.centred * theirs.centred).sum(axis=1)
    spread = _spread(len(found), ours.width, delta / 2)
    lower, upper = 0.0, hard
    if spread < inf:
        most = _self_join_bounds(ours, delta / 4)[1] * _self_join_bounds(theirs, delta / 4)[1]
        read = np.sqrt(ours.squares) * theirs.error + ours.error * (np.sqrt(theirs.squares) + theirs.error)
        off = read + spread * sqrt(most)
        lower, upper = _medians(found - off, found + off)
        upper = min(max(upper, 0.0), hard)
        lower = min(max(lower, 0.0), upper)
    return Estimate(_within(found, one, other, lower, upper), lower, upper, 1 - delta)


def _within(rows: Floats, one: Reading, other: Reading, lower: float, upper: float) -> float:
    """The median of the rows. The least row's sum of products, for which Theorem 2 holds, is not exceeded."""
    least = float((one.value * other.value).sum(axis=1).min())
    return min(max(min(float(np.median(rows)), least), lower), upper)


def _medians(low: Floats, high: Floats) -> tuple[float, float]:
    """The median of lower bounds and that of upper bounds; of an even number, the wider ones."""
    middle = len(low) - 1
    return float(np.sort(low)[middle // 2]), float(np.sort(high)[(middle + 1) // 2])


def _spread(depth: int, width: int, delta: float) -> float:
    """How many times F2 a row is off, such that half of the rows are with probability `delta` (Chebyshev)."""
    if delta <= 0 or width < 2:
        return inf
    return sqrt(2 / (width - 1) / _row_delta(depth, delta))


def _row_delta(depth: int, delta: float) -> float:
    """The p for which at least half of `depth` rows fail with probability `delta`, if each fails with p."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        half = range((depth + 1) // 2, depth + 1)
        fails = sum(comb(depth, k) * middle**k * (1 - middle) ** (depth - k) for k in half)
        low, high = (middle, high) if fails <= delta else (low, middle)
    return max(low, 1e-300)
