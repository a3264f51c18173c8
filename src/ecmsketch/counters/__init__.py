"""Sliding-window counters: one file per kind, one contract."""

from __future__ import annotations

from ecmsketch.config import SketchConfig
from ecmsketch.counters.contract import MAX_ARRIVALS, Counters, Reading
from ecmsketch.counters.deterministic_wave import DeterministicWaves
from ecmsketch.counters.exponential_histogram import ExponentialHistograms
from ecmsketch.counters.randomized_wave import RandomizedWaves

__all__ = ["MAX_ARRIVALS", "Counters", "Reading", "kind_of", "new_counters"]

_KINDS: dict[str, type[Counters]] = {"eh": ExponentialHistograms, "dw": DeterministicWaves, "rw": RandomizedWaves}


def kind_of(config: SketchConfig) -> type[Counters]:
    """The class of counters that a config asks for."""
    return _KINDS[config.counter]


def new_counters(config: SketchConfig, key: int) -> Counters:
    """Empty counters for a config; `key` as in `Counters.new`."""
    return kind_of(config).new(config, key)
