"""The two engines: time inside the cells (counters/), or time outside and a table inside (slices/)."""

from __future__ import annotations

from ecmsketch.config import SketchConfig
from ecmsketch.counters import Counters, counter_class
from ecmsketch.slices import SlicedStream

Engine = Counters | SlicedStream
"""What counts the arrivals of a sketch."""


def engine_class(config: SketchConfig) -> type[Counters] | type[SlicedStream]:
    """The engine that a config asks for."""
    return SlicedStream if config.counter == "slices" else counter_class(config)
