"""Errors at equal memory on one stream and one window, against the sketches of 2020 to 2023.

Their numbers are not measured here. They were measured for the design of slices (SLICES.md): their authors' C++ at
their own settings, on the same law and sizes (Zipf 1.0, two million events over 90,000 items, the last 500,000).
"""

from __future__ import annotations

from functools import lru_cache
from math import e, exp
from typing import NamedTuple

import numpy as np

from ecmsketch.config import SketchConfig
from ecmsketch.experiments.data.exact_counts import Truth
from ecmsketch.experiments.data.synthetic import EVENTS, SYNTHETIC, zipf_items
from ecmsketch.experiments.spec import Context, Experiment, Row
from ecmsketch.sketch import EcmSketch

WINDOW = 500_000
HEAVIEST = 100


class Table(NamedTuple):
    """The table of a sliced sketch, by its size, and the sketch's resolution."""

    width: int
    depth: int
    resolution: float

    def config(self, seed: int) -> SketchConfig:
        """The config whose table has this size."""
        return SketchConfig(
            epsilon=e / (self.width - 0.5), delta=exp(-self.depth), resolution=self.resolution, counter="slices",
            window=WINDOW, model="count", seed=seed,
        )  # fmt: skip


class Published(NamedTuple):
    """What another sketch errs: its claimed memory, the mean error of all items and of the heaviest 100."""

    sketch: str
    kilobytes: int
    all_items: float
    heaviest: float


SOURCE = "measured for SLICES.md"
OTHERS = (
    Published("Sliding Sketch CM (KDD 2020)", 50, 258, 443),
    Published("Sliding Sketch CM (KDD 2020)", 200, 44, 190),
    Published("Sliding Sketch CM (KDD 2020)", 1000, 4.4, 134),
    Published("MicroscopeSketch CU (KDD 2023)", 50, 30, 53),
    Published("MicroscopeSketch CU (KDD 2023)", 200, 4.5, 53),
    Published("MicroscopeSketch CU (KDD 2023)", 1000, 0.8, 53),
    Published("ECM of the Sliding Sketch authors", 50, 5700, 5742),
    Published("ECM of the Sliding Sketch authors", 200, 892, 906),
    Published("ECM of the Sliding Sketch authors", 1000, 74, 211),
)


@lru_cache(maxsize=1)
def _truth() -> Truth:
    return Truth(WINDOW, *np.unique(zipf_items(EVENTS)[-WINDOW:], return_counts=True))


def run(spec: Experiment, context: Context) -> list[Row]:
    """A row for every sketch of ours, and with the first seed for every number of others."""
    parameters = spec.parameters
    ours = [("slices", Table(*table).config(context.seed)) for table in parameters["tables"]]
    for epsilon in parameters["epsilons"]:
        settings = {"delta": 0.05, "window": WINDOW, "model": "count", "counter": "eh", "seed": context.seed}
        ours.append(("eh, resolution 0.1", SketchConfig(epsilon=epsilon, resolution=0.1, **settings)))  # type: ignore[arg-type]
        ours.append(("eh", SketchConfig(epsilon=epsilon, **settings)))  # type: ignore[arg-type]
    rows = [_row(name, config, number) for number, (name, config) in enumerate(ours)]
    return rows + [
        {
            "sketch": other.sketch, "setting": "", "source": SOURCE, "memory_bytes": 1000 * other.kilobytes,
            "all_items": other.all_items, "heaviest": other.heaviest, "outside_bounds": "",
        }
        for other in OTHERS
        if context.seed == 0
    ]  # fmt: skip


def _row(name: str, config: SketchConfig, setting: int) -> Row:
    sketch = EcmSketch(config)
    for part in np.array_split(zipf_items(EVENTS), 16):
        sketch.update_many(part)
    truth = _truth()
    found = sketch.estimate_many(truth.items)
    errors = np.abs(found.value - truth.counts)
    outside = (truth.counts < found.lower) | (truth.counts > found.upper)
    heaviest = np.argsort(-truth.counts, kind="stable")[:HEAVIEST]
    return {
        "sketch": name, "setting": setting, "source": "measured here", "memory_bytes": sketch.nbytes,
        "all_items": float(errors.mean()), "heaviest": float(errors[heaviest].mean()),
        "outside_bounds": float(outside.mean()),
    }  # fmt: skip


EQUAL_MEMORY = Experiment(
    name="equal_memory",
    title="Beyond: error at equal memory, against other sliding-window sketches",
    paper="no such table; the other sketches are newer",
    parameters={
        "tables": ((500, 3, 0.8), (1050, 3, 0.8), (2200, 3, 0.5), (4450, 3, 0.36), (10_000, 4, 0.3), (21_000, 4, 0.2)),
        "epsilons": (0.3, 0.1, 0.03, 0.01),
    },
    columns=("sketch", "setting", "source", "memory_bytes", "all_items", "heaviest", "outside_bounds"),
    run=run,
    seeds=5,
    own_stream=SYNTHETIC,
)
