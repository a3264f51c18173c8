"""Bytes of slices from outside: refused with a FormatError, or a sketch that writes the very same bytes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.errors import FormatError
from hand_written import sealed
from streams import zipf_items


def sketches():
    rng = np.random.default_rng(0)
    config = ecm.SketchConfig(epsilon=0.5, delta=0.3, window=900, counter="slices", late="side")
    few, many = ecm.EcmSketch(config), ecm.EcmSketch(config)
    few.update_many([1, 2, 3], [5, 6, 9], [1, 7, 1])
    many.update_many(zipf_items(3000, 50, rng), np.sort(rng.integers(0, 1200, 3000)))
    many.update_many(zipf_items(300, 50, rng), rng.integers(700, 1150, 300), rng.integers(1, 9, 300))
    numbers = ecm.PrefixSketch(config, bits=6)
    numbers.update_many(rng.integers(0, 64, 2000), np.arange(2000))
    counted = ecm.EcmSketch(config.replace(model="count"))
    counted.update_many(zipf_items(900, 50, rng), weights=rng.integers(1, 4, 900))
    return [few, many, numbers, counted, ecm.merge([few, many])]


SKETCHES = sketches()
BYTES = [(type(sketch), sketch.serialize()) for sketch in SKETCHES]


def accepted(kind, data: bytes) -> bool:
    """Whether bytes are a sketch; if so, one that can be used and writes them again."""
    try:
        sketch = kind.deserialize(data)
    except FormatError:
        return False
    assert sketch.serialize() == data
    if sketch.now is not None:
        assert sketch.estimate(1).lower <= sketch.estimate(1).upper
        assert sketch.total(last=5).lower <= sketch.total(last=5).upper
    return True


def mutated(data: bytes, rng) -> bytes:
    """Some bytes changed, left out, doubled or put in; the checksum fits."""
    body = bytearray(data[:-8])
    for _ in range(int(rng.choice([1, 1, 2, 5]))):
        at = int(rng.integers(6, len(body)))
        what = int(rng.integers(0, 5))
        if what == 0:
            body[at] ^= 1 << int(rng.integers(0, 8))
        elif what == 1:
            body[at] = int(rng.choice([0, 1, 127, 128, 255, int(rng.integers(0, 256))]))
        elif what == 2:
            del body[at : at + int(rng.integers(1, 4))]
        elif what == 3:
            body[at:at] = rng.bytes(int(rng.integers(1, 4)))
        else:
            other = int(rng.integers(6, len(body)))
            body[at : at + 8] = body[other : other + 8]
    return sealed(bytes(body))


@pytest.mark.parametrize("place", range(len(BYTES)))
def test_what_was_written_is_read(place):
    kind, data = BYTES[place]
    assert accepted(kind, data)
    assert sum(sketch._flushed().counters.slice_count > 0 for sketch in SKETCHES) >= 3


@given(st.integers(0, len(BYTES) - 1), st.integers(0, 2**63))
@settings(max_examples=400)
def test_changed_bytes(place, seed):
    kind, data = BYTES[place]
    accepted(kind, mutated(data, np.random.default_rng(seed)))


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(BYTES)))
def test_changed_bytes_at_length(place):
    kind, data = BYTES[place]
    outcomes = [accepted(kind, mutated(data, np.random.default_rng([place, seed]))) for seed in range(20_000)]
    assert not all(outcomes)


@pytest.mark.parametrize("place", range(len(BYTES)))
def test_cut_bytes(place):
    kind, data = BYTES[place]
    body = data[:-8]
    for length in {*range(6, min(len(body), 120)), *range(len(body) - 40, len(body))}:
        assert not accepted(kind, sealed(body[:length]))
    assert not accepted(kind, sealed(body + b"\0"))


def test_reading_takes_little_memory():
    kind, data = BYTES[1]
    kind.deserialize(data)
    rng = np.random.default_rng(3)
    tracemalloc.start()
    for _ in range(300):
        accepted(kind, mutated(data, rng))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= 200 * len(data) + 2**20
