"""Sliding-window counters: one file per kind, one contract."""

from __future__ import annotations

from ecmsketch.config import SketchConfig
from ecmsketch.counters.contract import MAX_ARRIVALS, Counters, Reading
from ecmsketch.counters.exponential_histogram import ExponentialHistograms
from ecmsketch.counters.waves.deterministic_wave import DeterministicWaves
from ecmsketch.counters.waves.randomized_wave import RandomizedWaves

__all__ = ["MAX_ARRIVALS", "Counters", "Reading", "counter_class", "new_counters"]

_CLASSES: dict[str, type[Counters]] = {"eh": ExponentialHistograms, "dw": DeterministicWaves, "rw": RandomizedWaves}


def counter_class(config: SketchConfig) -> type[Counters]:
    """The class of counters that a config asks for."""
    return _CLASSES[config.counter]


def new_counters(config: SketchConfig, key: int) -> Counters:
    """Empty counters for a config; `key` as in `Counters.new`."""
    return counter_class(config).new(config, key)
