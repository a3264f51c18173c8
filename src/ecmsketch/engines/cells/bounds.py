"""Turns what cells hold into answers: estimates, with bounds that follow from those of the cells.

A cell's upper bound bounds every item in it. Below, the least of the rows' lower bounds, less what collisions are
likely to add at most, is safe. The table itself says how much that is (`centred_point`). Without the table, a row's
collisions stay under e/width of the other arrivals with probability 1 - 1/e (Markov), and the rows fail independently:
so some row of `depth` holds with probability 1 - e^-depth (`point`).
"""

from __future__ import annotations

from math import e
from typing import NamedTuple

import numpy as np

from ecmsketch.config import SketchConfig
from ecmsketch.engines.contract import Floats, Reading
from ecmsketch.estimate import Estimate, Estimates


class Collisions(NamedTuple):
    """What the table of a range says about an item's least collision, whatever the item."""

    expected: float
    sums: Floats
    """The sum of each row's cells."""
    likely: float
    """What it exceeds with probability `delta` at most; infinite if no probability is allowed."""
    delta: float


def point(rows: Reading, norm: float, config: SketchConfig) -> Estimates:
    """Theorem 1: per item the least row. `rows` is depth x items; `norm` is at least all arrivals."""
    value, least, upper = (part.min(axis=0) for part in (rows.value, rows.lower, rows.upper))
    lower = np.minimum(_without_collisions(least, norm, config.width), value)
    return Estimates(value, lower, upper, config.confidence)


def centred_point(rows: Reading, width: int, collisions: Collisions) -> Estimates:
    """Per item the least row, less what collisions are expected to add. `rows` is depth x items.

    The mean of a row's other cells is what that row's collision is expected to be. The least one is not expected to be
    more, so no more is subtracted: this keeps the promise for an item that makes up most of a stream.
    """
    least, upper = rows.lower.min(axis=0), rows.upper.min(axis=0)
    others = (collisions.sums[:, None] - rows.value).min(axis=0) / width
    lower = np.maximum(least - collisions.likely, 0.0)
    value = rows.value.min(axis=0) - np.minimum(others, collisions.expected)
    return Estimates(np.clip(value, lower, upper), lower, upper, 1 - collisions.delta)


def total(table: Reading, config: SketchConfig) -> Estimate:
    """All arrivals. Every row has seen each of them once, so all rows' bounds hold, and so does their intersection.

    Randomized rows hold but for delta_sw each, and may contradict each other: then the widest of them is taken.
    """
    value, lower, upper = (part.sum(axis=1) for part in table)
    low, high = float(lower.max()), float(upper.min())
    if low > high:
        low, high = float(lower.min()), float(upper.max())
    confidence = max(1 - config.depth * config.delta_sw, 0.0)
    return Estimate(float(np.clip(value.mean(), low, high)), low, high, confidence)


def inner_product(ours: Reading, others: Reading, config: SketchConfig) -> Estimate:
    """Theorem 2: per row the sum of products of cells; the least row. For cells whose bounds may fail."""
    norms = total(ours, config).upper * total(others, config).upper
    value, least, upper = ((mine * theirs).sum(axis=1).min() for mine, theirs in zip(ours, others, strict=True))
    lower = _without_collisions(np.asarray(least), norms, config.width)
    return Estimate(float(value), float(min(lower, value)), float(upper), config.confidence)


def _without_collisions(least: Floats, norm: float, width: int) -> Floats:
    """Solve f >= least - (e/width) (norm - f) for f: collisions come from arrivals other than f's own."""
    share = e / width
    if share >= 1:
        return np.zeros_like(least)
    return np.maximum((least - share * norm) / (1 - share), 0.0)


def add(one: Reading, other: Reading) -> Reading:
    """Add two parts in which the arrivals of cells are kept."""
    return Reading(one.value + other.value, one.lower + other.lower, one.upper + other.upper)


def difference(since: Reading, until: Reading) -> Reading:
    """An interval as the difference of two ranges that both end now; both ranges' errors count."""
    lower = np.maximum(since.lower - until.upper, 0.0)
    upper = np.maximum(since.upper - until.lower, lower)
    return Reading(np.clip(since.value - until.value, lower, upper), lower, upper)


def widen(reading: Reading, epsilon: float, levels: int) -> Reading:
    """Bounds of the true counts, when `levels` of merging each displaced them by a factor 1 -+ epsilon at most."""
    if levels == 0:
        return reading
    return Reading(reading.value, reading.lower / (1 + epsilon) ** levels, reading.upper / (1 - epsilon) ** levels)
