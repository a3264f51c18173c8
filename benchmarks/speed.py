"""The speed of updates, queries and merges, against a Count-Min sketch without a window and probstructs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import ecmsketch as ecm
from benchmarks.events import zipf
from benchmarks.table import Row, best_seconds, show
from benchmarks.windowless import CountMin

EVENTS = 10_000_000
WINDOW = 1_000_000


def config(epsilon: float = 0.1, delta: float = 0.1, window: int = WINDOW) -> ecm.SketchConfig:
    return ecm.SketchConfig(epsilon=epsilon, delta=delta, window=window, counter="eh")


def fill(settings, items, ticks, weights=None) -> ecm.EcmSketch:
    sketch = ecm.EcmSketch(settings)
    sketch.update_many(items, ticks, weights)
    return sketch


def updates() -> None:
    items, ticks = zipf(EVENTS), np.arange(EVENTS) // 10
    base = config()
    ours, blocked, plain = best_seconds(
        lambda: fill(base, items, ticks),
        lambda: CountMin(base.width, base.depth).update_many(items),
        lambda: CountMin(base.width, base.depth).update_many_plainly(items),
    )
    rows = [
        Row("update_many, epsilon 0.1 (w=30, d=3)", f"{EVENTS / ours / 1e6:6.1f} M events/s"),
        Row("Count-Min without a window, by blocks", f"{EVENTS / blocked / 1e6:6.1f} M events/s"),
        Row("Count-Min without a window, event by event", f"{EVENTS / plain / 1e6:6.1f} M events/s"),
        Row("ratio to the first of them", f"{blocked / ours:.2f}", "at least 0.35, aim 0.5", blocked / ours >= 0.35),
        Row("ratio to the second", f"{plain / ours:.2f}"),
    ]
    show(f"Updates: {EVENTS / 1e6:.0f} M Zipf events over 90 k items, in one process on one core", rows)

    rng = np.random.default_rng(1)
    names = pa.array([f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}" for i in range(90_000)])
    few = 2_000_000
    text = names.take(pa.array(rng.integers(0, 90_000, few)))
    light, heavy, shuffled = rng.integers(1, 11, EVENTS), rng.integers(1, 10**6, EVENTS), rng.permutation(ticks[:few])
    cases = [
        ("epsilon 0.05", lambda: fill(config(0.05), items, ticks), EVENTS),
        ("epsilon 0.01, delta 0.01", lambda: fill(config(0.01, 0.01), items, ticks), EVENTS),
        ("epsilon 0.001, delta 0.01", lambda: fill(config(0.001, 0.01), items, ticks), EVENTS),
        ("window 1,000 ticks", lambda: fill(config(window=1000), items, ticks), EVENTS),
        ("window 2^40 ticks (64-bit ticks)", lambda: fill(config(window=2**40), items, ticks), EVENTS),
        ("weights 1 to 10", lambda: fill(base, items, ticks, light), EVENTS),
        ("weights 1 to 1,000,000", lambda: fill(base, items, ticks, heavy), EVENTS),
        ("unsorted ticks", lambda: fill(base, items[:few], shuffled), few),
        ("Arrow strings", lambda: fill(base, text, ticks[:few]), few),
        ("batches of 1,000 events", lambda: in_batches(base, items[:few], ticks[:few], 1000), few),
    ]
    rows = []
    for name, work, events in cases:
        (seconds,) = best_seconds(work, rounds=2)
        rate = events / seconds
        rows.append(Row(name, f"{rate / 1e6:6.1f} M events/s   {rate / (EVENTS / ours):.2f} of the first line above"))
    show("What an update costs as the setting varies", rows)


def in_batches(settings, items, ticks, size: int) -> None:
    sketch = ecm.EcmSketch(settings)
    for begin in range(0, len(items), size):
        sketch.update_many(items[begin : begin + size], ticks[begin : begin + size])


def single_updates() -> None:
    import probstructs

    names = [f"10.0.{i >> 8 & 255}.{i & 255}" for i in range(1000)]
    calls = [(names[i % 1000], i) for i in range(300_000)]

    def ours() -> None:
        sketch = ecm.EcmSketch(config())
        for name, tick in calls:
            sketch.update(name, tick)
        sketch.total()

    def theirs() -> None:
        sketch = probstructs.ExponentialCountMinSketch(config().width, config().depth, WINDOW)
        for name, tick in calls:
            sketch.inc(name, tick, 1)

    mine, other = best_seconds(ours, theirs, rounds=3)
    show(
        "One call per event from Python",
        [
            Row("update(item, tick), strings", f"{0.3 / mine:5.2f} M calls/s"),
            Row("probstructs inc(key, tick, 1)", f"{0.3 / other:5.2f} M calls/s"),
            Row("ratio", f"{other / mine:.2f}", "at least 1", other >= mine),
        ],
    )


def queries() -> None:
    sketch = fill(config(), zipf(EVENTS), np.arange(EVENTS) // 10)
    asked = zipf(1_000_000, seed=5)
    seconds = best_seconds(
        lambda: sketch.estimate_many(asked, last=1000),
        lambda: sketch.estimate_many(asked),
        lambda: [sketch.estimate(7, last=1000) for _ in range(1000)],
        lambda: sketch.self_join(last=1000),
    )
    show(
        "Queries, epsilon 0.1",
        [
            Row(
                "estimate_many, last=1000",
                f"{1 / seconds[0]:.1f} M items/s",
                "at least 2 M/s",
                seconds[0] <= 0.5,
            ),
            Row("estimate_many, whole window", f"{1 / seconds[1]:.1f} M items/s", "at least 2 M/s", seconds[1] <= 0.5),
            Row("estimate, one call", f"{seconds[2] * 1e3:.0f} microseconds"),
            Row("self_join", f"{seconds[3] * 1e6:.0f} microseconds"),
        ],
    )


def merges() -> None:
    items, ticks = zipf(EVENTS), np.arange(EVENTS) // 10
    sites = [fill(config(), items[i::33], ticks[i::33]) for i in range(33)]
    blob = sites[0].serialize()
    seconds = best_seconds(
        lambda: ecm.merge(sites),
        lambda: ecm.merge(sites, method="binary"),
        sites[0].serialize,
        lambda: ecm.EcmSketch.deserialize(blob),
    )
    show(
        "Merging 33 sketches of 300 k events each, epsilon 0.1",
        [
            Row("n-way", f"{seconds[0] * 1e3:.1f} ms", "at most 50 ms", seconds[0] <= 0.05),
            Row("binary tree, as in the paper", f"{seconds[1] * 1e3:.1f} ms"),
            Row("serialize, deserialize one", f"{seconds[2] * 1e3:.2f} ms, {seconds[3] * 1e3:.2f} ms"),
        ],
    )


def run() -> None:
    """Time updates, single calls, queries and merges."""
    updates()
    single_updates()
    queries()
    merges()
