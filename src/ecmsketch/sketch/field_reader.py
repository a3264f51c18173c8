"""Reads the numbers of a header from bytes that nobody vouches for."""

from __future__ import annotations

import struct

from ecmsketch.errors import FormatError
from ecmsketch.kernels.varint import get_scalar

_FLOAT = struct.Struct("<d")
_WORD = struct.Struct("<Q")


class FieldReader:
    """Takes bytes apart, in order; what is missing or not as it should be is a FormatError."""

    __slots__ = ("_data", "_what", "at")

    def __init__(self, data: bytes, at: int, what: str) -> None:
        self._data, self.at, self._what = data, at, what

    def number(self, most: int = 2**64 - 1) -> int:
        """A varint."""
        number, after = get_scalar(self._data, self.at)
        if after < 0:
            raise FormatError(
                f"{self._what}: a number ends early or has redundant bytes; the data is truncated or damaged"
            )
        if number > most:
            raise FormatError(f"{self._what}: expected a number up to {most:,}, got {number:,}")
        self.at = after
        return number

    def present(self, is_present: bool, absent: int, most: int = 2**64 - 1) -> int:
        """A varint that is there only if it differs from `absent`."""
        if not is_present:
            return absent
        number = self.number(most)
        if number == absent:
            raise FormatError(f"{self._what}: it has a number {absent}, which is never written")
        return number

    def signed(self) -> int:
        """A varint of either sign."""
        number = self.number()
        return number >> 1 if not number & 1 else -(number >> 1) - 1

    def float(self) -> float:
        """A float of eight bytes."""
        number: float = _FLOAT.unpack(self.take(8))[0]
        return number

    def word(self) -> int:
        """An unsigned integer of eight bytes."""
        number: int = _WORD.unpack(self.take(8))[0]
        return number

    def byte(self) -> int:
        """A number of one byte."""
        return self.take(1)[0]

    def take(self, size: int) -> bytes:
        """The next bytes."""
        taken = self._data[self.at : self.at + size]
        if len(taken) != size:
            raise FormatError(f"{self._what}: expected {size} more bytes, got {len(taken)}; the data is truncated")
        self.at += size
        return taken


def zigzag(number: int) -> int:
    """A number of either sign as one that is not negative: 0, -1, 1, -2, ... become 0, 1, 2, 3, ..."""
    return number << 1 if number >= 0 else (~number << 1) | 1
