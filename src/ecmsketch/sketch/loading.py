"""Reads a sketch from its bytes, whichever kind it is."""

from __future__ import annotations

from ecmsketch.sketch.codec import KIND_PREFIX, KIND_SKETCH, MAX_NBYTES, Summary, decode_summary, kind_in
from ecmsketch.sketch.ecm import EcmSketch
from ecmsketch.sketch.prefix import PrefixSketch

AnySketch = EcmSketch | PrefixSketch
"""A sketch of either kind."""


def load(data: bytes | bytearray | memoryview, max_nbytes: int | None = MAX_NBYTES) -> AnySketch:
    """The EcmSketch or PrefixSketch that `serialize` wrote; a FormatError if the bytes are anything else.

    Counters that would take more memory than `max_nbytes` are refused, as by `deserialize`.
    """
    kind = PrefixSketch if kind_in(data) == KIND_PREFIX else EcmSketch
    return kind.deserialize(data, max_nbytes)


def summarize(data: bytes) -> tuple[type[AnySketch], Summary]:
    """The kind of a sketch in bytes that this library has just written, and what their header says.

    The checksum shows that they came whole. Whether the counters make sense shows when they are loaded.
    """
    kind = KIND_PREFIX if kind_in(data) == KIND_PREFIX else KIND_SKETCH
    return (PrefixSketch if kind == KIND_PREFIX else EcmSketch), decode_summary(data, kind)
