"""Slow and plainly right: what the kernels are measured against."""

from __future__ import annotations

from math import ceil

import numpy as np


class ExactWindow:
    """Every arrival kept: (item, tick, weight). A range is (since, until]."""

    def __init__(self):
        self.items, self.ticks, self.weights = [], [], []

    def add(self, items, ticks, weights=None):
        self.items += list(items)
        self.ticks += [int(tick) for tick in ticks]
        self.weights += [1] * len(ticks) if weights is None else [int(weight) for weight in weights]

    def frequencies(self, since, until=None):
        found = {}
        for item, tick, weight in zip(self.items, self.ticks, self.weights, strict=True):
            if since < tick and (until is None or tick <= until):
                found[item] = found.get(item, 0) + weight
        return found

    def frequency(self, item, since, until=None):
        return self.frequencies(since, until).get(item, 0)

    def total(self, since, until=None):
        return sum(self.frequencies(since, until).values())

    def self_join(self, since, until=None):
        return sum(count**2 for count in self.frequencies(since, until).values())


class TextbookHistogram:
    """An exponential histogram as in the literature: one arrival at a time, levels as lists, oldest first."""

    def __init__(self, epsilon):
        self.k = ceil(1 / epsilon)
        self.levels = [[]]

    def add(self, tick):
        self.levels[0].append(tick)
        level, minimum = 0, self.k
        while len(self.levels[level]) == minimum + 2:
            if level + 1 == len(self.levels):
                self.levels.append([])
            _, newer = self.levels[level].pop(0), self.levels[level].pop(0)
            self.levels[level + 1].append(newer)
            level, minimum = level + 1, ceil(self.k / 2)

    def buckets(self):
        """(end, size), oldest first."""
        return [(end, 2**level) for level in reversed(range(len(self.levels))) for end in self.levels[level]]


def counts_after(ticks, weights, moments):
    """Weights on ticks after each of the moments; ticks are sorted."""
    tail = np.concatenate([np.cumsum(np.asarray(weights)[::-1])[::-1], [0]])
    return tail[np.searchsorted(ticks, moments, side="right")]
