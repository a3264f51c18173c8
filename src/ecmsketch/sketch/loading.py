"""Reads a sketch from its bytes, whichever class it is of."""

from __future__ import annotations

from ecmsketch.sketch import codec
from ecmsketch.sketch.ecm import EcmSketch
from ecmsketch.sketch.prefix import PrefixSketch

AnySketch = EcmSketch | PrefixSketch
"""A sketch of either class."""


def load(data: bytes | bytearray | memoryview, max_nbytes: int | None = codec.MAX_NBYTES) -> AnySketch:
    """The EcmSketch or PrefixSketch that `serialize` wrote; a FormatError if the bytes are anything else.

    Counters that would take more memory than `max_nbytes` are refused, as by `deserialize`.
    """
    sketch_class = PrefixSketch if codec.kind_in(data) == codec.KIND_PREFIX else EcmSketch
    return sketch_class.deserialize(data, max_nbytes)


def summarize(data: bytes) -> tuple[type[AnySketch], codec.Summary]:
    """The class of a sketch in bytes that this library has just written, and what their header says.

    The checksum shows that they came whole. Whether the counters make sense shows when they are loaded.
    """
    summary = codec.summarize(data)
    return (PrefixSketch if summary.type_id == codec.KIND_PREFIX else EcmSketch), summary
