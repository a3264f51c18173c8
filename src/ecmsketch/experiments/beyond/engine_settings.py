"""The engines that the experiments beyond the paper compare, each with the sharper theorems of this library."""

from __future__ import annotations

from typing import NamedTuple

from ecmsketch.config import SketchConfig
from ecmsketch.experiments.data.event_stream import WINDOW


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
