"""Slices merged from 33 sites of unequal size against one sketch of everything: errors and memory, in one run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import ecmsketch as ecm
from benchmarks.table import Row, show

SITES = 33
EVENTS = 1_000_000
DISTINCT = 90_000
HEAVY = 100
RANGES = (500_000, 50_000)
SETTINGS = ((0.01, 0.1), (0.002, 0.2), (0.02, None))
SEEDS = tuple(range(1, 17))
"""With three of them, luck moves the ratios of the heaviest by a tenth."""


class Errors(NamedTuple):
    """Mean absolute errors of all items of a range, and of its heaviest ones."""

    every: float
    heavy: float


def stream(seed: int) -> tuple[Any, Any, Any]:
    """Items by a Zipf law whose rate swings between 1 and 9, their ticks, and the site of each: some are busy."""
    rng = np.random.default_rng(seed)
    weights = np.cumsum(1 / np.arange(1, DISTINCT + 1))
    items = np.searchsorted(weights / weights[-1], rng.random(EVENTS)).astype(np.int64)
    pace = 1 + 4 * (1 + np.sin(np.arange(EVENTS) * (40 * np.pi / EVENTS)))
    ticks = np.cumsum(1 / pace)
    shares = 1 / np.arange(1, SITES + 1)
    owners = rng.choice(SITES, EVENTS, p=shares / shares.sum())
    return items, (ticks / ticks[-1] * EVENTS).astype(np.int64), owners


def up_a_tree(sketches: list[ecm.EcmSketch]) -> ecm.EcmSketch:
    """Merge two at a time, level by level."""
    while len(sketches) > 1:
        sketches = [ecm.merge(sketches[i : i + 2]) if i + 1 < len(sketches) else sketches[i]
                    for i in range(0, len(sketches), 2)]  # fmt: skip
    return sketches[0]


def errors(sketch: ecm.EcmSketch, items: Any, ticks: Any, last: int) -> Errors:
    exact = np.bincount(items[ticks > ticks[-1] - last], minlength=DISTINCT)
    present = np.flatnonzero(exact)
    heaviest = np.argsort(exact)[::-1][:HEAVY]
    wrong = np.abs(sketch.estimate_many(np.arange(DISTINCT), last=last).value - exact)
    return Errors(float(wrong[present].mean()), float(wrong[heaviest].mean()))


def compare(epsilon: float, resolution: float | None, seed: int) -> dict[tuple[str, int], tuple[Errors, int]]:
    """Errors and memory by way of merging and range."""
    items, ticks, owners = stream(seed)
    config = ecm.SketchConfig(
        epsilon=epsilon, delta=0.02, window=RANGES[0], resolution=resolution, counter="slices", merge_depth=1
    )
    one = ecm.EcmSketch(config)
    one.update_many(items, ticks)
    sites = []
    for site in range(SITES):
        sites.append(ecm.EcmSketch(config))
        sites[-1].update_many(items[owners == site], ticks[owners == site])
    made = {"one": one, "call": ecm.merge(sites), "tree": up_a_tree(sites)}
    return {
        (way, last): (errors(sketch, items, ticks, last), sketch.nbytes)
        for way, sketch in made.items()
        for last in RANGES
    }


def run() -> None:
    """Compare merged sketches with one sketch of everything."""
    for epsilon, resolution in SETTINGS:
        found = [compare(epsilon, resolution, seed) for seed in SEEDS]
        rows = []
        for way, most_heavy in (("call", 1.5), ("tree", 2.0)):
            for last in RANGES:
                every, heavy, memory = (
                    sum(pick(one[way, last]) for one in found) / sum(pick(one["one", last]) for one in found)
                    for pick in (lambda x: x[0].every, lambda x: x[0].heavy, lambda x: x[1])
                )
                rows.append(
                    Row(
                        f"{'one call' if way == 'call' else 'binary tree'}, last {last:,}",
                        f"all {every:.2f}, heaviest {HEAVY} {heavy:.2f}, memory {memory:.2f}",
                        f"at most 1.2, {most_heavy}, 1",
                        every <= 1.2 and heavy <= most_heavy and memory <= 1.0,
                    )
                )
        show(
            f"{SITES} unequal sites merged, epsilon {epsilon}, resolution {resolution}: times the error and memory of "
            f"one sketch, {len(SEEDS)} seeds",
            rows,
        )
