"""Crafted bytes with a right checksum that differ by one from what may be. They are written by docs/format.md."""

from __future__ import annotations

import struct
from math import ceil, e

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch.errors import FormatError
from hand_written import config_bytes, sealed, sketch_bytes, state_bytes, varint
from read_by_hand import (
    Slices,
    coded,
    put_together,
    read_slices,
    slice_of,
    take_varints,
    taken_apart,
    write_slices,
)


def refused(data: bytes, kind=ecm.EcmSketch) -> bool:
    try:
        sketch = kind.deserialize(data)
    except FormatError:
        return True
    assert sketch.serialize() == data
    return False


def test_what_is_read_and_written_by_hand_are_the_same_bytes():
    rng = np.random.default_rng(1)
    for epsilon, weights in ((0.3, None), (0.1, rng.integers(1, 5, 9000))):
        sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=epsilon, delta=0.2, window=10**6, late="side"))
        sketch.update_many(rng.zipf(1.2, 9000) % 500, np.sort(rng.integers(-9000, 5000, 9000)), weights)
        parts = taken_apart(sketch.serialize())
        content = read_slices(parts)
        assert content.slices
        assert write_slices(content, parts.fields["now"]) == parts.counters
        assert put_together(parts) == sketch.serialize()


# Slices: tables of 2 rows x 7 cells, and of 1 row

ROW = [3, 0, 1, 0, 9, 2, 5]


def sliced(cells: list[int], arrivals: int, delta=0.2, more=()) -> bytes:
    width, depth = len(ROW), 2 if delta == 0.2 else 1
    assert ceil(e / 0.4) == width, "epsilon 0.8 is split in halves"
    assert len(cells) == width * depth
    content = Slices([], 0, [], b"", [slice_of(5, 9, arrivals, cells), *more])
    counters = write_slices(content, 9)
    config = config_bytes(epsilon=0.8, delta=delta, counter="slices")
    return sketch_bytes(config, state_bytes(flags=7, now=9, origin=5, kinds=1, sizes=(len(counters),)), b"i" + counters)


@pytest.mark.parametrize("depth", [1, 2])
def test_a_table_counts_each_arrival_once_in_every_row(depth):
    delta, cells = (0.5, ROW) if depth == 1 else (0.2, [*ROW, *ROW[::-1]])
    assert not refused(sliced(cells, sum(ROW), delta))
    assert ecm.EcmSketch.deserialize(sliced(cells, sum(ROW), delta)).total().value == sum(ROW)
    for arrivals in (1, sum(ROW) - 1, sum(ROW) + 1, 2 * sum(ROW)):
        assert refused(sliced(cells, arrivals, delta)), arrivals
    for place in range(len(cells)):
        for by in (-1, 1):
            if cells[place] + by >= 0:
                wrong = [cell + by * (i == place) for i, cell in enumerate(cells)]
                assert refused(sliced(wrong, sum(ROW), delta)), (place, by)
    if depth == 2:
        assert refused(sliced([*[cell + (i == 0) for i, cell in enumerate(ROW)], *ROW], sum(ROW) + 1, delta))


def test_a_real_slice_with_one_arrival_more_or_less():
    rng = np.random.default_rng(3)
    sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.5, delta=0.3, window=10**6))
    sketch.update_many(rng.integers(0, 20, 9000), np.arange(9000))
    parts = taken_apart(sketch.serialize())
    content = read_slices(parts)
    for place in range(len(content.slices)):
        for by in (-1, 1):
            slices = list(content.slices)
            slices[place] = slices[place]._replace(arrivals=slices[place].arrivals + by)
            counters = write_slices(content._replace(slices=slices), parts.fields["now"])
            crafted = put_together(parts._replace(counters=counters))
            if not refused(crafted):  # the differences to another forecast happen to be a table with as many
                assert slices[place].code & 1
                assert ecm.EcmSketch.deserialize(crafted).total().value == sketch.total().value + by


def far_apart(gap: int, what: str, now=9) -> bytes:
    """Events, or the knots of a slice, of which some are so many ticks apart."""
    if what == "event":
        gaps = [gap, gap] + [0] * 30
        items = bytes((0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF)) * 2
        counters = b"".join(map(varint, [len(gaps), 0, 0, 0, *gaps])) + b"\x04" + items
    else:
        parameter, table = coded([*ROW, *ROW])
        numbers = [0, 0, 0, 1, 0, gap, gap, 0, 0, 0, 0, 0, 0, sum(ROW), 2 * parameter, len(table)]
        counters = b"".join(map(varint, numbers)) + table
    config = config_bytes(epsilon=0.8, delta=0.2, counter="slices")
    state = state_bytes(flags=7, now=now, origin=now, kinds=1, sizes=(len(counters),))
    return sketch_bytes(config, state, b"i" + counters)


@pytest.mark.parametrize("what", ["event", "slice"])
def test_ticks_do_not_lead_behind_the_first_that_there_is(what):
    assert not refused(far_apart(0, what))
    assert not refused(far_apart(20, what))
    for gap in (2**61, 2**62, 2**63 - 1):
        assert refused(far_apart(gap, what)), gap


# Late arrivals that are held

NOW, FIRST = 100, 60


def held(ticks: list[int], frontier: int | None, now=NOW, weights=None) -> bytes:
    config = config_bytes(epsilon=0.9, delta=0.5, window=50, counter="eh", late="side")
    settled_until = 0 if frontier is None else now - frontier + 1
    late = (settled_until, len(ticks), 0, len(ticks))
    state = state_bytes(flags=1 | 2 | 32, now=now, origin=FIRST, late=late, kinds=1)
    columns = [*ticks], [7] * len(ticks), weights or [1] * len(ticks)
    content = b"".join(struct.pack(f"<{len(column)}q", *column) for column in columns)
    return sketch_bytes(config, state, b"i" + content)


def test_a_held_arrival_on_the_settled_frontier_should_be_settled():
    assert not refused(held([81, 82], 80))
    assert not refused(held([81, 82], None))
    assert refused(held([80, 82], 80))
    assert refused(held([79, 82], 80))


def test_held_arrivals_are_sorted_and_not_after_the_clock():
    assert not refused(held([81, 81, 100], 80))
    assert refused(held([81, 101], 80))
    assert refused(held([82, 81], 80))
    assert refused(held([81], 80, weights=[0]))
    assert not refused(held([81], 80, weights=[2**53]))
    assert refused(held([81], 80, weights=[2**53 + 2]))
    assert refused(held([81, 82], 80, weights=[2**53, 2]))


# Frequent items: a bucket with too many names, or with more error than it may have


def frequent(error_by=0, extra_name=False) -> bytes:
    """A sketch of two names, of which a summary is changed."""
    epsilon = 0.5
    size = ceil(1.25 / epsilon)
    config = ecm.SketchConfig(epsilon=epsilon, delta=0.5, window=10**6, heavy_hitters=True, counter="eh")
    sketch = ecm.EcmSketch(config)
    sketch.update_many(np.arange(4000) % size, np.arange(4000))
    parts = taken_apart(sketch.serialize())
    rest, flags = parts.rest, parts.rest[0]
    first, second, names = struct.unpack_from("<QQQ", rest, 1)
    (rounds, waiting, weighted, buckets, entries), at = take_varints(rest, 25, 5)
    numbers, at = take_varints(rest, at, waiting + 5 * buckets + entries)
    tail = rest[at : 25 + first]
    assert (flags, weighted, second) == (1, 0, 0)
    assert entries == size * buckets
    assert tail[0] <= 64, "a few small numbers are written as they are"
    arrivals = numbers[waiting + 2 * buckets : waiting + 3 * buckets]
    if error_by is not None:
        numbers[waiting + 3 * buckets] = arrivals[0] // (size + 1) + error_by
    if extra_name:
        numbers[waiting + 4 * buckets] += 1
        numbers.insert(waiting + 5 * buckets, 1)
        entries += 1
        bits = "".join(f"{byte:08b}" for byte in tail[1:])
        keys = [int(bits[i : i + tail[0]], 2) for i in range(0, (waiting + entries - 1) * tail[0], tail[0])]
        keys.insert(waiting, 0)
        bits = "".join(f"{key:0{tail[0]}b}" for key in keys)
        tail = tail[:1] + int(bits.ljust(-(-len(bits) // 8) * 8, "0"), 2).to_bytes(-(-len(bits) // 8), "big")
    part = b"".join(map(varint, [rounds, waiting, weighted, buckets, entries, *numbers])) + tail
    return put_together(
        parts._replace(rest=bytes((1,)) + struct.pack("<QQQ", len(part), second, names) + part + rest[25 + first :])
    )


def test_a_summary_names_no_more_and_errs_by_no_more_than_it_may():
    assert not refused(frequent(None))
    assert not refused(frequent(0))
    assert refused(frequent(1))
    assert refused(frequent(0, extra_name=True))


def test_a_changed_bit_without_its_checksum_is_refused():
    data = held([81, 82], 80)
    assert refused(data[:-1] + bytes((data[-1] ^ 1,)))
    assert refused(sealed(data[:-8])[:-8])
