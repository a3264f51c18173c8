"""Slices: time outside, table inside. The second engine, beside the counters of the paper."""

from ecmsketch.slices.sliced_stream import SlicedStream
from ecmsketch.slices.stream_reading import PointReading

__all__ = ["PointReading", "SlicedStream"]
