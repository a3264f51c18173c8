"""What a reading of slices should say, computed plainly from the slices and events of a stream."""

from __future__ import annotations

from math import inf, log2

import numpy as np

from ecmsketch import SketchConfig
from ecmsketch.engines.collisions import blocks_of
from ecmsketch.engines.slices.stream import SliceStream
from ecmsketch.kernels.hashing import cells_of

FIRST, LAST, ARRIVALS = 0, 1, 2
FEW = 16


def share_until(row: np.ndarray, tick: int) -> float:
    """The share of a slice's arrivals up to a tick: an eighth between two knots."""
    knots = [int(row[FIRST]) - 1, *row[3:10].tolist(), int(row[LAST])]
    if tick <= knots[0]:
        return 0.0
    if tick >= knots[-1]:
        return 1.0
    part = next(part for part in range(8) if tick < knots[part + 1])
    return (part + (tick - knots[part]) / (knots[part + 1] - knots[part])) / 8


def expected(table: np.ndarray) -> float:
    """What the least collision in a table of rows x columns is expected to be."""
    levels = np.unique(table)
    levels = levels[levels > 0]
    shares = [float(np.prod((table >= level).mean(axis=1))) for level in levels]
    return float(np.dot(shares, np.diff(levels, prepend=0)))


def exceeded(table: np.ndarray, delta: float) -> float:
    """What the least collision exceeds with probability delta at most."""
    if delta <= 0:
        return inf
    levels = [0, *np.unique(table)]
    return float(min(level for level in levels if np.prod((table > level).mean(axis=1)) <= delta))


class PlainReading:
    """Answers as `SliceReading` does."""

    def __init__(self, stream: SliceStream) -> None:
        self.config: SketchConfig = stream.config
        self.carried, self.facts = stream.carried, stream.facts()
        self.tables = np.array([stream.table(slot) for slot in range(stream.used)]).reshape(-1, self.config.cells)
        keys, ticks, weights = stream.events_columns()
        self.keys, self.ticks = keys, ticks
        self.weights = np.ones(len(keys), np.int64) if weights is None else weights
        self.counted = self.config.model == "count"
        self.blocks = blocks_of(self.config)

    def events(self, since: int, until: int) -> np.ndarray:
        """How much of each event lies in a range."""
        if self.counted:
            return np.maximum(np.minimum(self.ticks, until) - np.maximum(self.ticks - self.weights, since), 0)
        return np.where((self.ticks > since) & (self.ticks <= until), self.weights, 0)

    def groups(self, since: int, until: int) -> tuple[list[list[int]], list[tuple[int, float, float, float]]]:
        """(Slices inside that are read together, slices that are cut with their share, slack and most)."""
        first, last, arrivals = self.facts[:, FIRST], self.facts[:, LAST], self.facts[:, ARRIVALS]
        inside = np.flatnonzero((first > since) & (last <= until))
        cut = np.flatnonzero((last > since) & (first <= until) & ~((first > since) & (last <= until)))
        newer = np.cumsum(arrivals[::-1])[::-1] - arrivals
        ages: dict[int, list[int]] = {}
        for slot in inside.tolist():
            ages.setdefault(int(log2(newer[slot] + 1)) if len(inside) > FEW else slot, []).append(slot)
        later = int(arrivals[first > since].sum() + self.events(since, 2**62).sum())
        spare = max(0.5, self.carried * (later + 1) / max(int(arrivals[cut].sum()), 1))
        cuts = []
        for slot in cut.tolist():
            row = self.facts[slot]
            share = 0.5 if self.config.estimator == "half" else share_until(row, until) - share_until(row, since)
            most = int(row[ARRIVALS])
            if self.counted:
                most = min(most, min(int(row[LAST]), until) - max(int(row[FIRST]) - 1, since))
            cuts.append((slot, share, float(row[ARRIVALS]) * spare, float(most)))
        return list(ages.values()), cuts

    def block(self, table: np.ndarray, block: int) -> np.ndarray:
        first, rows, width, _ = (int(column[block]) for column in self.blocks)
        return table[first : first + rows * width].reshape(rows, width)

    def total(self, since: int, until: int) -> tuple[float, float, float]:
        whole, cuts = self.groups(since, until)
        lower = float(self.facts[[slot for group in whole for slot in group], ARRIVALS].sum())
        lower += float(self.events(since, until).sum())
        parts = 0.0
        for slot, share, slack, _ in cuts:
            size = float(self.facts[slot, ARRIVALS])
            parts += min(max(share * size, size - slack), slack)
        upper = lower + sum(most for *_, most in cuts)
        return min(lower + parts, upper), lower, upper

    def point(self, key: int, block: int, drop: int, rows: tuple[int, int], since: int, until: int, delta: float):
        """(Value, lower, upper, confidence) of one prefix."""
        exact = float(self.events(since, until)[self.keys >> np.uint64(drop) == np.uint64(key)].sum())
        whole, cuts = self.groups(since, until)
        sure = not whole or bool(self.blocks.exact[block])
        item = np.array([key], np.uint64) << np.uint64(drop)
        cells = cells_of(item, self.config.rows.some(*rows))[:, 0]
        best = largest = 0.0
        summed = np.zeros(self.config.cells, np.int64)
        for group in whole:
            table = self.tables[group].sum(axis=0)
            summed += table
            largest += float(table[cells].min())
            best += float(table[cells].min()) - self.noise(table, block)
        for slot, share, slack, most in cuts:
            least = float(self.tables[slot][cells].min())
            largest += min(least, most)
            best += min(max(share * (least - self.noise(self.tables[slot], block)), least - slack), slack)
        likely = 0.0 if sure else exceeded(self.block(summed, block), delta)
        upper = exact + largest
        lower = min(exact + max(float(summed[cells].min()) - likely, 0.0), upper)
        return min(max(exact + best, lower), upper), lower, upper, 1.0 if sure else 1 - delta

    def noise(self, table: np.ndarray, block: int) -> float:
        return 0.0 if self.blocks.exact[block] else expected(self.block(table, block))

    def prefix(self, key: int, drop: int, rows: tuple[int, int], since: int, until: int) -> tuple[float, ...]:
        """(Events, inside, value, upper) of one prefix."""
        exact = float(self.events(since, until)[self.keys >> np.uint64(drop) == np.uint64(key)].sum())
        whole, cuts = self.groups(since, until)
        cells = cells_of(np.array([key], np.uint64) << np.uint64(drop), self.config.rows.some(*rows))[:, 0]
        inside = exact + sum(float(self.tables[group].sum(axis=0)[cells].min()) for group in whole)
        value = upper = inside
        for slot, share, slack, most in cuts:
            least = float(self.tables[slot][cells].min())
            value += min(min(max(share * least, least - slack), slack), most)
            upper += min(least, most)
        return exact, inside, value, upper

    def cells(self, since: int, until: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(Value, lower, upper) of all cells."""
        whole, cuts = self.groups(since, until)
        lower = np.zeros(self.config.cells)
        for cells in cells_of(self.keys, self.config.rows):
            np.add.at(lower, cells, self.events(since, until))
        lower += self.tables[[slot for group in whole for slot in group]].sum(axis=0)
        value, upper = lower.copy(), lower.copy()
        for slot, share, slack, most in cuts:
            count = self.tables[slot].astype(np.float64)
            value += np.minimum(np.clip(share * count, count - slack, slack), np.minimum(count, most))
            upper += np.minimum(count, most)
        return value, lower, upper
