"""Numbers as bits, the highest bit of each byte first: what writers and readers of bits share."""

from __future__ import annotations

from typing import Any

from numba import int64, uint8, uint64

from ecmsketch.kernels.decorator import inlined, kernel, leading_zeros


@kernel
def bits_of(number: Any) -> Any:
    """How many bits a positive number has."""
    return int64(64) - leading_zeros(uint64(number))


@inlined
def put_bits(out: Any, at: Any, held: Any, filled: Any, number: Any, bits: Any) -> Any:
    """Write a number in at most 56 bits: (bytes written, bits held for the next byte, how many these are)."""
    held, filled = (held << uint64(bits)) | number, filled + bits
    while filled >= int64(8):
        filled -= int64(8)
        out[at] = uint8((held >> uint64(filled)) & uint64(255))
        at += int64(1)
    return at, held & ((uint64(1) << uint64(filled)) - uint64(1)), filled


@inlined
def refill(data: Any, at: Any, end: Any, held: Any, filled: Any) -> Any:
    """Hold at least 57 bits, if there are as many: (next byte, bits held from the highest on, how many these are)."""
    while filled <= int64(56) and at < end:
        held |= uint64(data[at]) << uint64(int64(56) - filled)
        at, filled = at + int64(1), filled + int64(8)
    return at, held, filled
