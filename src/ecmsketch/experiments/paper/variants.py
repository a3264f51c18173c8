"""The sketches that are compared: the paper's ECM-EH, ECM-DW and ECM-RW, and ours, sized for a kind of query."""

from __future__ import annotations

from typing import NamedTuple

from ecmsketch.config import SketchConfig
from ecmsketch.experiments.data.event_stream import WINDOW, Stream
from ecmsketch.sketch import EcmSketch

PAPER_ARRIVALS = 10**9
"""One event per millisecond for the whole window: the capacity that the paper gives to waves (section 7.1)."""
PAPER_WAVE_CONSTANT = 36.0
"""The constant of randomized waves as published: a level keeps 36/epsilon_sw^2 arrivals (decision 7)."""
QUERIES = ("point", "self-join")


class Variant(NamedTuple):
    """A counter and the query it is sized for. `reserved` (dw) allocates the paper's capacity from the start.

    By default it is as published: the paper's split of epsilon, and the paper's way to read it. With split="sharp" it
    is ours: the split of docs/guarantees.md, and the answers that the library gives today.
    """

    counter: str
    query: str = "point"
    reserved: bool = False
    split: str = "paper"
    resolution: float | None = None
    wave_constant: float | None = None

    @property
    def name(self) -> str:
        """A key for tables: eh, dw, rw; dw reserved, rw c=36; eh sharper, slices, slices 0.1."""
        more = " reserved" * self.reserved + f" c={self.wave_constant or 0:g}" * (self.wave_constant is not None)
        if self.split == "sharp" and self.counter != "slices":
            more += " sharper"
        return self.counter + more + ("" if self.resolution is None else f" {self.resolution:g}")

    @property
    def published(self) -> bool:
        """Whether the paper describes it."""
        return self.split == "paper"

    @property
    def estimators(self) -> tuple[str, ...]:
        """The ways to read the oldest bucket: half of it (the paper) or interpolated. Samples (rw) have no buckets."""
        return ("sample",) if self.counter == "rw" else ("half", "interpolate")

    @property
    def reader(self) -> str:
        """How the paper's experiments read it: as the paper does, or (ours) as the library does today."""
        return self.estimators[0] if self.published else "today"

    def config(self, epsilon: float, delta: float, seed: int) -> SketchConfig:
        """A config with the paper's window, and no budget for merging."""
        return SketchConfig(
            epsilon=epsilon,
            delta=delta,
            window=WINDOW,
            counter=self.counter,
            optimize_for="point" if self.query == "point" else "inner",
            max_arrivals=PAPER_ARRIVALS if self.reserved else None,
            seed=seed,
            split=self.split,
            resolution=self.resolution,
            wave_constant=self.wave_constant,
        )


def variants(counters: tuple[str, ...]) -> list[Variant]:
    """The published ones: every counter for point queries, and for self-joins where the paper has a proof."""
    return [
        Variant(counter, query)
        for counter in counters
        for query in (("point",) if counter == "rw" else QUERIES)
    ]  # fmt: skip


def our_variants() -> list[Variant]:
    """Ours: histograms with the sharper split, slices, and slices with a coarse start of ranges; for both queries."""
    return [
        Variant(counter, query, split="sharp", resolution=resolution)
        for counter, resolution in (("eh", None), ("slices", None), ("slices", 0.1))
        for query in QUERIES
    ]


def read_with(sketch: EcmSketch, estimator: str) -> EcmSketch:
    """The same sketch, set to one of `Variant.estimators` or to `Variant.reader`."""
    return sketch.copy(estimator=estimator) if estimator in ("half", "interpolate") else sketch


def sketch_all(stream: Stream, configs: list[SketchConfig]) -> list[EcmSketch]:
    """A sketch of the whole stream for each config, in one pass."""
    sketches = [EcmSketch(config, site="everywhere") for config in configs]
    for batch in stream.batches():
        for sketch in sketches:
            sketch.update_many(batch.items, batch.ticks)
    return sketches
