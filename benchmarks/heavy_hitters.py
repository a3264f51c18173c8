"""What keeping names costs: heavy_hitters=True against the same sketch without it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import ecmsketch as ecm
from benchmarks.table import Row, best_seconds, show

EVENTS = 4_000_000


def run() -> None:
    """Compare both at three epsilons, for integers and texts."""
    rng = np.random.default_rng(0)
    pages = rng.zipf(1.2, EVENTS) % 100_000
    ticks = np.sort(rng.integers(0, 10**6, EVENTS))
    names = pa.array([f"/english/page/{n}.html" for n in range(100_000)])
    rows = []
    for epsilon in (0.1, 0.01, 0.001):
        plain = ecm.SketchConfig(epsilon=epsilon, delta=0.1, window=10**6, counter="eh")
        for kind, items in (("integers", pages), ("texts", names.take(pa.array(pages)))):
            rows += _compare(f"epsilon {epsilon:g}, {kind}", plain, items, ticks)
    show("Heavy hitters by name, 4 M generated events, 100,000 distinct items", rows)


def _compare(title: str, plain: ecm.SketchConfig, items: Any, ticks: Any) -> list[Row]:
    configs = (plain, plain.replace(heavy_hitters=True))
    seconds = best_seconds(*(partial(_fill, config, items, ticks) for config in configs), rounds=3)
    without, named = (_fill(config, items, ticks) for config in configs)
    (ask,) = best_seconds(lambda: named.heavy_hitters(2 * plain.epsilon, last=50_000))
    cost = seconds[1] / seconds[0]
    sizes = f"memory {named.nbytes / without.nbytes:.2f} x, bytes {_size(named) / _size(without):.2f} x"
    return [
        Row(f"{title}: time of updates", f"{cost:.2f} x without names", "at most 5 x, aim 2 x", cost <= 5),
        Row("", f"{sizes}; heavy hitters of a range in {ask * 1e3:.1f} ms"),
    ]


def _fill(config: ecm.SketchConfig, items: Any, ticks: Any) -> ecm.EcmSketch:
    sketch = ecm.EcmSketch(config)
    sketch.update_many(items, ticks)
    return sketch


def _size(sketch: ecm.EcmSketch) -> int:
    return len(sketch.serialize())
