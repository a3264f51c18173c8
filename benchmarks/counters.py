"""The three counters on one stream, as in the paper's section 7: speed, memory, error and merging."""

from __future__ import annotations

from typing import Any

import numpy as np

import ecmsketch as ecm
from benchmarks.events import zipf
from benchmarks.table import Row, best_seconds, show

EVENTS = 4_000_000
WINDOW = 1_000_000
SITES = 33


def run() -> None:
    """Measure the three counters at two epsilons."""
    items, ticks = zipf(EVENTS), np.arange(EVENTS) // 4
    for epsilon in (0.1, 0.05):
        results = {counter: _measure(counter, epsilon, items, ticks) for counter in ("eh", "dw", "rw")}
        rows = [Row(name, "  ".join(f"{results[c][name]:>14}" for c in results)) for name in _SHOWN]
        show(f"Counters: {EVENTS / 1e6:.0f} M Zipf events, epsilon {epsilon}, delta 0.1: eh, dw, rw", rows)
        eh, dw, rw = (results[counter]["raw"] for counter in ("eh", "dw", "rw"))
        show(
            f"Ratios, epsilon {epsilon}",
            [
                Row("dw updates to eh", f"{dw[0] / eh[0]:.2f}", "at least 0.5", dw[0] / eh[0] >= 0.5),
                Row("dw memory to eh", f"{dw[1] / eh[1]:.2f}", "about 1"),
                Row("rw memory to eh", f"{rw[1] / eh[1]:.0f}", "at least 10", rw[1] >= 10 * eh[1]),
            ],
        )


_SHOWN = (
    "updates, M/s", "memory, bytes", "serialised, bytes", "average error / arrivals", "maximum error / arrivals",
    f"merging {SITES}, ms", "merged, average error", "merged, maximum error",
)  # fmt: skip


def _measure(counter: str, epsilon: float, items: Any, ticks: Any) -> dict[str, Any]:
    config = ecm.SketchConfig(epsilon=epsilon, delta=0.1, window=WINDOW, counter=counter)

    def fill() -> ecm.EcmSketch:
        sketch = ecm.EcmSketch(config, site="bench")
        sketch.update_many(items, ticks)
        return sketch

    (seconds,) = best_seconds(fill, rounds=3)
    sketch = fill()
    sites = [ecm.EcmSketch(config, site=str(i)) for i in range(SITES)]
    for i, site in enumerate(sites):
        site.update_many(items[i::SITES], ticks[i::SITES])
    (merging,) = best_seconds(lambda: ecm.merge(sites), rounds=2)
    average, worst = _errors(sketch, items, ticks)
    merged_average, merged_worst = _errors(ecm.merge(sites), items, ticks)
    shown = (
        f"{EVENTS / seconds / 1e6:.1f}", f"{sketch.nbytes:,}", f"{len(sketch.serialize()):,}", f"{average:.5f}",
        f"{worst:.5f}", f"{merging * 1e3:.1f}", f"{merged_average:.5f}", f"{merged_worst:.5f}",
    )  # fmt: skip
    return dict(zip(_SHOWN, shown, strict=True)) | {"raw": (EVENTS / seconds, sketch.nbytes)}


def _errors(sketch: ecm.EcmSketch, items: Any, ticks: Any) -> tuple[float, float]:
    """The average and the worst error, relative to all arrivals, of a point query per distinct item in four ranges."""
    averages, worst = [], 0.0
    for last in (100, 10_000, 100_000, WINDOW):
        names, counts = np.unique(items[ticks > ticks[-1] - last], return_counts=True)
        error = np.abs(sketch.estimate_many(names, last=last).value - counts) / counts.sum()
        averages.append(error.mean())
        worst = max(worst, float(error.max()))
    return float(np.mean(averages)), worst
