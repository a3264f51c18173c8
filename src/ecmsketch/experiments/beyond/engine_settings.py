"""The engines that the experiments beyond the paper compare, each with the sharper theorems of this library."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple, TypeVar

from ecmsketch.config import SketchConfig
from ecmsketch.experiments.data.event_stream import WINDOW, Stream, StreamBatch

Sketch = TypeVar("Sketch")


class Engine(NamedTuple):
    """A counter and its resolution: how sharply the start of a range is honoured. None shares epsilon."""

    name: str
    counter: str
    resolution: float | None = None

    def config(self, epsilon: float, delta: float, seed: int, **more: object) -> SketchConfig:
        """A config of this engine; the window is the paper's unless another is given."""
        settings: dict[str, object] = {"window": WINDOW, **more}
        return SketchConfig(
            epsilon=epsilon,
            delta=delta,
            counter=self.counter,
            resolution=self.resolution,
            seed=seed,
            **settings,  # type: ignore[arg-type]
        )


EH = Engine("eh", "eh")
SLICES = Engine("slices", "slices")
COARSE = Engine("slices, resolution 0.1", "slices", 0.1)
ENGINES = (EH, SLICES, COARSE)
"""Exponential histograms, slices with the same promise, and slices that begin a range less sharply."""


def cases(epsilons: tuple[float, ...]) -> list[tuple[Engine, float]]:
    """Every engine with every epsilon."""
    return list(product(ENGINES, epsilons))


def feed_all(stream: Stream, sketches: list[Sketch], feed: Callable[[Sketch, StreamBatch], None]) -> list[Sketch]:
    """Feed a stream to many sketches in one pass: making or reading it takes longer than counting it."""
    for batch in stream.batches():
        for sketch in sketches:
            feed(sketch, batch)
    return sketches
