"""Compiles most kernels before the tests start: else every process that needs one at the same time compiles it.

`python tests/compile_kernels.py cells` and `... slices` have nearly nothing in common, so they may run side by side.
"""

from __future__ import annotations

import sys

import numpy as np

import ecmsketch as ecm

CELLS, SLICES = ("eh", "dw", "rw"), ("slices",)
EVENTS, WINDOW = 12_000, 4000


def ask(sketch: ecm.EcmSketch) -> None:
    """Ask an EcmSketch every kind of question."""
    counter = sketch.config.counter
    for where in ({}, {"last": 100}, {"between": (sketch.now - 900, sketch.now - 400)}, {"last_arrivals": 500}):
        sketch.estimate(1, **where)
        sketch.estimate_many(np.arange(50), **where)
    sketch.history(1, sketch.config.window // 10)
    sketch.total(last=50)
    sketch.self_join(unproven=counter == "rw")


def work(counter: str) -> None:
    """Fill, ask, merge, join and write sketches of one counter."""
    rng = np.random.default_rng(0)
    items, ticks = rng.zipf(1.3, EVENTS) % 1000, np.sort(rng.integers(0, 6000, EVENTS))
    texts, weights = items.astype(str), rng.integers(1, 9, EVENTS)
    for changes in ({"heavy_hitters": True, "late": "side"}, {"model": "count"}, {"window": 2**40}):
        config = ecm.SketchConfig(**{"epsilon": 0.2, "delta": 0.2, "window": WINDOW, "counter": counter, **changes})
        counted = config.model == "count"
        sketch = ecm.EcmSketch(config, site="a")
        sketch.update_many(texts if changes.get("heavy_hitters") else items, None if counted else ticks)
        if changes.get("heavy_hitters"):
            sketch.update_many(texts[:3000], ticks[-3000:] - rng.integers(0, 3000, 3000))
            sketch.top(5), sketch.heavy_changes(3, 500, 500), ecm.EcmSketch.deserialize(sketch.serialize())
            continue
        sketch.update_many(items, None if counted else ticks + 6000, weights)
        ask(sketch)
        ecm.EcmSketch.deserialize(sketch.serialize())
        if not counted:
            other = ecm.EcmSketch(config, site="b")
            other.update_many(items, ticks)
            ecm.merge([sketch, other]), ecm.merge([sketch, other], "binary")
    prefix = ecm.PrefixSketch(ecm.SketchConfig(epsilon=0.2, delta=0.2, window=WINDOW, counter=counter), bits=16)
    prefix.update_many(items, ticks)
    prefix.range_sum(3, 900), prefix.quantile(0.5), prefix.heavy_hitters(0.3), prefix.estimate(7)
    ecm.PrefixSketch.deserialize(prefix.serialize())


if __name__ == "__main__":
    for name in CELLS if sys.argv[1:] == ["cells"] else SLICES:
        work(name)
