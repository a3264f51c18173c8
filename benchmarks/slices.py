"""Slices: speed by batch size, epsilon and engine; sizes; queries; merges; prefixes. Ratios are of one run."""

from __future__ import annotations

import numpy as np

import ecmsketch as ecm
from benchmarks.events import zipf
from benchmarks.table import Row, best_seconds, show
from benchmarks.windowless import CountMin

EVENTS = 4_000_000
WINDOW = 200_000
BATCHES = (1000, 10_000, 100_000, 1_000_000)
LEAST_RATE = {0.1: 40e6, 0.01: 30e6, 0.001: 30e6}
"""Events per second in batches of 1,000."""


def config(epsilon: float, counter: str = "slices", resolution: float | None = 0.1, **more) -> ecm.SketchConfig:
    return ecm.SketchConfig(epsilon=epsilon, delta=0.01, window=WINDOW, counter=counter, resolution=resolution, **more)


def fill(settings: ecm.SketchConfig, items, ticks, size: int | None = None) -> ecm.EcmSketch:
    sketch = ecm.EcmSketch(settings)
    size = size or len(items)
    for begin in range(0, len(items), size):
        sketch.update_many(items[begin : begin + size], ticks[begin : begin + size])
    assert sketch.now == ticks[-1]  # everything is counted
    return sketch


def rates() -> None:
    items, ticks = zipf(EVENTS), np.arange(EVENTS) // 10
    for counter, resolution in (("slices", 0.1), ("slices", None), ("eh", 0.1), ("eh", None)):
        rows = []
        for epsilon in (0.1, 0.01, 0.001):
            settings = config(epsilon, counter, resolution)
            few = EVENTS if counter == "slices" else 1_000_000
            works = [lambda s=settings, b=size, n=few: fill(s, items[:n], ticks[:n], b) for size in BATCHES]
            *ours, blocked = best_seconds(
                *works,
                lambda s=settings: CountMin(s.width, s.depth).update_many(items),
                rounds=3,
            )
            speeds = [few / seconds for seconds in ours]
            ratio = speeds[-1] / (EVENTS / blocked)
            told = "  ".join(f"{speed / 1e6:6.1f}" for speed in speeds)
            target, met = "", None
            if (counter, resolution) == ("slices", 0.1):
                target = f"{LEAST_RATE[epsilon] / 1e6:.0f} M/s at 1,000; 0.5 of windowless at a million"
                met = speeds[0] >= LEAST_RATE[epsilon] and ratio >= 0.5
            rows.append(
                Row(
                    f"epsilon {epsilon}", f"{told}   {EVENTS / blocked / 1e6:6.1f} windowless, {ratio:.2f}", target, met
                )
            )
        show(
            f"Updates with counter={counter!r}, resolution={resolution}: M events/s in batches of 1,000, 10,000, "
            "100,000 and 1,000,000",
            rows,
        )


def names() -> None:
    items, ticks = zipf(EVENTS), np.arange(EVENTS) // 10
    rows = []
    for epsilon in (0.1, 0.01, 0.001):
        for size in (1000, 1_000_000):
            plain, named = best_seconds(
                lambda e=epsilon, b=size: fill(config(e), items, ticks, b),
                lambda e=epsilon, b=size: fill(config(e, heavy_hitters=True), items, ticks, b),
                rounds=3,
            )
            ratio = named / plain
            rows.append(Row(f"epsilon {epsilon}, batches of {size:,}", f"{ratio:.2f}", "at most 2.5", ratio <= 2.5))
    show("Slices with heavy_hitters=True: times the time of plain updates", rows)


def questions() -> None:
    rows = []
    for epsilon, resolution in ((0.1, 0.1), (0.01, 0.1), (0.001, 0.1), (0.01, None)):
        sketch = fill(config(epsilon, resolution=resolution), zipf(EVENTS), np.arange(EVENTS) // 10)
        asked = zipf(200_000, seed=5)
        many, one, steps = best_seconds(
            lambda s=sketch, a=asked: s.estimate_many(a),
            lambda s=sketch: [s.estimate(7, last=WINDOW // 2) for _ in range(100)],
            lambda s=sketch: s.history(7, step=WINDOW // 100),
        )
        name = f"epsilon {epsilon}, resolution {resolution}"
        rows += [
            Row(f"{name}: estimate_many", f"{0.2 / many:.1f} M items/s", "at least 2", many <= 0.1),
            Row(f"{name}: estimate", f"{one * 1e4:.0f} microseconds", "at most 30", one <= 0.003),
            Row(f"{name}: history of 100", f"{steps * 1e3:.1f} ms", "at most 5", steps <= 0.005),
        ]
    show("Questions to slices", rows)


def merges() -> None:
    rows = []
    items, ticks = zipf(33 * 300_000), np.arange(33 * 300_000) // 50
    for epsilon, most in ((0.1, 0.02), (0.01, 0.1)):
        for resolution in (0.1, None):
            settings = config(epsilon, resolution=resolution)
            sites = [fill(settings, items[i::33], ticks[i::33]) for i in range(33)]
            (seconds,) = best_seconds(lambda s=sites: ecm.merge(s))
            rows.append(
                Row(
                    f"epsilon {epsilon}, resolution {resolution}",
                    f"{seconds * 1e3:.1f} ms",
                    f"at most {most * 1e3:.0f} ms",
                    seconds <= most,
                )
            )
    show("Merging 33 sketches of 300,000 events each", rows)


def sizes() -> None:
    rows = []
    for epsilon in (0.1, 0.01, 0.001, 0.0001):
        one = fill(config(epsilon), np.array([7]), np.array([1_700_000_000]))
        held, written = one.nbytes, len(one.serialize())
        fifty = fill(config(epsilon), np.arange(50), 1_700_000_000 + np.arange(50))
        rows.append(
            Row(
                f"epsilon {epsilon}: one event; fifty",
                f"{held} bytes, {written} as bytes; {len(fifty.serialize())} as bytes",
                "at most 600, 120; 1,000",
                held <= 600 and written <= 120 and len(fifty.serialize()) <= 1000,
            )
        )
    for epsilon in (0.1, 0.01, 0.001):
        full = fill(config(epsilon), zipf(EVENTS), np.arange(EVENTS) // 10)
        slices = full.bucket_count - full._engine._stream.event_count
        cell = len(full.serialize()) / (slices * full.config.cells)
        told = f"{cell:.2f} bytes a cell as bytes, {full.nbytes:,} bytes in memory"
        rows.append(Row(f"epsilon {epsilon}: full", told, "at most 1.1", cell <= 1.1))
    show("Sizes of slices", rows)


def prefixes() -> None:
    rng = np.random.default_rng(3)
    addresses = rng.zipf(1.2, 4_000_000) * 2_654_435_761 % 2**32
    ticks = np.arange(len(addresses)) // 50
    settings = config(0.005)

    def work() -> ecm.PrefixSketch:
        sketch = ecm.PrefixSketch(settings, bits=32)
        sketch.update_many(addresses, ticks)
        return sketch

    (seconds,) = best_seconds(work, rounds=3)
    held = work().nbytes
    rate = len(addresses) / seconds
    show(
        "PrefixSketch of 32 bits on slices, epsilon 0.005, resolution 0.1, 4 M addresses",
        [
            Row("memory", f"{held / 1e6:.1f} MB", "at most 4 MB", held <= 4e6),
            Row("updates", f"{rate / 1e6:.1f} M/s", "at least 12", rate >= 12e6),
        ],
    )


def run() -> None:
    """Time and weigh slices."""
    rates()
    names()
    questions()
    merges()
    sizes()
    prefixes()
