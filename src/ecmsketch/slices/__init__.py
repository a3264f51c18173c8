"""Slices: time outside, table inside. The second engine, beside the counters of the paper."""

from ecmsketch.slices.sliced_stream import SlicedStream

__all__ = ["SlicedStream"]
