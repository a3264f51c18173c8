"""What the sharper answers claim (decisions 20 and 22): memory, errors, self-joins, and how often bounds hold.

Zipf 1.0, a million events over 90,000 items, delta 0.01, the last half of the stream asked. "Before" is the least cell
of a sketch with the paper's split of epsilon.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import ecmsketch as ecm
from benchmarks.events import zipf
from benchmarks.table import Row, show
from ecmsketch.inputs.items import hash_items
from ecmsketch.kernels.hashing import cells_of

EVENTS, LAST, SEEDS = 1_000_000, 500_000, 32
MARGINS = {"named": 0.0002, "listed": 0.005}
"""By how much bounds may hold less often than stated: three standard errors of the mean over the seeds, as measured."""


class Truth(NamedTuple):
    """The exact counts of a range, heaviest items first."""

    items: Any
    counts: Any

    @property
    def self_join(self) -> float:
        return float((self.counts.astype(float) ** 2).sum())


def run() -> None:
    """Print all sections."""
    stream = zipf(EVENTS, exponent=1.0)
    truth = count(stream[-LAST:])
    _memory(stream)
    _errors(stream, truth)
    _coverage(stream, truth)


def count(items: Any) -> Truth:
    names, counts = np.unique(items, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return Truth(names[order], counts[order])


def build(stream: Any, **settings: Any) -> ecm.EcmSketch:
    sketch = ecm.EcmSketch(ecm.SketchConfig(delta=0.01, window=EVENTS, **settings))
    sketch.update_many(stream, np.arange(1, EVENTS + 1))
    return sketch


def _memory(stream: Any) -> None:
    rows = []
    for epsilon in (0.1, 0.01):
        paper = build(stream, epsilon=epsilon, counter="eh", split="paper").nbytes
        rows.append(Row(f"epsilon {epsilon}, paper's split", f"{paper / 1000:7,.0f} KB"))
        for resolution, most in ((None, 0.4), (0.05, 0.15 if epsilon == 0.01 else None)):
            size = build(stream, epsilon=epsilon, resolution=resolution, counter="eh").nbytes
            name = f"epsilon {epsilon}, " + (f"resolution {resolution}" if resolution else "sharp")
            told = f"{size / 1000:7,.0f} KB, {size / paper:.2f} of the paper's"
            rows.append(Row(name, told, f"at most {most}", size <= most * paper) if most else Row(name, told))
    show('Sharper: memory of "eh"', rows)


def _errors(stream: Any, truth: Truth) -> None:
    paper = build(stream, epsilon=0.01, counter="eh", split="paper")
    before = _mean_errors(_least_cells(paper, truth.items), truth)
    rows = [Row("least cell, paper's split", _told(paper, before))]
    now = {
        "now, the same sketch": paper,
        'now, "eh", epsilon 0.001, resolution 0.05': build(stream, epsilon=0.001, resolution=0.05, counter="eh"),
        "now, slices, epsilon 0.001, resolution 0.05": build(stream, epsilon=0.001, resolution=0.05, counter="slices"),
    }
    for name, sketch in now.items():
        errors = _mean_errors(sketch.estimate_many(truth.items, last=LAST).value, truth)
        met = sketch.nbytes <= paper.nbytes and all(5 * new <= old for new, old in zip(errors, before, strict=True))
        rows.append(Row(name, _told(sketch, errors), "both a fifth of the least cell's, in no more memory", met))
    show("Sharper: mean absolute error, epsilon 0.01", rows)


def _least_cells(sketch: ecm.EcmSketch, items: Any) -> Any:
    """The paper's answers: the least cell of each item."""
    cells = cells_of(hash_items(items), sketch.config.rows)
    return sketch.table(last=LAST).value.ravel()[cells].min(axis=0)


def _told(sketch: ecm.EcmSketch, errors: tuple[float, float]) -> str:
    return f"{sketch.nbytes / 1e6:.2f} MB  all {errors[0]:6.1f}  heaviest 100 {errors[1]:6.1f}"


def _mean_errors(values: Any, truth: Truth) -> tuple[float, float]:
    error = np.abs(values - truth.counts)
    return float(error.mean()), float(error[:100].mean())


def _coverage(stream: Any, truth: Truth) -> None:
    """Self-joins and bounds, over several seeds of the hash functions."""
    rows = []
    exact = dict(zip(truth.items.tolist(), truth.counts.tolist(), strict=True))
    for settings in ({"counter": "eh"}, {"counter": "slices", "resolution": 0.1}):
        named, listed, joins = [], [], []
        for seed in range(SEEDS):
            sketch = build(stream, epsilon=0.01, seed=seed, heavy_hitters=True, **settings)
            found = sketch.estimate_many(truth.items, last=LAST)
            named.append(((found.lower <= truth.counts) & (truth.counts <= found.upper)).mean())
            listed += [hit.estimate.covers(exact.get(hit.item, 0)) for hit in sketch.top(100, last=LAST)]
            joins.append(abs(sketch.self_join(last=LAST).value / truth.self_join - 1))
        stated, error = sketch.config.confidence, float(np.mean(joins))
        name = settings["counter"]
        rows.append(Row(f"{name}, self-join, mean error", f"{error:.2%}", "below 3 %", error < 0.03))
        for kind, held in (("named", float(np.mean(named))), ("listed", float(np.mean(listed)))):
            least = stated - MARGINS[kind]
            what = "items named beforehand" if kind == "named" else "top(100)"
            target = f"{stated:.4f} less {MARGINS[kind]}"
            rows.append(Row(f"{name}, bounds that hold, {what}", f"{held:.4f}", target, held >= least))
    show(f"Sharper: self-joins and bounds, epsilon 0.01, {SEEDS} seeds", rows)
