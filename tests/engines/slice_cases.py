"""Random slices and events for tests of how slices grow."""

from __future__ import annotations

import numpy as np

FIRST, LAST, ARRIVALS, KNOT, FACTS = 0, 1, 2, 3, 10
LOW, HIGH, BEGIN, END = 11, 12, 13, 14
SHAPES = ["apart", "touching", "one tick", "sites", "mixed", "made up", "huge"]


def random_slices(rng, shape, count):
    """Rows of first, last, arrivals and seven knots, sorted by last tick."""
    facts = np.zeros((count, FACTS), np.int64)
    if shape in ("apart", "touching", "one tick"):
        gap = {"apart": 5, "touching": 0, "one tick": 0}[shape]
        spread = 1 if shape == "one tick" else int(rng.choice([1, 3, 40, 10**6]))
        at = int(rng.integers(-50, 50))
        for slot in range(count):
            first = at + int(rng.integers(0, gap + 1))
            at = first + int(rng.integers(0, spread))
            facts[slot, FIRST], facts[slot, LAST] = first, at
    elif shape == "sites":  # several streams over each other, each with slices that grow with age
        step = int(rng.choice([1, 4, 1000]))
        which = rng.integers(0, int(rng.integers(2, 9)), count)
        ends = np.sort(rng.integers(0, count * step + 1, count))
        for slot in range(count):
            before = [ends[i] for i in range(slot) if which[i] == which[slot]]
            facts[slot, LAST] = ends[slot]
            facts[slot, FIRST] = min((before[-1] if before else ends[slot] - step) + rng.integers(0, 2), ends[slot])
    else:
        spread = int(rng.choice([2, 30, 1000, 2**40]))
        ticks = np.sort(rng.integers(0, spread, (count, 2)), axis=1)
        facts[:, FIRST], facts[:, LAST] = ticks[:, 0], ticks[:, 1]
    facts = facts[np.argsort(facts[:, LAST], kind="stable")]
    for slot in range(count):
        facts[slot, KNOT:] = np.sort(rng.integers(facts[slot, FIRST], facts[slot, LAST] + 1, 7))
    most = 2**53 // count if shape == "huge" else int(rng.choice([2, 10, 1000, 10**6]))
    facts[:, ARRIVALS] = rng.integers(1, most, count)
    if shape in ("sites", "mixed") or rng.random() < 0.3:  # as in a stream: older ones have more
        facts[:, ARRIVALS] = 1 + (most * 0.8 ** np.arange(count)).astype(np.int64) + rng.integers(0, 3, count)
    return facts


def random_events(rng, events, weighted, spread=None):
    """(Sorted ticks, weights or None)."""
    spread = spread or int(rng.choice([1, 5, 300, 10**6, 2**50]))
    ticks = np.sort(rng.integers(0, spread + 1, events)).astype(np.int64)
    weights = None
    if weighted:
        weights = np.where(rng.random(events) < 0.1, rng.integers(1, int(rng.choice([3, 500, 2**40])), events), 1)
        weights = weights.astype(np.int64)
    return ticks, weights


def sliced_stream(rng, count):
    """What a stream has while it is fed: slices that follow one another, older ones larger, and newer arrivals."""
    facts = random_slices(rng, str(rng.choice(["apart", "touching"])), count)
    newer = int(rng.integers(10, 3000))
    sizes, total = [], newer
    for _ in range(count):
        sizes.append(max(int(total * rng.uniform(0.02, 0.3)), 1))
        total += sizes[-1]
    facts[:, ARRIVALS] = sizes[::-1]
    return facts, newer
