"""How fast a PrefixSketch takes updates and answers questions, and how wrong its sums over ranges are."""

from __future__ import annotations

import numpy as np

import ecmsketch as ecm
from benchmarks.prefix_errors import compare_answers
from benchmarks.table import Row, best_seconds, show

EVENTS = 4_000_000


def run() -> None:
    """Time updates, heavy hitters, quantiles and range sums; compare errors with those of older ways to answer."""
    rng = np.random.default_rng(0)
    addresses = (rng.zipf(1.2, EVENTS) * 2_654_435_761 % 2**32).astype(np.uint64)
    ticks = np.arange(EVENTS) // 10
    config = ecm.SketchConfig(epsilon=0.005, delta=0.05, window=10**6, counter="eh")

    def fill(radix: int) -> ecm.PrefixSketch:
        sketch = ecm.PrefixSketch(config, bits=32, radix=radix)
        sketch.update_many(addresses, ticks)
        return sketch

    sketch = fill(16)
    seconds = best_seconds(
        lambda: fill(16),
        lambda: sketch.heavy_hitters(0.01, last=100_000),
        lambda: sketch.quantile(0.5, last=100_000),
        lambda: sketch.range_sum(10**6, 10**9, last=100_000),
        rounds=3,
    )
    rate, ms = EVENTS / seconds[0], [second * 1e3 for second in seconds]
    show(
        "PrefixSketch, 4 M generated addresses of 32 bits, radix 16, epsilon 0.005",
        [
            Row("updates", f"{rate / 1e6:.1f} M events/s", "at least 3 M/s", rate >= 3e6),
            Row("heavy_hitters, phi 0.01", f"{ms[1]:.1f} ms", "under 20 ms", ms[1] < 20),
            Row("quantile, with bounds", f"{ms[2]:.1f} ms", "under 5 ms", ms[2] < 5),
            Row("range_sum", f"{ms[3]:.1f} ms"),
            Row("memory", f"{sketch.nbytes:,} bytes; serialised {len(sketch.serialize()):,}"),
        ],
    )
    compare_answers()
