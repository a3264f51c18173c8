"""The bytes of a vector: whole numbers in as few bytes as they need, zeros left out where that is shorter.

A vector of whole numbers has a layout, which says where the numbers are (all of them, or those that are not 0, by gaps
or by a bit for each place), and a packing, which says how (varints, or so many bits each). The shortest is taken.
"""

from __future__ import annotations

from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config.sketch_config import MAX_CELLS
from ecmsketch.errors import FormatError
from ecmsketch.kernels.packing import put_varints

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_WHOLE = 2.0**53
MAX_DIMENSIONS = 3
MAX_SPARSE = 2**22
"""Entries of a vector whose zeros are left out: few bytes must not ask for much memory."""
_FLOATS, _ALL, _GAPS, _BITS = 0, 1, 2, 3
"""Layouts. A packing of bits adds _PACKED to that of whole numbers."""
_PACKED = 4
_MOST_BITS = 54


class Source(Protocol):
    """Where the bytes come from: `wire.Reader`."""

    def wrong(self, why: str) -> FormatError:
        """What to raise."""

    def take(self, size: int) -> bytes:
        """So many bytes."""

    def number(self, most: int = 0) -> int:
        """A varint."""

    def numbers(self, count: int) -> Ints:
        """So many varints."""


def is_whole(vector: Floats) -> bool:
    """Whether all entries are whole numbers that floats hold exactly."""
    return not vector.size or bool(np.abs(vector).max() < MAX_WHOLE and (vector == np.rint(vector)).all())


def difference(vector: Floats, base: Floats | None) -> Floats | None:
    """What to add to the base to get exactly the vector; None if there is no base, or if numbers are not whole."""
    if base is None or base.shape != vector.shape or not is_whole(vector) or not is_whole(base):
        return None
    found: Floats = vector - base
    return found if is_whole(found) else None


def put_vector(vector: Floats) -> bytes:
    """A vector as bytes: its form and number of dimensions in one, its shape, and its entries."""
    shape = b"".join(_put_number(length) for length in vector.shape)
    flat = vector.ravel()
    if not is_whole(flat):
        form, entries = _FLOATS, flat.astype("<f8").tobytes()
    else:
        form, entries = _put_whole(flat.astype(np.int64))
    return bytes((form << 2 | vector.ndim,)) + shape + entries


def read_vector(source: Source) -> Floats:
    """The vector that `put_vector` wrote."""
    head = source.take(1)[0]
    form, dimensions = head >> 2, head & 3
    shape = tuple(source.number(MAX_CELLS) for _ in range(dimensions))
    size = prod(shape)
    if form == _FLOATS:
        vector = np.frombuffer(source.take(8 * size), "<f8").astype(np.float64)
        if not np.isfinite(vector).all():
            raise source.wrong("a vector has entries that are not finite")
        return vector.reshape(shape)
    if form not in (_ALL, _GAPS, _BITS, _PACKED | _ALL, _PACKED | _GAPS, _PACKED | _BITS):
        raise source.wrong(f"a vector of unknown form {form}")
    if form != _ALL and size > MAX_SPARSE:
        raise source.wrong(f"a vector of {size} numbers, expected at most {MAX_SPARSE} with zeros left out")
    places = _read_places(source, form & 3, size)
    count = size if places is None else len(places)
    folded = _read_bits(source, count) if form & _PACKED else source.numbers(count)
    entries = ((folded >> 1) ^ -(folded & 1)).astype(np.float64)
    if places is None:
        return entries.reshape(shape)
    vector = np.zeros(size)
    vector[places] = entries
    return vector.reshape(shape)


def _put_whole(whole: Ints) -> tuple[int, bytes]:
    """The shortest form of whole numbers, and the bytes of it."""
    folded = (whole << 1) ^ (whole >> 63)
    (places,) = np.nonzero(whole)
    some, gaps = folded[places], np.diff(places, prepend=-1)
    options = [(_entry_size(folded), _ALL)]
    if len(whole) <= MAX_SPARSE:
        entries = _entry_size(some)
        options.append((_varint_size(gaps) + 1 + entries, _GAPS))
        options.append((-(-len(whole) // 8) + entries, _BITS))
    _, layout = min(options)
    if layout == _ALL:
        where, numbers = b"", folded
    elif layout == _GAPS:
        where, numbers = _put_number(len(places)) + put_varints(gaps), some
    else:
        where, numbers = np.packbits(whole != 0, bitorder="little").tobytes(), some
    if len(whole) <= MAX_SPARSE and _bits_size(numbers) < _varint_size(numbers):
        return _PACKED | layout, where + _put_bits(numbers)
    return layout, where + put_varints(numbers)


def _read_places(source: Source, layout: int, size: int) -> Ints | None:
    """Where the entries are that are not 0; None for everywhere."""
    if layout == _ALL:
        return None
    if layout == _BITS:
        bits = np.unpackbits(np.frombuffer(source.take(-(-size // 8)), np.uint8), bitorder="little")
        places = np.flatnonzero(bits).astype(np.int64)
    else:
        places = np.cumsum(source.numbers(source.number(size))) - 1
    if ((places < 0) | (places >= size)).any() or (np.diff(places) < 1).any():
        raise source.wrong("a vector has entries outside of it, or twice")
    return places


def _put_bits(numbers: Ints) -> bytes:
    """How many bits each number has, and these, lowest first."""
    width = int(numbers.max(initial=0)).bit_length()
    bits = (numbers[:, None] >> np.arange(width)) & 1
    return bytes((width,)) + np.packbits(bits.astype(np.uint8).ravel(), bitorder="little").tobytes()


def _read_bits(source: Source, count: int) -> Ints:
    width = source.take(1)[0]
    if width > _MOST_BITS:
        raise source.wrong(f"numbers of {width} bits, expected at most {_MOST_BITS}")
    packed = np.frombuffer(source.take(-(-count * width // 8)), np.uint8)
    bits = np.unpackbits(packed, bitorder="little")[: count * width].reshape(count, width).astype(np.int64)
    numbers: Ints = (bits << np.arange(width)).sum(axis=1)
    return numbers


def _entry_size(numbers: Ints) -> int:
    return min(_bits_size(numbers), _varint_size(numbers))


def _bits_size(numbers: Ints) -> int:
    return 1 - (-len(numbers) * int(numbers.max(initial=0)).bit_length() // 8)


def _varint_size(numbers: Ints) -> int:
    size = len(numbers)
    for bits in range(7, 63, 7):
        more = int((numbers >> bits > 0).sum())
        if not more:
            break
        size += more
    return size


def _put_number(number: int) -> bytes:
    return put_varints(np.array([number], np.int64))
