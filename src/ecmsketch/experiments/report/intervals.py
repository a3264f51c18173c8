"""Means over seeds with their 95 % confidence intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import nan, sqrt
from statistics import fmean, stdev
from typing import NamedTuple

from scipy.special import stdtrit

from ecmsketch.experiments.spec import Row

_UPPER_TAIL = 0.975


class Interval(NamedTuple):
    """A mean and the 95 % t-interval around it. With a single value there is no interval: low and high are nan."""

    mean: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    def __str__(self) -> str:
        return f"{self.mean:.3g}" if self.low != self.low else f"{self.mean:.3g} ± {self.half:.2g}"


def interval(values: Sequence[float]) -> Interval:
    """The mean of values that were drawn independently, and its 95 % t-interval."""
    mean = fmean(values)
    if len(values) < 2:
        return Interval(mean, nan, nan)
    half = float(stdtrit(len(values) - 1, _UPPER_TAIL)) * stdev(values) / sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


def by_seed(rows: Iterable[Row], keys: Sequence[str], column: str) -> dict[tuple[object, ...], Interval]:
    """The interval of a column over seeds, for each combination of the keys, in the order of the rows.

    Rows of one seed with equal keys are averaged first, so that every seed counts once.
    """
    groups: dict[tuple[object, ...], dict[int, list[float]]] = {}
    for row in rows:
        case = tuple(row[name] for name in keys)
        groups.setdefault(case, {}).setdefault(int(row.get("seed", 0)), []).append(float(row[column]))
    return {case: interval([fmean(values) for values in seeds.values()]) for case, seeds in groups.items()}
