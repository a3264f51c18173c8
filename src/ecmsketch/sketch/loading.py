"""Reads a sketch from its bytes, whichever class it is of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ecmsketch.engines.slices.engine import SlicesEngine
from ecmsketch.sketch import codec
from ecmsketch.sketch.ecm import EcmSketch
from ecmsketch.sketch.ingest import State
from ecmsketch.sketch.merging import merge
from ecmsketch.sketch.prefix import PrefixSketch
from ecmsketch.sketch.small_sketches import SketchColumn

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


def merge_column(column: SketchColumn, chosen: NDArray[np.bool_], others: Sequence[EcmSketch] = ()) -> EcmSketch:
    """One sketch for some of the small ones in a column of bytes, and for others, merged in one step as by `merge`."""
    union = column.gather(chosen)
    stream = union.stream
    if stream is not None and not union.is_merged and not others:
        stream = stream.merge([stream], union.now)
    engine = SlicesEngine.of_stream(column.config, stream, union.now, union.first_tick)
    engine.late_counted, engine.late_dropped = union.late_counted, union.late_dropped
    made = EcmSketch._of(State(engine, kinds=union.kinds))
    return merge([made, *others]) if others else made
