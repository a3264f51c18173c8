"""Tables in planes of two bits with overflow entries: whatever is stored is read back, whatever was stored before."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ecmsketch.slices.table_adding import add_to
from ecmsketch.slices.table_planes import add_slice, read_cell, stored
from ecmsketch.slices.table_pool import (
    ARRIVALS,
    FREE_ROWS,
    FREE_TABLES,
    LAST,
    OVER_BEGIN,
    OVER_COUNT,
    PLANES,
    SLICES,
    TABLE,
    drop_oldest,
    new_pool,
    release_tables,
    trimmed,
    with_space,
)
from made_tables import table_of


def read(pool, slot: int, cells: int) -> np.ndarray:
    table = np.zeros(cells, np.int64)
    add_slice(pool, slot, table)
    return table


def filled(tables, cells: int):
    pool = with_space(new_pool(cells), len(tables), 0, 0)
    for slot, table in enumerate(tables):
        pool.used[SLICES] = slot + 1
        pool.facts[slot] = 0
        pool.facts[slot, LAST], pool.facts[slot, ARRIVALS], pool.facts[slot, TABLE] = 10 * slot, 1, -1
        pool = stored(pool, slot, table)
    return pool


def layout(pool, slot: int) -> tuple:
    """How many planes a slice's table has, and its overflow entries."""
    where = pool.where[pool.facts[slot, TABLE]]
    return int(where[PLANES]), pool.over[where[OVER_BEGIN] :][: where[OVER_COUNT]].tolist()


@given(st.integers(1, 200), st.integers(1, 8), st.integers(0, 2**32))
def test_tables_are_read_back(cells, count, seed):
    rng = np.random.default_rng(seed)
    tables = [table_of(cells, rng) for _ in range(count)]
    pool = filled(tables, cells)
    for each in (pool, trimmed(pool)):
        for slot, table in enumerate(tables):
            np.testing.assert_array_equal(read(each, slot, cells), table)
            for cell in {0, cells // 2, cells - 1}:
                assert read_cell(each, each.facts[slot, TABLE], cell) == table[cell]


@given(st.integers(1, 200), st.integers(0, 2**32))
def test_small_and_large_scratch_tables_store_the_same(cells, seed):
    table = np.minimum(table_of(cells, np.random.default_rng(seed)), 2**16 - 1)
    padded = np.concatenate([table, np.zeros(-cells % 8, np.int64)])
    pools = [filled([padded.astype(kind)], cells) for kind in (np.int64, np.int32, np.uint16)]
    for pool in pools:
        np.testing.assert_array_equal(read(pool, 0, cells), table)
    assert layout(pools[0], 0) == layout(pools[1], 0) == layout(pools[2], 0)


@given(st.integers(1, 300), st.integers(2, 6), st.integers(0, 2**32))
def test_adding_tables_gives_what_storing_their_sum_does(cells, count, seed):
    rng = np.random.default_rng(seed)
    tables = [table_of(cells, rng) for _ in range(count)]
    pool, total = filled(tables, cells), tables[0].copy()
    for slot in range(1, count):
        pool, number = add_to(pool, pool.facts[0, TABLE], pool.facts[slot, TABLE])
        pool.facts[0, TABLE] = number
        total += tables[slot]
        np.testing.assert_array_equal(read(pool, 0, cells), total)
        assert layout(pool, 0) == layout(filled([total], cells), 0)
        for later in range(slot + 1, count):
            np.testing.assert_array_equal(read(pool, later, cells), tables[later])


@given(st.integers(1, 60), st.integers(0, 2**32))
def test_rows_are_used_again_and_others_stay_as_they_are(cells, seed):
    rng = np.random.default_rng(seed)
    tables = [table_of(cells, rng) for _ in range(6)]
    pool = filled(tables, cells)
    for _ in range(12):
        slot = int(rng.integers(0, 6))
        release_tables(pool, slot)
        tables[slot] = table_of(cells, rng)
        pool = stored(pool, slot, tables[slot])
        for other, table in enumerate(tables):
            np.testing.assert_array_equal(read(pool, other, cells), table)
    drop_oldest(pool, 20)
    assert pool.used[SLICES] == 3
    for other, table in enumerate(tables[3:]):
        np.testing.assert_array_equal(read(trimmed(pool), other, cells), table)
    least = trimmed(pool)
    assert (least.used[FREE_ROWS], least.used[FREE_TABLES]) == (0, 0)
    assert sum(part.nbytes for part in least) <= sum(part.nbytes for part in pool)
