"""Bytes <-> events and slices (docs/format.md). Bytes from outside are never trusted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64
from numpy.typing import NDArray

from ecmsketch.counters.contract import MAX_ARRIVALS, Ints
from ecmsketch.errors import FormatError
from ecmsketch.inputs.ticks import MIN_TICK
from ecmsketch.kernels import kernel
from ecmsketch.kernels.packed_numbers import packed, unpacked
from ecmsketch.kernels.varint import get_varints, put_varints
from ecmsketch.slices.centring import Blocks
from ecmsketch.slices.recent_events import RecentEvents, no_events
from ecmsketch.slices.table_bits import MOST_PARAMETER, best_parameter, get_table, put_table
from ecmsketch.slices.table_forecast import add_differences, differs_little, learn, no_past, take_differences
from ecmsketch.slices.table_planes import add_slice, stored
from ecmsketch.slices.table_pool import (
    ARRIVALS,
    FACTS,
    FIRST,
    KNOT,
    LAST,
    PARTS,
    SLICES,
    TABLE,
    TablePool,
    new_pool,
    with_space,
)

_HEADER = 4
"""Numbers at the beginning: events, events since the last block, whether there are weights, slices."""
_FACTS = TABLE + 2
"""Numbers of a slice: its facts, how its table is written (twice the parameter of the code, and 1 if it is written as
differences), and the bytes of that.
"""


class Contents(NamedTuple):
    """What the bytes of slices hold."""

    fresh: int
    events: RecentEvents
    pool: TablePool


def encode(contents: Contents, now: int, window: int, cells: int) -> bytes:
    """Events and slices inside the window at `now`, as bytes."""
    fresh, events, pool = contents
    inside = events.ticks > now - window
    if not inside.all():
        items, ticks, weights = events.items[inside], events.ticks[inside], events.explicit_weights()[inside]
        events = RecentEvents.of(items, ticks, weights)
    ticks = events.ticks
    numbers = [len(events), fresh, int(len(events.weights) > 0)]
    gaps = np.diff(ticks[::-1], prepend=now) * -1  # newest first, each by its distance to the one after it
    tables, facts = _encode_slices(pool, now, window, cells)
    columns = [np.array([*numbers, len(facts)]), gaps, events.weights, facts.ravel()]
    head = put_varints(np.concatenate(columns).astype(np.int64))
    items_bytes = packed(events.items).tobytes() if len(events) else b""
    return b"".join([head, items_bytes, tables])


def _encode_slices(pool: TablePool, now: int, window: int, cells: int) -> tuple[bytes, Ints]:
    """The tables of the slices inside the window, one after the other, and the numbers of each slice."""
    slots = np.arange(pool.used[SLICES])
    slots = slots[pool.facts[: len(slots), LAST] > now - window]
    facts = np.empty((len(slots), _FACTS), np.int64)
    known = pool.facts[slots]
    ticks = np.column_stack([known[:, FIRST], known[:, KNOT:TABLE], known[:, LAST]])
    facts[:, 0] = now - known[:, LAST]
    facts[:, 1 : PARTS + 1] = np.diff(ticks, axis=1)[:, ::-1]
    facts[:, PARTS + 1] = known[:, ARRIVALS]
    tables: NDArray[np.uint8] = _write_tables(pool, slots, cells, facts[:, PARTS + 2 :])
    return tables.tobytes(), facts


@kernel
def _write_tables(pool: Any, slots: Any, cells: Any, codes: Any) -> Any:
    """The tables of slices as bytes. How each is written, and in how many bytes, goes into `codes`."""
    out, used = np.empty(int64(64) + slots.shape[0] * (cells // int64(2)), np.uint8), int64(0)
    past = no_past(cells)
    for i in range(slots.shape[0]):
        how, table = _write_table(pool, slots[i], past)
        size = table.shape[0]
        if used + size > out.shape[0]:
            larger = np.empty(int64(2) * (used + size), np.uint8)
            larger[:used] = out[:used]
            out = larger
        out[used : used + size] = table
        used += size
        codes[i, 0], codes[i, 1] = how, size
    return out[:used]


@kernel
def _write_table(pool: Any, slot: Any, past: Any) -> Any:
    """(How the table of a slice is written, its bytes), judged by the slices before it; it becomes one of them."""
    table = np.zeros(past.shape[0] - 1, np.int64)
    add_slice(pool, slot, table)
    arrivals = pool.facts[slot, ARRIVALS]
    differs = differs_little(table, arrivals, past)
    numbers = take_differences(table, arrivals, past) if differs else table
    learn(table, arrivals, past)
    parameter, bits = best_parameter(numbers)
    return int64(2) * parameter + int64(differs), put_table(numbers, parameter, bits)


def decode(data: NDArray[np.uint8], now: int, window: int, block: int, cells: int, blocks: Blocks) -> Contents:
    """What `encode` wrote, or a FormatError. Each event takes a byte at least and each cell a bit: data bounds them."""
    header, at = get_varints(data, 0, _HEADER)
    if at < 0:
        raise FormatError("slices: their header is missing; the data is truncated")
    count, fresh, weighted, slices = header.tolist()
    if fresh >= block or weighted > min(count, 1) or count > len(data) or slices * cells > 8 * len(data):
        raise FormatError(f"slices: {count} events and {slices} slices do not fit into {len(data)} bytes")
    gaps, at = get_varints(data, at, count)
    weights, at = get_varints(data, at, count * weighted) if at >= 0 else (gaps, -1)
    facts, at = get_varints(data, at, slices * _FACTS) if at >= 0 else (gaps, -1)
    items, at = unpacked(data, at, count) if at >= 0 and count else (np.empty(0, np.uint64), at)
    if at < 0:
        raise FormatError("slices: their numbers are truncated or malformed")
    ticks = _checked_ticks(gaps, now)
    if (count and now - int(ticks[0]) >= window) or (slices and int(facts[::_FACTS].max()) >= window):
        raise FormatError("slices: expected them and all events inside the window")
    total = float(weights.sum(dtype=np.float64)) if weighted else float(count)
    if total > 4 * MAX_ARRIVALS or (weighted and (int(weights.min()) < 1 or int(weights.max()) == 1)):
        raise FormatError("slices: expected events with positive weights, not all of them one")
    events = RecentEvents.of(items, ticks, weights) if count else no_events()
    pool = _decode_slices(data, at, facts.reshape(slices, _FACTS), now, cells, blocks)
    return Contents(fresh, events, pool)


def _checked_ticks(gaps: Ints, now: int) -> Ints:
    if float(gaps.sum(dtype=np.float64)) > 2.0**63 or (len(gaps) and now - int(gaps.sum()) < MIN_TICK):
        raise FormatError("slices: expected events after the first tick that there is")
    ticks: Ints = (now - np.cumsum(gaps))[::-1]
    return np.ascontiguousarray(ticks)


def _decode_slices(data: NDArray[np.uint8], at: int, numbers: Ints, now: int, cells: int, blocks: Blocks) -> TablePool:
    pool = new_pool(cells)
    if not len(numbers):
        if at != len(data):
            raise FormatError("slices: there are bytes after the last of them")
        return pool
    arrivals, codes = numbers[:, PARTS + 1], numbers[:, PARTS + 2 :]
    spans = numbers[:, : PARTS + 1].astype(np.float64).sum(axis=1)
    if spans.max() > 2.0**62 or now - spans.max() < MIN_TICK or arrivals.astype(np.float64).sum() > 2.0**55:
        raise FormatError("slices: expected ticks from -2**61 to 2**62, and at most 2**55 arrivals")
    used = float(codes[:, 1].astype(np.float64).sum())
    if arrivals.min() < 1 or codes[:, 0].max() > 2 * MOST_PARAMETER + 1 or used != len(data) - at:
        raise FormatError("slices: expected arrivals in each, and tables that fill the bytes")
    facts = np.zeros((len(numbers), FACTS), np.int64)
    facts[:, LAST] = now - numbers[:, 0]
    back = facts[:, LAST, None] - np.cumsum(numbers[:, 1 : PARTS + 1], axis=1)
    facts[:, KNOT:TABLE], facts[:, FIRST] = back[:, -2::-1], back[:, -1]
    facts[:, ARRIVALS] = arrivals
    if (np.diff(facts[:, LAST]) < 0).any():
        raise FormatError("slices: expected them in order of their last ticks")
    read_pool: tuple[TablePool, int] = _read_tables(pool, data, at, facts, codes.copy(), blocks)
    pool, read = read_pool
    if read < len(numbers):
        raise FormatError(f"slices: the table of slice {read} is malformed")
    return pool


@kernel
def _read_tables(pool: Any, data: Any, at: Any, facts: Any, numbers: Any, blocks: Any) -> Any:
    """(Slices with their tables, how many were read before one was wrong)."""
    pool = with_space(pool, facts.shape[0], int64(0), int64(0))
    cells = int64(0)
    for block in range(blocks.first.shape[0]):
        cells += blocks.rows[block] * blocks.width[block]
    table, past = np.empty(cells, np.int64), no_past(cells)
    for slot in range(facts.shape[0]):
        end, arrivals = at + numbers[slot, 1], facts[slot, ARRIVALS]
        if not _read_table(data, at, end, numbers[slot, 0], arrivals, past, table):
            return pool, int64(slot)
        if not _adds_up(table, arrivals, blocks):
            return pool, int64(slot)
        if differs_little(table, arrivals, past) != (numbers[slot, 0] & int64(1) == int64(1)):
            return pool, int64(slot)
        learn(table, arrivals, past)
        pool.facts[slot] = facts[slot]
        pool.used[SLICES] = slot + int64(1)
        pool = stored(pool, slot, table)
        at = end
    return pool, facts.shape[0]


@kernel
def _read_table(data: Any, at: Any, end: Any, how: Any, arrivals: Any, past: Any, table: Any) -> Any:
    """Whether the bytes at .. end - 1 are those of a table, with the parameter that makes them fewest."""
    parameter = how >> int64(1)
    if get_table(data, at, end, parameter, table) != end or best_parameter(table)[0] != parameter:
        return False
    if how & int64(1):
        return add_differences(table.copy(), arrivals, past, table)
    return True


@kernel
def _adds_up(table: Any, arrivals: Any, blocks: Any) -> Any:
    """Whether every row has counted every arrival once."""
    for block in range(blocks.first.shape[0]):
        at = blocks.first[block]
        for _ in range(blocks.rows[block]):
            counted = int64(0)
            for j in range(at, at + blocks.width[block]):
                counted += table[j]
                if counted > arrivals:
                    return False
            if counted != arrivals:
                return False
            at += blocks.width[block]
    return True
