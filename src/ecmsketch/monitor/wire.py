"""Bytes of messages and of states: an envelope with a checksum, and a reader that trusts nothing."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ecmsketch.errors import FormatError
from ecmsketch.kernels.packing import MAX_SCALAR_BYTES, get_varints
from ecmsketch.monitor.functions import Vector
from ecmsketch.monitor.vector_bytes import put_vector as put_vector
from ecmsketch.monitor.vector_bytes import read_vector

MAGIC = 0xE0
"""The upper half of the first byte. The lower half is the version."""
VERSION = 2
_FIRST = b"ECMM"
"""What bytes of version 1 begin with."""
MAX_NAME = 1024
"""Bytes of a site's or a stream's name."""
_HEADER = struct.Struct("<BB")
_CHECKSUM = struct.Struct("<I")
_FLOAT = struct.Struct("<d")


def seal(kind: int, parts: Iterable[bytes]) -> bytes:
    """Parts as one message: header, parts, checksum."""
    body = b"".join([_HEADER.pack(MAGIC | VERSION, kind), *parts])
    return body + _CHECKSUM.pack(crc32(body))


def checksum(sealed: bytes) -> int:
    """The checksum that sealed bytes end with."""
    found: int = _CHECKSUM.unpack(sealed[-_CHECKSUM.size :])[0]
    return found


def put_number(number: int) -> bytes:
    """A number that is not negative."""
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes((*out, number))


def put_signed(number: int) -> bytes:
    """A number of either sign: 0, -1, 1, -2, ... become 0, 1, 2, 3, ..."""
    return put_number(2 * number if number >= 0 else -2 * number - 1)


def put_float(number: float) -> bytes:
    """A float in eight bytes."""
    return _FLOAT.pack(number)


def put_blob(data: bytes) -> bytes:
    """Bytes after their length."""
    return put_number(len(data)) + data


def put_text(text: str) -> bytes:
    """A name as UTF-8 after its length."""
    return put_blob(text.encode())


class Reader:
    """Takes sealed bytes apart, in order; anything unexpected is a FormatError."""

    def __init__(self, data: Any, what: str) -> None:
        try:
            self._data = bytes(memoryview(data))
        except TypeError as error:
            raise FormatError(f"{what}: expected bytes, got {type(data).__name__}") from error
        self._what, self._at = what, _HEADER.size
        self._end = len(self._data) - _CHECKSUM.size
        if self._data.startswith(_FIRST):
            raise self.wrong(f"version 1 is not read any more, expected {VERSION}; use the same release on all sides")
        if self._end < _HEADER.size or self._data[0] & 0xF0 != MAGIC:
            raise self.wrong(f"expected bytes that begin with {MAGIC | VERSION:#x} and end with a checksum, got others")
        first, self.kind = _HEADER.unpack_from(self._data)
        if first & 0x0F != VERSION:
            raise self.wrong(f"version {first & 0x0F} is unknown, expected {VERSION}")
        if crc32(self._data[: self._end]) != checksum(self._data):
            raise self.wrong("the checksum does not match; the bytes are damaged")
        self.checksum = checksum(self._data)

    def wrong(self, why: str) -> FormatError:
        return FormatError(f"{self._what}: {why}")

    def take(self, size: int) -> bytes:
        if not 0 <= size <= self._end - self._at:
            raise self.wrong(f"it ends where {size} more bytes should be")
        self._at += size
        return self._data[self._at - size : self._at]

    def number(self, most: int = 2**62) -> int:
        number = shift = 0
        for count in range(MAX_SCALAR_BYTES):
            byte = self.take(1)[0]
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                if (byte == 0 and count) or number > most:
                    raise self.wrong(f"a number is not as it should be, at most {most}")
                return number
        raise self.wrong("a number is too long")

    def signed(self) -> int:
        number = self.number(2**63)
        return number // 2 if number % 2 == 0 else -(number + 1) // 2

    def float(self) -> float:
        number: float = _FLOAT.unpack(self.take(_FLOAT.size))[0]
        if number != number:
            raise self.wrong("a value is not a number")
        return number

    def flag(self) -> bool:
        return self.number(1) == 1

    def blob(self) -> bytes:
        return self.take(self.number())

    def text(self) -> str:
        try:
            return self.take(self.number(MAX_NAME)).decode()
        except UnicodeDecodeError as error:
            raise self.wrong("a name is not UTF-8") from error

    def vector(self) -> Vector:
        return read_vector(self)

    def numbers(self, count: int) -> NDArray[np.int64]:
        if count > self._end - self._at:
            raise self.wrong(f"{count} numbers do not fit into its bytes")
        numbers: NDArray[np.int64]
        numbers, at = get_varints(np.frombuffer(self._data, np.uint8, self._end), self._at, count)
        if at < 0:
            raise self.wrong("a vector ends early")
        self._at = int(at)
        return numbers

    def done(self) -> None:
        if self._at != self._end:
            raise self.wrong(f"{self._end - self._at} bytes are left over")
