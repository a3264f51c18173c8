"""Expected collisions and their quantiles against the plain definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecmsketch import SketchConfig
from ecmsketch.config import PrefixConfig
from ecmsketch.engines.collisions import Blocks, blocks_of, collision_quantile, expected_collisions
from ecmsketch.kernels import memory


def blocks(*parts) -> Blocks:
    return Blocks(*(np.array(column, np.int64) for column in zip(*parts, strict=True)))


def plainly(cells: np.ndarray) -> float:
    """The sum over t >= 1 of the probability that the cells of all rows are t or more."""
    return sum(float(np.prod((cells >= t).mean(axis=1))) for t in range(1, int(cells.max()) + 1))


def exceeding(cells: np.ndarray, t: int) -> float:
    return float(np.prod((cells > t).mean(axis=1)))


@given(st.integers(1, 5), st.integers(1, 12), st.integers(0, 2**32), st.sampled_from([2, 9, 300, 1025, 2000]))
def test_it_is_the_sum_over_all_counts(rows, width, seed, largest):
    rng = np.random.default_rng(seed)
    cells = (rng.random((rows, width)) ** 4 * largest).astype(np.int64)
    exact = rng.integers(0, 9, 7)
    table = np.concatenate([exact, cells.ravel(), cells.ravel()])
    before = table.copy()
    size = rows * width
    found = expected_collisions(table, blocks((0, 1, 7, 1), (7, rows, width, 0), (7 + size, rows, width, 0)))
    assert found == pytest.approx([0, plainly(cells), plainly(cells)])
    np.testing.assert_array_equal(table, before)


@given(
    st.integers(1, 5),
    st.integers(1, 12),
    st.integers(0, 2**32),
    st.sampled_from([2, 300, 10**9]),
    st.sampled_from([1e-6, 0.01, 0.2, 0.9]),
)
def test_a_quantile_is_the_least_that_is_exceeded_so_rarely(rows, width, seed, largest, delta):
    rng = np.random.default_rng(seed)
    cells = (rng.random((rows, width)) ** 4 * largest).astype(np.int64)
    table = np.concatenate([rng.integers(0, 9, 7), cells.ravel()])
    found = collision_quantile(table, blocks((0, 1, 7, 1), (7, rows, width, 0)), 1, delta)
    assert exceeding(cells, found) <= delta
    assert found == 0 or exceeding(cells, found - 1) > delta


@pytest.mark.parametrize("largest", [1023, 1024, 1025])
def test_where_counting_ends_and_sorting_begins(largest):
    cells = np.full((3, 4), largest)
    assert expected_collisions(cells.ravel(), blocks((0, 3, 4, 0))) == pytest.approx([largest])
    assert collision_quantile(cells.ravel(), blocks((0, 3, 4, 0)), 0, 0.5) == largest


def test_an_empty_table_adds_nothing():
    table, block = np.zeros(12, np.int64), blocks((0, 3, 4, 0))
    assert expected_collisions(table, block) == [0]
    assert collision_quantile(table, block, 0, 0.1) == 0


@pytest.mark.parametrize("part", [(0, 3, 5, 0), (-1, 3, 4, 0), (1, 3, 4, 0), (0, 0, 4, 0), (0, 3, 0, 0)])
def test_a_block_lies_in_its_table(part):
    for ask in (lambda b: expected_collisions(np.ones(12, np.int64), b), lambda b: collision_quantile(
        np.ones(12, np.int64), b, 0, 0.1
    )):  # fmt: skip
        with pytest.raises(ValueError, match="block"):
            ask(blocks(part))


@pytest.mark.parametrize("allocations", [0, 1])
def test_without_memory(allocations):
    table = np.arange(3 * 4) * 1000
    memory.fail_after(allocations)
    try:
        with pytest.raises(MemoryError):
            expected_collisions(table, blocks((0, 3, 4, 0)))
    finally:
        memory.fail_after(-1)


def test_blocks_of_a_config():
    plain = SketchConfig(epsilon=0.1, delta=0.1, window=100)
    assert [column.tolist() for column in blocks_of(plain)] == [[0], [plain.depth], [plain.width], [0]]
    config = PrefixConfig(epsilon=0.1, delta=0.1, window=100, bits=16, radix=16)
    found = blocks_of(config)
    assert found.first.tolist() == [level.first_cell for level in config.levels]
    assert (found.rows * found.width).sum() == config.cells
    assert found.exact.tolist() == [level.exact for level in config.levels]
