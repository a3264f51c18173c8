"""The sketches that the paper compares: ECM-EH, ECM-DW and ECM-RW, sized for point or self-join queries."""

from __future__ import annotations

from typing import NamedTuple

from ecmsketch.config import SketchConfig
from ecmsketch.experiments.data.event_stream import WINDOW, Stream
from ecmsketch.sketch import EcmSketch

PAPER_ARRIVALS = 10**9
"""One event per millisecond for the whole window: the capacity that the paper gives to waves (section 7.1)."""


class Variant(NamedTuple):
    """A counter and the query it is sized for. `reserved` (dw) allocates the paper's capacity from the start."""

    counter: str
    query: str = "point"
    reserved: bool = False

    @property
    def estimators(self) -> tuple[str, ...]:
        """The ways to read the oldest bucket: half of it (the paper) or interpolated. Samples (rw) have no buckets."""
        return ("sample",) if self.counter == "rw" else ("half", "interpolate")

    def config(self, epsilon: float, delta: float, seed: int) -> SketchConfig:
        """A config with the paper's window and split of epsilon, and no budget for merging."""
        return SketchConfig(
            epsilon=epsilon,
            delta=delta,
            window=WINDOW,
            counter=self.counter,
            optimize_for="point" if self.query == "point" else "inner",
            max_arrivals=PAPER_ARRIVALS if self.reserved else None,
            seed=seed,
            split="paper",
        )


def variants(counters: tuple[str, ...]) -> list[Variant]:
    """Every counter for point queries, and for self-joins where the paper has a proof."""
    return [
        Variant(counter, query)
        for counter in counters
        for query in (("point",) if counter == "rw" else ("point", "self-join"))
    ]


def read_with(sketch: EcmSketch, estimator: str) -> EcmSketch:
    """The same sketch, set to one of `Variant.estimators`."""
    return sketch if estimator == "sample" else sketch.copy(estimator=estimator)


def sketch_all(stream: Stream, configs: list[SketchConfig]) -> list[EcmSketch]:
    """A sketch of the whole stream for each config, in one pass."""
    sketches = [EcmSketch(config, site="everywhere") for config in configs]
    for batch in stream.batches():
        for sketch in sketches:
            sketch.update_many(batch.items, batch.ticks)
    return sketches
