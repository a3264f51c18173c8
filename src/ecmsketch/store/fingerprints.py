"""Fingerprints of segments: a segment that is stored already is recognised, even if it was built anew.

Building the same events with another number of tasks gives other bytes, because buckets or slices end elsewhere. How
much each cell counted stays the same, so a fingerprint is a hash of that. Where a sketch does not know it exactly (a
segment longer than a window, randomized waves), the fingerprint is a hash of the bytes.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from ecmsketch.sketch.loading import AnySketch

SIZE = 8
"""Bytes of a fingerprint. It is only compared with those of the same site."""
_CELLS = 2**16
"""Cells read at a time. Slices are read at once, since each reading looks through all their events."""


def fingerprint(sketch: AnySketch, data: bytes) -> bytes:
    """The fingerprint of a sketch, whose bytes are given too; empty if nothing was counted."""
    first, now, config = sketch.first_tick, sketch.now, sketch.config
    if first is None or now is None:
        return b""
    counted = blake2b(f"{first} {now} ".encode(), digest_size=SIZE)
    if now - config.window >= first:
        return blake2b(data, digest_size=SIZE).digest()
    step = config.cells if config.counter == "slices" else _CELLS
    for begin in range(0, config.cells, step):
        reading = sketch.read_cells(np.arange(begin, min(begin + step, config.cells), dtype=np.uint32))
        if not np.array_equal(reading.lower, reading.upper):
            return blake2b(data, digest_size=SIZE).digest()
        counted.update(reading.value.astype("<f8").tobytes())
    return counted.digest()


def split(fingerprints: bytes | None) -> list[bytes]:
    """Cut joined fingerprints apart."""
    joined = fingerprints or b""
    return [joined[i : i + SIZE] for i in range(0, len(joined), SIZE)]
