"""A sketch from bytes, whichever kind it is."""

from __future__ import annotations

from ecmsketch.codec import KIND_PREFIX, kind_in
from ecmsketch.prefix import PrefixSketch
from ecmsketch.sketch import EcmSketch

Sketch = EcmSketch | PrefixSketch


def load(data: bytes | bytearray | memoryview) -> Sketch:
    """The EcmSketch or PrefixSketch that `serialize` wrote; a FormatError if the bytes are anything else."""
    return PrefixSketch.deserialize(data) if kind_in(data) == KIND_PREFIX else EcmSketch.deserialize(data)
