"""The slices section of a sketch, written from docs/format.md in plain Python: the code is not asked."""

from __future__ import annotations

import math

import numpy as np

from ecmsketch.kernels.packing import packed


def varint(number: int) -> bytes:
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes((*out, number))


def bits_of_number(number: int, parameter: int) -> str:
    q = (number >> parameter) + 1
    low = format(number & ((1 << parameter) - 1), f"0{parameter}b") if parameter else ""
    return "0" * (q.bit_length() - 1) + format(q, "b") + low


def coded(numbers: list[int], parameter: int) -> bytes:
    bits = "".join(bits_of_number(number, parameter) for number in numbers)
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big") if bits else b""


def parameter_of(numbers: list[int]) -> int:
    middle = max(sum(numbers) // len(numbers), 1).bit_length()
    tried = range(max(middle - 6, 0), min(middle + 3, 53) + 1)
    return min(tried, key=lambda p: (sum(len(bits_of_number(number, p)) for number in numbers), p))


class Forecasts:
    """What is known from slices: sums of tables and of arrivals, each counted half as much as the next."""

    def __init__(self, cells: int) -> None:
        self.sums, self.arrivals = [0.0] * cells, 0.0

    def write(self, table: list[int], arrivals: int) -> tuple[bool, list[int]]:
        """Whether differences are written, and the numbers that are written."""
        written, differs = table, False
        if self.arrivals and arrivals <= 2**50:
            scale = arrivals / self.arrivals
            off = [cell - math.floor(known * scale + 0.5) for cell, known in zip(table, self.sums, strict=True)]
            differs = 2 * sum(map(abs, off)) < sum(table)
            written = [2 * d if d >= 0 else -2 * d - 1 for d in off] if differs else table
        self.sums = [known * 0.5 + cell for known, cell in zip(self.sums, table, strict=True)]
        self.arrivals = self.arrivals * 0.5 + arrivals
        return differs, written


def tables_of(rows: list[tuple[list[int], int]]) -> list[tuple[int, bytes]]:
    """(2p + f, bytes) of each table; rows are (cells, arrivals)."""
    if not rows:
        return []
    known, found = Forecasts(len(rows[0][0])), []
    for table, arrivals in rows:
        differs, numbers = known.write(table, arrivals)
        parameter = parameter_of(numbers)
        found.append((2 * parameter + differs, coded(numbers, parameter)))
    return found


def section(now, keys=(), ticks=(), weights=None, fresh=0, slices=(), codes=None) -> bytes:
    """Slices are (first, last, arrivals, knots, cells); `codes` replaces how their tables are written."""
    ticks, gaps, before = list(ticks), [], now
    for tick in reversed(ticks):
        gaps.append(before - tick)
        before = tick
    codes = tables_of([(list(cells), arrivals) for *_, arrivals, _, cells in slices]) if codes is None else codes
    numbers = [len(ticks), fresh, int(weights is not None), len(slices), *gaps, *(weights or ())]
    for (first, last, arrivals, knots, _), (how, data) in zip(slices, codes, strict=True):
        marks = [first, *knots, last]
        numbers += [now - last, *(marks[i + 1] - marks[i] for i in range(7, -1, -1)), arrivals, how, len(data)]
    items = packed(np.array(keys, np.uint64)).tobytes() if len(ticks) else b""
    return b"".join([*map(varint, numbers), items, *(data for _, data in codes)])
