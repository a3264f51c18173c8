"""Draw docs/pictures/sharper.png: bounds as they were and as they are, around the exact counts of the busiest pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import ecmsketch as ecm
from ecmsketch.generate import WorldCupLog
from ecmsketch.sketch import bounds

HOUR, PAGES = 3600, 10
OLD, CELLS, SLICES, EXACT, QUIET = "#bdbdbd", "#6baed6", "#08519c", "#de2d26", "#636363"


class Found(NamedTuple):
    """The answers of one sketch about the busiest pages."""

    name: str
    color: str
    answers: ecm.Estimates
    nbytes: int


def fill(pages: Any, ticks: Any, **settings: Any) -> ecm.EcmSketch:
    """A sketch of the whole day."""
    sketch = ecm.EcmSketch(ecm.SketchConfig(delta=0.01, window=24 * HOUR, **settings))
    sketch.update_many(pages, ticks)
    return sketch


def ask_as_before(sketch: ecm.EcmSketch, pages: Any) -> ecm.Estimates:
    """Theorem 1 as in the paper: the least cell, and Markov's bound below it."""
    cells = [sketch.cells(int(page), last=HOUR) for page in pages]
    rows = type(cells[0])(*(np.stack(part, axis=1) for part in zip(*cells, strict=True)))
    return bounds.point(rows, sketch.total(last=HOUR).upper, sketch.config)


def main() -> None:
    """Fill three sketches of about the same size, ask them about the same pages, check the answers and draw them."""
    log = WorldCupLog(2_000_000, day=66)
    requests = np.concatenate([log.slice(index) for index in range(log.slices)])
    requests = requests[np.argsort(requests["timestamp"], kind="stable")]
    items, ticks = requests["object"].astype(np.int64), requests["timestamp"].astype(np.int64)
    pages, counts = np.unique(items[ticks > ticks[-1] - HOUR], return_counts=True)
    busiest = np.argsort(-counts, kind="stable")[:PAGES]
    pages, exact = pages[busiest], counts[busiest]

    paper = fill(items, ticks, epsilon=0.035, counter="eh", split="paper")
    cells = fill(items, ticks, epsilon=0.004, resolution=0.09, counter="eh")
    slices = fill(items, ticks, epsilon=0.0015, resolution=0.045, counter="slices")
    found = [
        Found("as in the paper", OLD, ask_as_before(paper, pages), paper.nbytes),
        Found('now, "eh"', CELLS, cells.estimate_many(pages, last=HOUR), cells.nbytes),
        Found("now, slices", SLICES, slices.estimate_many(pages, last=HOUR), slices.nbytes),
    ]
    for one in found:
        assert (one.answers.lower <= exact).all()
        assert (exact <= one.answers.upper).all()
        assert one.nbytes <= 1.01 * found[0].nbytes
    before, *now = ((one.answers.upper - one.answers.lower).mean() for one in found)
    assert max(now) < before / 5
    draw(found, pages, exact)


def draw(found: list[Found], pages: Any, exact: Any) -> None:
    """Draw a bar from lower to upper bound for each page and sketch, and a line at the exact count."""
    figure, axes = plt.subplots(figsize=(8, 4), dpi=110, layout="constrained")
    places = np.arange(len(pages))
    for at, (name, color, answers, nbytes) in zip((-0.27, 0, 0.27), found, strict=True):
        label = f"{name}, {nbytes / 1e6:.1f} MB"
        axes.bar(places + at, answers.upper - answers.lower, 0.22, answers.lower, color=color, label=label)
    axes.hlines(exact, places - 0.42, places + 0.42, color=EXACT, linewidth=1.6, label="exact count")
    axes.set_xticks(places, [f"{page}" for page in pages])
    axes.set_ylim(0, 1.12 * max(one.answers.upper.max() for one in found))
    axes.yaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
    axes.set(xlabel="page of a generated World Cup day", ylabel="requests in the last hour")
    axes.set_title("Bounds of the ten busiest pages, from sketches of about the same memory", loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(Path(__file__).with_name("sharper.png"), metadata={"Software": None})


if __name__ == "__main__":
    main()
