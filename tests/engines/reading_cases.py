"""Random streams, as the slices engine before it was compiled ahead has them and as the new one has them, and questions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ecmsketch import SketchConfig
from ecmsketch.config import PrefixConfig
from ecmsketch.inputs.batches import Batch
from ecmsketch.engines.slices.reading import SliceReading
from ecmsketch.engines.slices.stream import SliceStream
from ecmsketch.kernels.hashing import RowHashes
from ecmsketch.kernels.hashing import RowHashes as CompiledRows
from ecmsketch.slices import SlicedStream
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


class Pair(NamedTuple):
    """The same stream twice, with questions for both."""

    config: SketchConfig
    old: SlicedStream
    stream: SliceStream
    reading: SliceReading
    now: int


def config_of(name: str, seed: int) -> SketchConfig:
    settings = {**CONFIGS[name], "seed": seed % 2**32}
    return PrefixConfig(**settings) if "bits" in settings else SketchConfig(**settings)


def items_of(config: SketchConfig, count: int, rng: np.random.Generator) -> np.ndarray:
    """Few items that come often, and some that never come."""
    items = (rng.zipf(1.3, count) % DISTINCT).astype(np.uint64)
    if not isinstance(config, PrefixConfig):
        return items * np.uint64(0x9E3779B97F4A7C15)
    return (items * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - config.bits)


def arrivals(config: SketchConfig, events: int, rng: np.random.Generator, weighted: bool):
    """Items, ticks and weights (or None) of a stream."""
    weights = None
    if weighted:
        most = int(rng.choice([3, 60, 5000, 2**33]))
        weights = np.where(rng.random(events) < 0.1, rng.integers(1, most, events), 1)
    if config.model == "count":
        ticks = np.cumsum(np.ones(events, np.int64) if weights is None else weights)
    else:
        ticks = ticks_of(str(rng.choice(SHAPES)), events, config.window, rng)
    return items_of(config, events, rng), ticks.astype(np.int64), weights


def feed(config: SketchConfig, old: SlicedStream, new: SliceStream, columns, rng) -> None:
    items, ticks, weights = columns
    for piece in cuts(len(items), 4, rng):
        some = None if weights is None else weights[piece]
        old.add(Batch(items[piece], ticks[piece], some))
        new.add(items[piece], ticks[piece], some)


def make_pair(name: str, seed: int, sites: int = 1, events: int | None = None, weighted: bool | None = None) -> Pair:
    """One stream, or the union of several."""
    rng = np.random.default_rng(seed)
    config = config_of(name, seed)
    weighted = bool(rng.random() < 0.3) if weighted is None else weighted
    olds, news, now = [], [], -(2**62)
    for _ in range(sites):
        old, new = SlicedStream(config), SliceStream(config)
        count = int(rng.choice([0, 1, 30, 3000, 30_000])) if events is None else events
        columns = arrivals(config, count, rng, weighted)
        feed(config, old, new, columns, rng)
        olds.append(old)
        news.append(new)
        now = max(now, int(columns[1][-1]) if count else now)
    now = max(now, -2000)
    if sites == 1:
        return Pair(config, olds[0], news[0], SliceReading(news[0]), now)
    united, merged = SlicedStream.merge(olds, now), SliceStream.merge(news, now)
    return Pair(config, united, merged, SliceReading(merged), now)


def blocks_of_rows(config: SketchConfig) -> list[tuple[int, int, int]]:
    """First row, row behind the last, and dropped bits of each block."""
    if isinstance(config, PrefixConfig):
        return [(level.first_row, level.first_row + level.rows, level.drop) for level in config.levels]
    return [(0, config.depth, 0)]


def rows_of(config: SketchConfig, block: int) -> tuple[RowHashes, CompiledRows]:
    """The rows of a block, of both kinds."""
    begin, end, _ = blocks_of_rows(config)[block]
    return RowHashes(*(column[begin:end] for column in config.row_hashes())), config.rows.some(begin, end)


def ranges_of(pair: Pair, count: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Ranges of every sort: empty, whole, cut at both ends, exactly on edges, before the first and after the last."""
    window, now, facts = pair.config.window, pair.now, pair.stream.facts()
    edges = [int(tick) for row in facts[:, :2] for tick in row] or [now]
    found = [
        (now - window, now), (now - 1, now), (now, now), (now - 10 * window, now - 9 * window), (now + 5, now + 9),
        (now - 10 * window, now + 10 * window), (now - window, now - window // 2), (edges[0] - 1, edges[-1]),
        (edges[0], edges[-1]), (edges[0] - 1, now),
    ]  # fmt: skip
    while len(found) < count:
        ends = rng.choice(edges, 2) + rng.integers(-1, 2, 2) if rng.random() < 0.5 else now - rng.integers(0, window, 2)
        found.append((int(min(ends)), int(max(ends))))
    return found
