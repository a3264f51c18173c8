"""Tables: packing, adding and reading agree with plain sums."""

from __future__ import annotations

import numpy as np
import pytest

from ecmsketch.engines.slices.tables import add_tables, cells_one_by_one, pack_cells, unpack_tables

MOST_OVER = 2**36


def random_cells(rng, words: int, most: int = 2**50) -> np.ndarray:
    """Cells of many sizes: mostly small, some large, some huge."""
    scale = rng.choice([2, 5, 20, 300, 70_000])
    cells = rng.integers(0, scale, 32 * words)
    for _ in range(rng.integers(0, 4)):
        some = rng.integers(0, 32 * words, rng.integers(0, 2 * words + 4))
        cells[some] = rng.integers(0, min(int(rng.choice([10, 1000, 10**6, 2**40, 2**50])), most), len(some))
    return cells.astype(np.int64)


def planes_of(cells: np.ndarray, words: int) -> tuple[int, int]:
    """How many planes and entries the rule gives."""
    planes = 1
    while (cells >> 2 * planes > 0).sum() > max(words, 2) or (cells >> 2 * planes >= MOST_OVER).any():
        planes += 1
    return planes, int((cells >> 2 * planes > 0).sum())


@pytest.mark.parametrize("seed", range(60))
def test_packed_tables_hold_what_was_packed(seed):
    rng = np.random.default_rng(seed)
    words = int(rng.integers(1, 40))
    cells = random_cells(rng, words)
    table = pack_cells(cells)
    assert (table[1], table[2]) == planes_of(cells, words)
    assert len(table) == 3 + table[1] * words + table[2]
    assert (unpack_tables([table], words) == cells).all()
    assert cells_one_by_one(table, words) == cells.tolist()
    small = np.minimum(cells, 2**31 - 1).astype(np.int32)
    assert (pack_cells(small) == pack_cells(small.astype(np.int64))).all()
    assert (unpack_tables([pack_cells(small)], words, small=True) == small).all()


@pytest.mark.parametrize("seed", range(60))
def test_a_sum_is_what_packing_the_sums_gives(seed):
    rng = np.random.default_rng(seed)
    words = int(rng.integers(1, 40))
    total, table = np.zeros(32 * words, np.int64), None
    for _ in range(rng.integers(2, 9)):
        cells = random_cells(rng, words)
        total += cells
        table = pack_cells(cells) if table is None else add_tables(table, pack_cells(cells), words)
        assert (table == pack_cells(total)).all()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("count", [2, 84, 85, 86, 171])
def test_many_tables_are_added_up(seed, count):
    rng = np.random.default_rng((seed, count))
    words = int(rng.integers(1, 9))
    tables = [random_cells(rng, words, 2**22) for _ in range(count)]
    packed = [pack_cells(table) for table in tables]
    assert (unpack_tables(packed, words) == sum(tables)).all()
    assert (unpack_tables(packed, words, small=True) == sum(tables)).all()


def test_two_tables_full_of_large_numbers():
    for words in (1, 2, 5):
        cells = np.full(32 * words, 2**53, np.int64)
        table = pack_cells(cells)
        assert (table[1], table[2]) == (27, 0)
        total = add_tables(table, table, words)
        assert (total == pack_cells(2 * cells)).all()
