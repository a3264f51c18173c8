"""Errors on real streams: of the heaviest items relative to their counts, and the worst underestimate."""

from __future__ import annotations

import numpy as np

import ecmsketch as ecm
from benchmarks.events import real
from ecmsketch.inputs.items import hash_items
from ecmsketch.inputs.kinds import TEXT, Hashed


def run() -> None:
    """Print a table for every real stream on this machine."""
    for name, items, ticks, window in real():
        print(f"\n## Accuracy: {name}, delta 0.01\n")
        print(
            "  epsilon   range      ten heaviest, relative error   all items, error / arrivals   worst under-   memory"
        )
        print(
            "            (ticks)        average       worst             average       worst       estimate     (bytes)"
        )
        hashes = hash_items(items)
        for epsilon in (0.1, 0.01, 0.001):
            sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=epsilon, delta=0.01, window=window, counter="eh"))
            sketch.update_many(items, ticks)
            for last in (window // 20, window):
                _row(sketch, hashes[ticks > ticks[-1] - last], last)
    if not any(True for _ in real()):
        print("\n## Accuracy: skipped, because the folder shared/data is not on this machine")


def _row(sketch: ecm.EcmSketch, hashes, last: int) -> None:
    names, counts = np.unique(hashes, return_counts=True)
    value = sketch.estimate_many(Hashed(names, TEXT), last=last).value
    heaviest = np.argsort(-counts)[:10]
    relative = np.abs(value - counts)[heaviest] / counts[heaviest]
    error = np.abs(value - counts) / counts.sum()
    under = max(float(((counts - value) / counts).max()), 0.0)
    print(
        f"  {sketch.config.epsilon:<8g}  {last:>7}   {relative.mean():>11.5f} {relative.max():>11.5f}"
        f"   {error.mean():>14.6f} {error.max():>11.6f}   {under:>12.5f}  {sketch.nbytes:>11,}"
    )
