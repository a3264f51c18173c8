"""Random streams and questions for tests of reading slices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from slice_cases import ARRIVALS, LAST, random_slices
from slice_cases import SHAPES as SLICE_SHAPES

from ecmsketch import SketchConfig
from ecmsketch.config import PrefixConfig
from ecmsketch.engines.slices.stream import SliceStream
from streams import SHAPES, cuts, ticks_of

CONFIGS = {
    "plain": {"epsilon": 0.1, "delta": 0.1, "window": 20_000},
    "sharp": {"epsilon": 0.03, "delta": 0.01, "window": 20_000},
    "coarse": {"epsilon": 0.05, "delta": 0.05, "window": 20_000, "resolution": 0.3},
    "half": {"epsilon": 0.1, "delta": 0.1, "window": 20_000, "estimator": "half"},
    "count": {"epsilon": 0.1, "delta": 0.1, "window": 20_000, "model": "count"},
    "count coarse": {"epsilon": 0.05, "delta": 0.1, "window": 9000, "model": "count", "resolution": 0.4},
    "bits": {"epsilon": 0.2, "delta": 0.2, "window": 20_000, "bits": 16, "radix": 16},
    "bits count": {"epsilon": 0.3, "delta": 0.2, "window": 5000, "bits": 9, "radix": 4, "model": "count"},
    "all bits": {"epsilon": 0.3, "delta": 0.1, "window": 20_000, "bits": 64, "radix": 256, "resolution": 0.5},
}
DISTINCT = 400
FACTOR = np.uint64(0x9E3779B97F4A7C15)

Columns = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""Items, ticks and weights of arrivals."""


class Case(NamedTuple):
    """A stream, and the end of its window."""

    config: SketchConfig
    stream: SliceStream
    now: int


def config_of(name: str, seed: int) -> SketchConfig:
    settings = {**CONFIGS[name], "seed": seed % 2**32}
    return PrefixConfig(**settings) if "bits" in settings else SketchConfig(**settings)


def items_of(config: SketchConfig, count: int, rng: np.random.Generator) -> np.ndarray:
    """A few items that come often, and many that come rarely or never."""
    items = (rng.zipf(1.3, count) % DISTINCT).astype(np.uint64)
    return items * FACTOR >> np.uint64(64 - config.bits if isinstance(config, PrefixConfig) else 0)


def arrivals(config: SketchConfig, events: int, rng: np.random.Generator, weighted: bool) -> Columns:
    weights = None
    if weighted:
        most = int(rng.choice([3, 60, 5000, 2**33]))
        weights = np.where(rng.random(events) < 0.1, rng.integers(1, most, events), 1)
    if config.model == "count":
        ticks = np.cumsum(np.ones(events, np.int64) if weights is None else weights)
    else:
        ticks = ticks_of(str(rng.choice(SHAPES)), events, config.window, rng)
    return items_of(config, events, rng), ticks.astype(np.int64), weights


def pieces_of(columns: Columns, rng: np.random.Generator) -> list[Columns]:
    """The same arrivals in a few batches."""
    items, ticks, weights = columns
    return [(items[p], ticks[p], None if weights is None else weights[p]) for p in cuts(len(items), 4, rng)]


def sites_of(
    name: str, seed: int, sites: int, events: int | None = None
) -> tuple[SketchConfig, list[list[Columns]], int]:
    """(A config, the batches of some streams, the last tick of all)."""
    rng = np.random.default_rng(seed)
    config = config_of(name, seed)
    weighted = bool(rng.random() < 0.3)
    streams, now = [], -2000
    for _ in range(sites):
        columns = arrivals(
            config, int(rng.choice([0, 1, 30, 3000, 30_000])) if events is None else events, rng, weighted
        )
        streams.append(pieces_of(columns, rng))
        now = max([now, *columns[1][-1:].tolist()])
    return config, streams, now


def made_case(name: str, seed: int, sites: int = 1, events: int | None = None) -> Case:
    """A stream that was fed, or the union of several."""
    config, batches, now = sites_of(name, seed, sites, events)
    streams = []
    for pieces in batches:
        streams.append(SliceStream(config))
        for piece in pieces:
            streams[-1].add(*piece)
    return Case(config, streams[0] if sites == 1 else SliceStream.merge(streams, now), now)


class MadeUp(NamedTuple):
    """What a stream may hold, if it comes from bytes: slices that lie over each other in any way, and events."""

    config: SketchConfig
    levels: int
    facts: np.ndarray
    tables: list[np.ndarray]
    events: Columns

    def stream(self) -> SliceStream:
        return SliceStream.restored(self.config, self.levels, 0, self.events, self.facts, self.tables)

    @property
    def now(self) -> int:
        return int(self.facts[-1, LAST]) + 5000


def made_up(name: str, seed: int) -> MadeUp:
    rng = np.random.default_rng(seed)
    config = config_of(name, seed)
    facts = random_slices(rng, str(rng.choice(SLICE_SHAPES)), int(rng.choice([1, 7, 20, 60, 300])))
    tables = []
    for count in facts[:, ARRIVALS]:
        most = min(int(count), int(rng.choice([3, 200, 2**50])))
        tables.append((rng.random(config.cells) ** 6 * (most + 1)).astype(np.int64))
    count = int(rng.choice([0, 3, 2000]))
    ticks = int(facts[-1, LAST]) + np.sort(rng.integers(-30, 5000, count)).astype(np.int64)
    weights = rng.integers(1, 50, count) if rng.random() < 0.5 else None
    return MadeUp(config, int(rng.integers(0, 4)), facts, tables, (items_of(config, count, rng), ticks, weights))


def made_up_case(name: str, seed: int) -> Case:
    made = made_up(name, seed)
    return Case(made.config, made.stream(), made.now)


def blocks_of_rows(config: SketchConfig) -> list[tuple[int, int, int]]:
    """First row, row behind the last, and dropped bits of each block."""
    if isinstance(config, PrefixConfig):
        return [(level.first_row, level.first_row + level.rows, level.drop) for level in config.levels]
    return [(0, config.depth, 0)]


def ranges_of(case: Case, count: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Ranges of every sort: empty, whole, cut at both ends, exactly on edges, before the first and after the last."""
    window, now = case.config.window, case.now
    edges = case.stream.facts()[:, :2].ravel().tolist() or [now]
    found = [
        (now - window, now), (now - 1, now), (now, now), (now - 10 * window, now - 9 * window), (now + 5, now + 9),
        (now - 10 * window, now + 10 * window), (now - window, now - window // 2), (edges[0] - 1, edges[-1]),
        (edges[0], edges[-1]), (edges[0] - 1, now),
    ]  # fmt: skip
    while len(found) < count:
        ends = rng.choice(edges, 2) + rng.integers(-1, 2, 2) if rng.random() < 0.5 else now - rng.integers(0, window, 2)
        found.append((int(min(ends)), int(max(ends))))
    return found
