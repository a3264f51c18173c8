"""From what cells hold to what a user asked: estimates, with bounds that follow from the cells' own.

A cell's upper bound bounds every item in it. Below, a row's collisions stay under e/width of the other
arrivals with probability 1 - 1/e (Markov), and the rows fail independently: so some row of `depth` holds
with probability 1 - e^-depth, and the least of the rows' lower bounds, less the collisions, is safe.
"""

from __future__ import annotations

from math import e

import numpy as np

from ecmsketch.config import SketchConfig
from ecmsketch.counters import Reading
from ecmsketch.estimate import Estimate, Estimates


def point(rows: Reading, norm: float, config: SketchConfig) -> Estimates:
    """Theorem 1: per item the least row. `rows` is depth x items; `norm` is at least all arrivals."""
    value, least, upper = (part.min(axis=0) for part in (rows.value, rows.lower, rows.upper))
    lower = np.minimum(_without_collisions(least, norm, config.width), value)
    return Estimates(value, lower, upper, config.confidence)


def total(table: Reading, config: SketchConfig) -> Estimate:
    """All arrivals: every row has seen each of them once, so every row's bounds hold, and their intersection.

    Randomized rows hold but for delta_sw each, and may contradict each other: then the widest of them is taken.
    """
    value, lower, upper = (part.sum(axis=1) for part in table)
    low, high = float(lower.max()), float(upper.min())
    if low > high:
        low, high = float(lower.min()), float(upper.max())
    confidence = 1 - config.depth * config.delta_sw
    return Estimate(float(np.clip(value.mean(), low, high)), low, high, confidence)


def inner_product(
    ours: Reading, others: Reading, norm: Estimate, other_norm: Estimate, config: SketchConfig
) -> Estimate:
    """Theorem 2: per row the sum of products of cells; the least row."""
    value, least, upper = ((mine * theirs).sum(axis=1).min() for mine, theirs in zip(ours, others, strict=True))
    lower = _without_collisions(np.asarray(least), norm.upper * other_norm.upper, config.width)
    return Estimate(float(value), float(min(lower, value)), float(upper), config.confidence)


def self_join(table: Reading, norm: Estimate, config: SketchConfig) -> Estimate:
    """An inner product with oneself; every arrival also meets itself, so it is never below their number."""
    join = inner_product(table, table, norm, norm, config)
    return join._replace(lower=max(join.lower, min(norm.lower, join.value)))


def _without_collisions(least: np.typing.NDArray[np.float64], norm: float, width: int) -> np.typing.NDArray[np.float64]:
    """Solve f >= least - (e/width) (norm - f) for f: collisions come from arrivals other than f's own."""
    share = e / width
    if share >= 1:
        return np.zeros_like(least)
    return np.maximum((least - share * norm) / (1 - share), 0.0)


def add(one: Reading, other: Reading) -> Reading:
    """Cells whose arrivals are kept in two parts."""
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
