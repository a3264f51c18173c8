"""Numbers of keys, rows by group, and counts in cells: kernels against plain Python."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecmsketch.kernels import memory
from ecmsketch.kernels.count_min import count_items, count_items_plainly
from ecmsketch.kernels.grouping import Numbering, add_counts, find_last, order_runs, scatter
from ecmsketch.kernels.hashing import GOLDEN, cells_of, row_hashes
from ecmsketch.kernels.text import utf8_many

VALUES = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5), max_size=80)
COLLIDING = [n * pow(GOLDEN, -1, 2**64) % 2**64 for n in range(60)]
"""All of them begin in one slot of a small table."""


def array(values, dtype=np.int64):
    return np.array(values, dtype)


@given(st.lists(VALUES, max_size=4))
def test_numbers_are_given_in_order_of_appearance(columns):
    numbering = Numbering(400)
    expected = {}
    for column in columns:
        for value in column:
            expected.setdefault(value, len(expected))
        assert numbering.number(array(column)).tolist() == [expected[value] for value in column]
    assert numbering.known().tolist() == list(expected)


def test_numbers_run_out():
    numbering = Numbering(3)
    assert numbering.number(array([7, 8, 7, 9])).tolist() == [0, 1, 0, 2]
    assert numbering.number(array([7, 10])) is None
    assert numbering.known().tolist() == [7, 8, 9]
    memory.fail_after(0)
    try:
        with pytest.raises(MemoryError):
            Numbering(3)
    finally:
        memory.fail_after(-1)


def test_keys_that_are_made_to_collide_are_told_apart():
    keys = array(COLLIDING, np.uint64)
    assert Numbering(60).number(keys.view(np.int64)).tolist() == list(range(60))
    assert find_last(keys, np.tile(keys, 2)).tolist() == list(range(60, 120))


@given(st.lists(st.integers(0, 30), max_size=200), st.sets(st.integers(0, 40), max_size=10))
def test_last_places(given_keys, wanted):
    last = {key: place for place, key in enumerate(given_keys)}
    found = find_last(array(sorted(wanted), np.uint64), array(given_keys, np.uint64))
    assert found.tolist() == [last.get(key, -1) for key in sorted(wanted)]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-9, 9)), max_size=100))
def test_rows_are_put_together_by_group(rows):
    codes = array([code for code, _ in rows], np.int32)
    counts = np.zeros(6, np.int64)
    add_counts(codes, counts)
    assert counts.tolist() == [Counter(codes.tolist())[group] for group in range(6)]
    values, numbers = array([value for _, value in rows]), np.arange(len(rows))
    at, out = np.cumsum(counts) - counts, (np.empty(len(rows), np.int64), np.empty(len(rows), np.int64))
    scatter((values, numbers), codes, at, out)
    order = np.argsort(codes, kind="stable")
    assert out[1].tolist() == order.tolist()
    assert out[0].tolist() == values[order].tolist()
    assert at.tolist() == np.cumsum(counts).tolist()


@given(st.lists(st.lists(st.integers(-9, 9), max_size=30), max_size=6))
def test_runs_are_sorted_one_by_one(runs):
    ticks = array([tick for run in runs for tick in run])
    begins = np.concatenate([[0], np.cumsum([len(run) for run in runs])]).astype(np.int64)
    order, given_ticks = np.arange(len(ticks)), ticks.copy()
    order_runs(ticks, order, begins)
    assert ticks.tolist() == [tick for run in runs for tick in sorted(run)]
    assert given_ticks[order].tolist() == ticks.tolist()
    for begin, end in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True):
        places = order[begin:end]
        same = np.diff(ticks[begin:end]) == 0
        assert (np.diff(places)[same] > 0).all()


def test_what_would_be_out_of_bounds_is_refused():
    codes, counts = array([0, 3], np.int32), np.zeros(3, np.int64)
    with pytest.raises(ValueError, match="groups"):
        add_counts(codes, counts)
    with pytest.raises(ValueError, match="groups"):
        add_counts(array([-1], np.int32), counts)
    out = (np.empty(2, np.int64), np.empty(2, np.int64))
    with pytest.raises(ValueError, match="places"):
        scatter((np.zeros(2, np.int64), np.zeros(2, np.int64)), array([0, 0], np.int32), array([1]), out)
    with pytest.raises(ValueError, match="every code"):
        scatter((np.zeros(1, np.int64), np.zeros(2, np.int64)), array([0, 0], np.int32), array([0]), out)
    for begins in ([0, 4], [-1, 2], [0, 3, 1]):
        with pytest.raises(ValueError, match="begins"):
            order_runs(np.zeros(3, np.int64), np.zeros(3, np.int64), array(begins))
    with pytest.raises(ValueError, match="cells"):
        count_items(np.zeros(1, np.uint64), row_hashes(0, 2, 10), np.zeros(19, np.int64))


@pytest.mark.parametrize(("width", "depth", "items"), [(7, 1, 10), (300, 4, 10_000), (1, 3, 50)])
def test_items_are_counted_in_their_cells(width, depth, items):
    keys = np.random.default_rng(0).integers(0, 2**64, items, np.uint64)
    rows = row_hashes(5, depth, width)
    expected = np.bincount(cells_of(keys, rows).ravel(), minlength=width * depth)
    for count in (count_items, count_items_plainly):
        table = np.zeros(width * depth, np.int64)
        count(keys, rows, table)
        assert table.tolist() == expected.tolist()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), min_size=1, max_size=10))
def test_code_points_become_utf8(texts):
    texts = [text.rstrip("\0") for text in texts]
    width = max(max(map(len, texts)), 1)
    points = array([[*map(ord, text), *[0] * (width - len(text))] for text in texts], np.uint32)
    data, ends = utf8_many(points)
    starts = [0, *ends[:-1].tolist()]
    assert [data[a:b].tobytes().decode() for a, b in zip(starts, ends.tolist(), strict=True)] == texts


def test_code_points_that_utf8_cannot_hold():
    for wrong in (0xD800, 0xDFFF, 0x110000, 2**32 - 1):
        assert utf8_many(array([[65, wrong], [65, 66]], np.uint32))[1][-1] == -1
    for right in (0xD7FF, 0xE000, 0x10FFFF):
        assert utf8_many(array([[65, right]], np.uint32))[1][-1] > 0
