"""How wrong sums over ranges of numbers are, against older ways to answer from the same sketch."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

import ecmsketch as ecm
from benchmarks.table import Row, show
from ecmsketch.config.prefix_config import Level
from ecmsketch.sketch.ranges import Asked

EVENTS, RANGES, BITS = 200_000, 90, 32
Numbers = NDArray[np.uint64]
Floats = NDArray[np.float64]


def numbers(kind: str, events: int, rng: np.random.Generator) -> Numbers:
    """Numbers of 32 bits, some way distributed."""
    top = 2**BITS
    if kind == "uniform":
        return rng.integers(0, top, events, dtype=np.uint64)
    if kind == "Zipf, scattered":
        return (rng.zipf(1.2, events).astype(np.uint64) * np.uint64(2_654_435_761)) % np.uint64(top)
    if kind == "clustered":
        centres = rng.integers(0, top, 50)
        drawn = centres[rng.integers(0, 50, events)] + rng.normal(0, 3e4, events).astype(np.int64)
        return np.clip(drawn, 0, top - 1).astype(np.uint64)
    if kind == "lognormal":
        return np.minimum(rng.lognormal(11, 1.2, events), top - 1).astype(np.uint64)
    return rng.choice(rng.integers(0, top, 40, dtype=np.uint64), events, p=rng.dirichlet(np.full(40, 0.5)))


KINDS = ("uniform", "Zipf, scattered", "clustered", "lognormal", "few values")


def ranges_of(items: Numbers, count: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Ranges whose ends are drawn from the numbers that came, from all numbers, or from powers of two."""
    ranges = []
    for i in range(count):
        ends = [rng.choice(items, 2), rng.integers(0, 2**BITS, 2), 2 ** rng.integers(0, BITS, 2)][i % 3]
        low, high = sorted(int(end) for end in ends)
        ranges.append((low, high))
    return ranges


def inside_and_outside(sketch: ecm.PrefixSketch, low: int, high: int, last: int) -> tuple[float, float]:
    """The sums of the fewest prefixes that make up a range, and the total less those that make up the rest."""
    since, until = sketch._range(last, None)

    def added(begin: int, end: int) -> float:
        parts = cover(sketch, begin, end)
        levels, answers, asked = sketch.config.levels, sketch._answers(), Asked(since, until)
        return sum(float(answers.counts(levels.index(level), some, asked).value.sum()) for level, some in parts)

    rest = added(0, low) + added(high + 1, 1 << BITS)
    return added(low, high + 1), sketch.total(last=last).value - rest


def cover(sketch: ecm.PrefixSketch, begin: int, end: int) -> list[tuple[Level, Numbers]]:
    """The prefixes of each level that lie in begin .. end - 1, but not within one of a level above."""
    found = []
    inner: tuple[int, int] | None = None
    for level in sketch.config.levels:
        low, high = -(-begin >> level.drop), end >> level.drop
        if low >= high:
            continue
        parts = [(low, high)]
        if inner is not None:
            parts = [(low, inner[0] >> level.drop), (inner[1] >> level.drop, high)]
        found += [(level, np.arange(a, b, dtype=np.uint64)) for a, b in parts if a < b]
        inner = low << level.drop, high << level.drop
    return found


def errors(counter: str, kind: str, epsilon: float, radix: int, ranges: int, seed: int = 0) -> dict[str, Floats]:
    """Errors of range sums and rank errors of quantiles by each way to answer, as shares of epsilon N.

    A third of the ranges is asked about a quarter of the window, one about 0.7 of it, and one about all of it.
    """
    rng = np.random.default_rng(seed)
    items, ticks = numbers(kind, EVENTS, rng), np.arange(EVENTS) // 20
    config = ecm.SketchConfig(epsilon=epsilon, delta=0.05, window=int(ticks[-1]) + 1, counter=counter, seed=seed)
    sketch = ecm.PrefixSketch(config, bits=BITS, radix=radix)
    sketch.update_many(items, ticks)
    found = []
    for last in (config.window // 4, config.window * 7 // 10, config.window):
        held = np.sort(items[ticks > ticks[-1] - last])
        asked = ranges_of(held, ranges // 3, rng)
        sums = np.array([_range_errors(sketch, held, low, high, last) for low, high in asked]).T / len(held)
        found.append((*sums, _rank_errors(sketch, held, last)))
    names = ("inside", "average", "agreeing", "width", "quantiles")
    return {name: np.concatenate(parts) / epsilon for name, parts in zip(names, zip(*found, strict=True), strict=True)}


def _range_errors(sketch: ecm.PrefixSketch, held: Numbers, low: int, high: int, last: int) -> list[float]:
    exact = int(np.searchsorted(held, high, "right") - np.searchsorted(held, low))
    inside, outside = inside_and_outside(sketch, low, high, last)
    now = sketch.range_sum(low, high, last=last)
    assert now.covers(exact), (sketch, low, high, exact, now)
    wrong = [abs(value - exact) for value in (inside, (inside + outside) / 2, now.value)]
    return [*wrong, now.upper - now.lower]


def _rank_errors(sketch: ecm.PrefixSketch, held: Numbers, last: int) -> Floats:
    shares = np.linspace(0.005, 0.995, 100)
    middles = np.array([answer.value for answer in sketch.quantiles(shares.tolist(), last=last)], np.uint64)
    before = np.searchsorted(held, middles, "left") / len(held)
    until = np.searchsorted(held, middles, "right") / len(held)
    wrong: Floats = np.maximum(np.maximum(before - shares, shares - until), 0)
    return wrong


def compare_answers(epsilon: float = 0.02) -> None:
    """Show the errors of three ways to answer from the same sketches.

    They add up what is inside a range, average that with the total less what is outside, or let levels agree.
    """
    for counter, radix in product(("slices", "eh"), (2, 16, 64, 256)):
        rows = []
        for kind in KINDS:
            found = errors(counter, kind, epsilon, radix, RANGES)
            shown = [f"{name} {part.mean():.3f}, {np.quantile(part, 0.99):.2f}" for name, part in found.items()]
            rows.append(Row(kind, "; ".join(shown)))
        show(f"Error / (epsilon N), mean and 99th percentile: {counter}, radix {radix}, epsilon {epsilon}", rows)
