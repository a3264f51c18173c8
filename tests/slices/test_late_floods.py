"""Floods of late events: they take little memory, keep what straddles a moment within its limit, and lose nothing."""

from __future__ import annotations

import numpy as np
import pytest
from test_slices_content import check_content
from test_slices_laws import straddling

import ecmsketch as ecm
from streams import zipf_items

WINDOW = 100_000
FLOODS = {
    "older than all": lambda rng, count: rng.integers(1, 40_000, count),
    "among all": lambda rng, count: rng.integers(50_001, 99_000, count),
    "on one tick": lambda rng, count: np.full(count, 60_000),
    "in a burst": lambda rng, count: rng.integers(60_000, 60_100, count),
}


@pytest.mark.parametrize("flood", FLOODS)
@pytest.mark.parametrize("order", ["sorted", "shuffled", "newest first"])
@pytest.mark.parametrize(("epsilon", "resolution"), [(0.05, 0.1), (0.1, None), (0.3, 0.3)])
def test_a_flood_of_late_events(flood, order, epsilon, resolution):
    rng = np.random.default_rng(1)
    config = ecm.SketchConfig(epsilon=epsilon, resolution=resolution, delta=0.05, window=WINDOW, late="side")
    ticks = np.sort(rng.integers(50_000, WINDOW, 20_000))
    late = FLOODS[flood](rng, 40_000)
    late = {"sorted": np.sort(late), "shuffled": late, "newest first": np.sort(late)[::-1]}[order]
    items, weights = zipf_items(60_000, 300, rng).astype(np.uint64), np.ones(60_000, np.int64)
    sketch = ecm.EcmSketch(config)
    sketch.update_many(items[:20_000], ticks)
    one = ecm.EcmSketch(config)  # of the same arrivals, in order
    every = np.concatenate([ticks, late])
    in_order = np.argsort(every, kind="stable")
    one.update_many(items[in_order], every[in_order])
    for begin in range(20_000, 60_000, 5_000):
        sketch.update_many(items[begin : begin + 5_000], every[begin : begin + 5_000])
        sketch._flushed()
    check_content(sketch, items, weights)
    assert straddling(sketch, 1) <= 1 + 1e-9
    assert sketch.copy().nbytes <= 4 * one.copy().nbytes
    for since in (30_000, 60_050, 80_000):
        found = sketch.estimate_many(np.arange(50, dtype=np.uint64), between=(since, sketch.now))
        exact = np.bincount(items[every > since], minlength=50)[:50]
        assert (exact <= found.upper + 1e-6).all()
        assert (found.lower <= exact + 1e-6).mean() >= 0.9
