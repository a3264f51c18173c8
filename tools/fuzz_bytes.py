"""Reads broken bytes for some seconds: each is refused with a FormatError, or makes a sketch that answers.

tools/fuzz_bytes.py SECONDS [SEED]. Meant for a build with sanitizers (tools/sanitize.sh).
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

import ecmsketch as ecm
from ecmsketch.errors import EcmError, FormatError
from ecmsketch.kernels.hashing import hash_bytes

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
MOST = 2**26


def made(rng):
    """Small sketches of every counter, as bytes."""
    for counter in ("slices", "eh", "dw", "rw"):
        for model in ("time", "count"):
            for events in (0, 3, 400):
                config = ecm.SketchConfig(
                    epsilon=float(rng.choice([0.1, 0.5])), delta=0.3, window=int(rng.choice([50, 10**6])),
                    counter=counter, model=model, heavy_hitters=bool(rng.random() < 0.5),
                    late="side" if model == "time" else "raise",
                )  # fmt: skip
                sketch = ecm.EcmSketch(config, site="x")
                items, weights = rng.zipf(1.3, events), rng.integers(1, 50, events)
                sketch.update_many(items, np.sort(rng.integers(0, 200, events)) if model == "time" else None, weights)
                if model == "time" and events:
                    sketch.update_many(items[:20], np.arange(100, 100 + len(items[:20])))
                yield sketch.serialize()


def broken(data: bytes, rng: np.random.Generator) -> bytes:
    """The same bytes with some changed, left out, doubled or swapped."""
    found = bytearray(data)
    for _ in range(int(rng.choice([1, 1, 2, 5]))):
        at = int(rng.integers(0, len(found) + 1))
        how = rng.integers(0, 6)
        if how == 0:
            del found[at:]
        elif how == 1:
            found[at:at] = rng.integers(0, 256, int(rng.integers(1, 9)), np.uint8).tobytes()
        elif how == 2:
            del found[at : at + int(rng.integers(1, 9))]
        elif how == 3:
            found[at:at] = found[at : at + int(rng.integers(1, 40))]
        elif at < len(found):
            found[at] = int(rng.choice([0, 1, 127, 128, 255, found[at] ^ (1 << int(rng.integers(0, 8)))]))
    return bytes(found)


def repaired(data: bytes) -> bytes:
    """With the right checksum, so that readers look further."""
    return data[:-8] + hash_bytes(data[:-8], 0).to_bytes(8, "little")


def readable(data: bytes) -> type | None:
    """The class that reads some bytes."""
    for kind in (ecm.EcmSketch, ecm.PrefixSketch):
        try:
            kind.deserialize(data)
        except FormatError:
            continue
        return kind
    return None


def main(seconds: float, seed: int) -> None:
    """Until the time is over."""
    rng = np.random.default_rng(seed)
    examples = [path.read_bytes() for path in sorted(GOLDEN.glob("*.ecms"))] + list(made(rng))
    good = [(data, kind) for data in examples if (kind := readable(data))]
    print(f"fuzzing {len(good)} sketches for {seconds:g} s, seed {seed}")
    end, read, refused, tried = time.monotonic() + seconds, 0, 0, 0
    while time.monotonic() < end:
        data, kind = good[int(rng.integers(0, len(good)))]
        data = broken(data, rng)
        if rng.random() < 0.95 and len(data) > 8:
            data = repaired(data)
        tried += 1
        try:
            sketch = kind.deserialize(data, max_nbytes=MOST)
        except FormatError:
            refused += 1
            continue
        read += 1
        with suppress(EcmError):
            ask(sketch, rng)
    print(f"{tried:,} broken bytes: {refused:,} refused, {read:,} made a sketch")


def ask(sketch, rng: np.random.Generator) -> None:
    """Questions, arrivals, a merge, and bytes again."""
    if sketch.now is not None:
        window = sketch.config.window
        last = int(rng.integers(1, min(window, 2**40) + 1))
        sketch.total(last=last)
        if isinstance(sketch, ecm.EcmSketch):
            sketch.estimate_many(np.arange(20), last=last)
            sketch.history(3, -(-window // 5))
            if sketch.config.heavy_hitters:
                sketch.top(3, last=last)
    again = type(sketch).deserialize(sketch.serialize())
    assert again == sketch
    if rng.random() < 0.3 and sketch.config.model == "time":
        ecm.merge([sketch, again]) if sketch.config.counter != "rw" else None
        again.update_many(np.arange(10), np.full(10, (sketch.now or 0) + 1))


main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0, int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time()))
