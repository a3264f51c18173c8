"""Tables as bits: read back as they were, in few bits, and nothing but what was written is accepted."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ecmsketch.slices.table_bits import MOST_PARAMETER, best_parameter, get_table, put_table
from made_tables import table_of


def written(table) -> tuple[np.ndarray, int]:
    parameter, bits = best_parameter(table)
    data = put_table(table, parameter, bits)
    assert len(data) == -(-bits // 8)
    return data, parameter


@given(st.integers(1, 200), st.integers(0, 2**32))
def test_tables_are_read_back(cells, seed):
    table = table_of(cells, np.random.default_rng(seed))
    data, parameter = written(table)
    again = np.full(cells, -1, np.int64)
    padded = np.concatenate([np.full(3, 255, np.uint8), data, np.full(2, 255, np.uint8)])
    assert get_table(padded, 3, 3 + len(data), parameter, again) == 3 + len(data)
    np.testing.assert_array_equal(again, table)


def test_small_cells_take_about_a_bit():
    assert best_parameter(np.zeros(800, np.int64)) == (0, 800)
    data, _ = written(np.random.default_rng(0).poisson(3, 1000))
    assert len(data) <= 500


@given(st.integers(1, 60), st.integers(0, 2**32), st.integers(0, MOST_PARAMETER))
def test_other_bytes_are_refused_or_are_those_of_a_table(cells, seed, parameter):
    """Random and changed bytes: never a crash, and never a cell beyond 2**53 or bits that are not used."""
    rng = np.random.default_rng(seed)
    good, fitting = written(table_of(cells, rng))
    changed = good.copy()
    changed[rng.integers(0, len(good))] ^= np.uint8(1 << rng.integers(0, 8))
    noise = rng.integers(0, 256, int(rng.integers(1, 9 * cells))).astype(np.uint8)
    sparse = (noise & rng.integers(0, 256, len(noise))).astype(np.uint8) & np.uint8(17)
    for data, used in ((changed, fitting), (good[:-1], fitting), (noise, parameter), (sparse, parameter)):
        table = np.zeros(cells, np.int64)
        end = get_table(data, 0, len(data), used, table)
        assert end == -1 or 0 < end <= len(data)
        if end > 0:
            assert table.min() >= 0
            assert table.max() <= 2**53
            bits = sum(2 * (int(cell >> used) + 1).bit_length() - 1 + used for cell in table.tolist())
            np.testing.assert_array_equal(put_table(table, used, bits), data[:end])
