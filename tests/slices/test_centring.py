"""Expected collisions against the plain definition, and against what items that never came are counted as."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.slices.centring import Blocks, expected_collisions, likely_collision
from streams import zipf_items


def blocks(*parts) -> Blocks:
    return Blocks(*(np.array(column, np.int64) for column in zip(*parts, strict=True)))


def plainly(cells: np.ndarray) -> float:
    """The sum over t >= 1 of the probability that the cells of all rows are t or more."""
    return sum(float(np.prod((cells >= t).mean(axis=1))) for t in range(1, int(cells.max()) + 1))


@given(st.integers(1, 5), st.integers(1, 12), st.integers(0, 2**32), st.sampled_from([2, 9, 300, 2000]))
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
def test_a_likely_collision_is_the_least_that_is_exceeded_so_rarely(rows, width, seed, largest, delta):
    rng = np.random.default_rng(seed)
    cells = (rng.random((rows, width)) ** 4 * largest).astype(np.int64)
    table = np.concatenate([rng.integers(0, 9, 7), cells.ravel()])
    found = likely_collision(table, blocks((0, 1, 7, 1), (7, rows, width, 0)), 1, delta)
    exceeded = np.prod((cells > found).mean(axis=1))
    assert exceeded <= delta
    assert found == 0 or np.prod((cells >= found).mean(axis=1)) > delta


def test_values_are_centred():
    """Items that never came are counted as little more than nothing, and errors go either way."""
    rng = np.random.default_rng(0)
    items = zipf_items(100_000, 5000, rng, 1.0)
    errors = []
    for seed in range(8):
        config = ecm.SketchConfig(epsilon=0.02, delta=0.1, window=10**6, counter="slices", resolution=0.2, seed=seed)
        sketch = ecm.EcmSketch(config)
        sketch.update_many(items, np.arange(100_000))
        found = sketch.estimate_many(np.arange(5000))
        exact = np.bincount(items, minlength=5000)
        errors.append(found.value - exact)
        assert (found.upper >= exact).all()
    heavy = np.argsort(-exact)[:500]
    assert abs(np.mean(errors, axis=0)[heavy].mean()) <= 0.002 * 100_000 / 10
    assert 0.2 < np.mean(np.array(errors)[:, heavy] < 0) < 0.8
