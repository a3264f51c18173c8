"""How large: in memory, as bytes, and as the stream grows."""

from __future__ import annotations

import numpy as np

import ecmsketch as ecm
from benchmarks.events import zipf
from benchmarks.table import Row, show


def run() -> None:
    """All of it."""
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=10**9)
    sketch = ecm.EcmSketch(config)
    items = zipf(1_000_000)
    rows, sizes = [], {}
    for million in range(1, 101):
        sketch.update_many(items, np.arange((million - 1) * 1_000_000, million * 1_000_000) // 10)
        if million in (1, 10, 100):
            blob = len(sketch.serialize())
            sizes[million] = sketch.nbytes
            buckets = sketch.bucket_count
            met = None if million != 10 else sketch.nbytes <= 160_000
            target = "" if million != 10 else "at most 160,000"
            rows.append(
                Row(f"{million:>3} M events: memory", f"{sketch.nbytes:>9,} bytes, {buckets:,} buckets", target, met)
            )
            rows.append(
                Row(
                    "              serialised",
                    f"{blob:>9,} bytes, {blob / buckets:.2f} a bucket",
                    "at most 2.5",
                    blob / buckets <= 2.5,
                )
            )
    growth = (sizes[100] - sizes[10]) / (sizes[10] - sizes[1])
    rows.append(Row("growth 10 to 100 M against 1 to 10 M", f"{growth:.2f}", "about 1 (logarithmic)", growth < 1.3))
    show("Memory: everything inside the window, epsilon 0.1, ticks of a second", rows)
