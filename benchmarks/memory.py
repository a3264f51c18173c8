"""The size of a sketch in memory and serialised, as the stream grows."""

from __future__ import annotations

import numpy as np

import ecmsketch as ecm
from benchmarks.events import zipf
from benchmarks.table import Row, show


def run() -> None:
    """Measure the sizes after 1, 10 and 100 million events."""
    sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.1, delta=0.1, window=10**9, counter="eh"))
    items = zipf(1_000_000)
    rows, buckets = [], {}
    for million in range(1, 101):
        sketch.update_many(items, np.arange((million - 1) * 1_000_000, million * 1_000_000) // 10)
        if million in (1, 10, 100):
            buckets[million] = sketch.bucket_count
            rows += _sizes(sketch, million)
    growth = (buckets[100] - buckets[10]) / (buckets[10] - buckets[1])
    rows.append(Row("buckets added from 10 to 100 M, per 1 to 10 M", f"{growth:.2f}", "about 1", 0.9 < growth < 1.1))
    show("Memory: everything inside the window, epsilon 0.1 (w=30, d=3), ticks of a second", rows)


def _sizes(sketch: ecm.EcmSketch, million: int) -> list[Row]:
    memory, written, buckets = sketch.nbytes, len(sketch.serialize()), sketch.bucket_count
    limited = million == 10
    return [
        Row(
            f"{million:>3} M events, in memory",
            f"{memory:>9,} bytes, {buckets:,} buckets",
            "at most 60,000" if limited else "",
            memory <= 60_000 if limited else None,
        ),
        Row(
            f"{million:>3} M events, serialised",
            f"{written:>9,} bytes, {written / buckets:.2f} a bucket",
            "at most 2.5 a bucket",
            written / buckets <= 2.5,
        ),
    ]
