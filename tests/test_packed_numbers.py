"""Numbers as bytes: what was packed is read again, in one encoding, and never in more bytes than plainly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecmsketch.kernels.packing import packed, unpacked

LARGE = st.integers(0, 2**64 - 1)
NUMBERS = st.one_of(
    st.lists(LARGE, max_size=80),
    st.lists(st.integers(0, 300), max_size=80),
    st.lists(st.sampled_from([0, 5, 2**32, 2**63, 2**64 - 1]), max_size=200),
    st.builds(lambda start, count: list(range(start, start + count)), st.integers(0, 2**63), st.integers(0, 200)),
)


def array(numbers):
    return np.array(numbers, np.uint64)


@given(NUMBERS, st.binary(max_size=9), st.binary(max_size=9))
def test_what_was_packed_is_read(numbers, before, after):
    data = packed(array(numbers))
    everything = np.frombuffer(before + data.tobytes() + after, np.uint8)
    found, end = unpacked(everything, len(before), len(numbers))
    assert found.tolist() == numbers
    assert end == len(before) + len(data)
    bits = max((number.bit_length() for number in numbers), default=0)
    assert len(data) <= 1 + -(-len(numbers) * bits // 8)


@given(NUMBERS, st.integers(0, 2**32))
@settings(max_examples=300)
def test_other_bytes_are_refused_or_written_again(numbers, seed):
    rng = np.random.default_rng(seed)
    data = packed(array(numbers)).copy()
    for _ in range(int(rng.integers(1, 4))):
        data[int(rng.integers(0, len(data)))] = rng.choice([0, 1, 64, 65, 66, 255, int(rng.integers(0, 256))])
    data = data[: int(rng.integers(max(len(data) - 3, 0), len(data) + 1))]
    found, end = unpacked(data, 0, len(numbers))
    if end >= 0:
        assert packed(found).tobytes() == data[:end].tobytes()


@pytest.mark.parametrize(
    "data", [b"", b"\x41", b"\x41\x01", b"\x42", b"\xff", b"\x41\x80\x80\x80", b"\x41\x05\x40\x00"]
)
def test_bytes_that_end_too_soon_or_say_too_much(data):
    assert unpacked(np.frombuffer(data, np.uint8), 0, 7)[1] == -1


def test_the_examples_of_the_format():
    assert packed(array([5, 5, 9, 5])).tobytes() == bytes([0x04, 0x55, 0x95])
    assert packed(array([600, 600, 600, 600])).tobytes() == bytes([0x41, 0x01, 0x09, 0x4B, 0x00])
    assert packed(array([])).tobytes() == b"\x00"


def test_sizes():
    rng = np.random.default_rng(3)
    hashes = rng.integers(0, 2**64, 1000, dtype=np.uint64)
    assert len(packed(np.arange(1000).astype(np.uint64))) <= 1 + 1250
    assert len(packed(hashes)) == 1 + 8000
    assert len(packed(np.repeat(hashes[:100], 50))) <= 100 * 8 + 5000 * 7 / 8  # each once, and places of seven bits
    assert len(packed(np.full(5000, hashes[0]))) <= 12


def test_a_gap_beyond_64_bits_is_refused():
    head = bytes([0x41, 0x01, 0x3F])  # one number, by place; its low 63 bits are written as they are
    good, wrong = head + b"\x40" + bytes(8), head + b"\x10" + bytes(8)
    assert packed(array([2**63] * 7)).tobytes() == good
    assert unpacked(np.frombuffer(good, np.uint8), 0, 7)[1] == len(good)
    assert unpacked(np.frombuffer(wrong, np.uint8), 0, 7)[1] == -1
