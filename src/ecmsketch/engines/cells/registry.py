"""Which counters a config asks for."""

from __future__ import annotations

from typing import Any

from ecmsketch.config import SketchConfig
from ecmsketch.engines.cells.deterministic_wave import DeterministicWaves
from ecmsketch.engines.cells.exponential_histogram import ExponentialHistograms
from ecmsketch.engines.cells.randomized_wave import RandomizedWaves

_CLASSES: dict[str, Any] = {"eh": ExponentialHistograms, "dw": DeterministicWaves, "rw": RandomizedWaves}


def counter_class(config: SketchConfig) -> Any:
    """The class of counters, which fulfils `Counters`."""
    return _CLASSES[config.counter]
