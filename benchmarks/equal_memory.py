"""Errors at equal memory: slices and cells on one stream, over one window of a count-based sketch.

Zipf 1.0, two million events over 90,000 items, the last 500,000 asked, all items in them: the setting in which the
sketches of 2020 to 2023 were compared (Sliding Sketch, KDD 2020; MicroscopeSketch, KDD 2023; they know one window, and
neither merge nor bound their answers). `drift` gives the items new numbers every 200,000 events.

How well the heaviest items are told, and how much memory is held, depends on where the slice begins that the window
cuts, and so on how many events came. The targets are for two million events. The settings were searched on the streams
of seed 0. So the streams of another seed are measured beside them, at ends that nothing was fitted to: these say what
to expect.
"""

from __future__ import annotations

from math import e, exp
from pathlib import Path
from typing import NamedTuple

import numpy as np

import ecmsketch as ecm
from benchmarks.table import Row, show

EVENTS, WINDOW, ITEMS = 2_000_000, 500_000, 90_000
PICTURE = Path("results") / "equal_memory.png"


class Setting(NamedTuple):
    """A sketch by its table, and what its error may be: mean of all items, mean of the heaviest 100."""

    width: int
    depth: int
    resolution: float
    most_bytes: int
    all_items: float
    heaviest: float


SLICES = (
    Setting(1050, 3, 0.8, 50_000, 25, 45),
    Setting(4450, 3, 0.36, 200_000, 8, 15),
    Setting(21_000, 4, 0.2, 1_000_000, 1, 8),
)
"""Chosen among about 200 by their errors on the streams of seed 0, at two million events and ten ends before that."""
OTHER_SEED, OTHER_ENDS = 1, range(1_607_000, EVENTS, 37_000)
CELLS = (0.3, 0.1, 0.03, 0.01)
"""Epsilons of sketches with exponential histograms, resolution 0.1."""


def streams(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, ITEMS + 1)
    items = rng.choice(ITEMS, EVENTS, p=shares / shares.sum())
    drift = items.copy()
    for begin in range(0, EVENTS, 200_000):
        drift[begin : begin + 200_000] = rng.permutation(ITEMS)[drift[begin : begin + 200_000]]
    return {"Zipf 1.0": items, "drift": drift}


def errors(sketch: ecm.EcmSketch, items: np.ndarray) -> tuple[float, float]:
    names, counts = np.unique(items[-WINDOW:], return_counts=True)
    error = np.abs(sketch.estimate_many(names).value - counts)
    return float(error.mean()), float(error[np.argsort(-counts)[:100]].mean())


def build(items: np.ndarray, **settings) -> ecm.EcmSketch:
    sketch = ecm.EcmSketch(ecm.SketchConfig(window=WINDOW, model="count", **settings))
    for part in np.array_split(items, 16):
        sketch.update_many(part)
    assert sketch.now == len(items)
    return sketch


class Found(NamedTuple):
    """What a setting takes and errs at one end of a stream."""

    nbytes: int
    mean: float
    heaviest: float

    def meets(self, setting: Setting, factor: float) -> bool:
        """Whether memory and both errors are within the targets, the errors times a factor."""
        close = self.mean <= factor * setting.all_items and self.heaviest <= factor * setting.heaviest
        return close and self.nbytes <= setting.most_bytes


def measure(setting: Setting, items: np.ndarray) -> Found:
    sketch = build(
        items, epsilon=e / (setting.width - 0.5), delta=exp(-setting.depth), resolution=setting.resolution,
        counter="slices",
    )  # fmt: skip
    return Found(sketch.nbytes, *errors(sketch, items))


def told(setting: Setting, items: np.ndarray, unseen: np.ndarray, factor: float) -> tuple[Found, list[Row]]:
    """The row of the stream by which the setting was chosen, and one that sums up the ends of an unseen stream."""
    name = f"slices, {setting.width} x {setting.depth}, resolution {setting.resolution}"
    target = f"{factor * setting.all_items:g}, {factor * setting.heaviest:g} in {setting.most_bytes // 1000} KB"
    here, others = measure(setting, items), [measure(setting, unseen[:end]) for end in OTHER_ENDS]
    met = sum(found.meets(setting, factor) for found in others)
    ranges = [f"{np.median(part):.3g} ({min(part):.3g} to {max(part):.3g})" for part in zip(*others, strict=True)]
    value = f"{here.nbytes / 1000:6.1f} KB   all {here.mean:.2f}   heaviest 100 {here.heaviest:.1f}"
    return here, [
        Row(f"{name}, chosen on this stream", value, target, here.meets(setting, factor)),
        Row(
            "    another seed, other ends, median (range)",
            f"{ranges[0]} bytes   all {ranges[1]}   heaviest 100 {ranges[2]}",
            f"as above; met at {met} of {len(others)}",
            met == len(others),
        ),
    ]


def run() -> None:
    """Print a table, and draw it if matplotlib is there."""
    points: dict[str, list[tuple[int, float]]] = {}
    unseen = streams(OTHER_SEED)
    for name, items in streams().items():
        rows = []
        factor = 1.5 if name == "drift" else 1.0
        for setting in SLICES:
            here, more = told(setting, items, unseen[name], factor)
            rows += more
            points.setdefault(f"slices, {name}", []).append((here.nbytes, here.mean))
        for epsilon in CELLS:
            sketch = build(items, epsilon=epsilon, delta=0.05, resolution=0.1, counter="eh")
            mean, heavy = errors(sketch, items)
            value = f"{sketch.nbytes / 1000:6.1f} KB   all {mean:.2f}   heaviest 100 {heavy:.1f}"
            rows.append(Row(f"eh, epsilon {epsilon}, resolution 0.1", value))
            points.setdefault(f"eh, {name}", []).append((sketch.nbytes, mean))
        show(f"Mean absolute error at equal memory: {name}, the last {WINDOW:,} of {EVENTS:,} events", rows)
    _draw(points)


def _draw(points: dict[str, list[tuple[int, float]]]) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("\n  no picture: matplotlib is not installed")
        return
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name, found in points.items():
        axes.loglog(
            *zip(*sorted(found), strict=True), marker="o", linestyle="--" if "drift" in name else "-", label=name
        )
    axes.set(xlabel="memory (bytes)", ylabel="mean absolute error of all items", title="Error at equal memory")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=150)
    print(f"\n  picture: {PICTURE}")
