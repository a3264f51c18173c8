"""The tree of prefixes, compared with the numba code bit for bit. It goes when that goes; test_prefix_tree.py stays."""

from __future__ import annotations

import numpy as np
import pytest

from ecmsketch.config import PrefixConfig
from ecmsketch.sketch import descents, number_range, prefix_tree, projection


def family(rng, shape):
    """Values with bounds round them: lower <= value <= upper."""
    size = float(rng.choice([1, 10, 1000]))
    lower = rng.random(shape) * size * rng.choice([0, 0.1, 1])
    value = lower + rng.random(shape) * size
    upper = value + rng.random(shape) * size
    if rng.random() < 0.5:
        lower, value, upper = np.floor(lower), np.floor(value), np.ceil(upper)
    if rng.random() < 0.3:
        none = rng.random(shape) < 0.5
        lower[none] = value[none] = upper[none] = 0
    return value, lower, upper


def bits(numbers):
    return np.asarray(numbers, np.float64).tobytes()


@pytest.mark.parametrize("seed", range(40))
def test_projections(seed):
    rng = np.random.default_rng(seed)
    for _ in range(50):
        value, lower, upper = family(rng, int(rng.choice([1, 2, 4, 16])))
        parent = float(rng.choice([0, rng.random() * upper.sum() * 1.2, value.sum(), lower.sum()]))
        found = np.empty_like(value)
        projection.project(value, lower, upper, parent, found)
        assert bits(found) == bits(prefix_tree.project(value, lower, upper, parent))


@pytest.mark.parametrize("seed", range(40))
def test_descents(seed):
    rng = np.random.default_rng(seed)
    for _ in range(30):
        rows, fan, digit = int(rng.integers(0, 7)), int(rng.choice([1, 2, 4, 16])), int(rng.integers(1, 5))
        value, lower, upper = family(rng, (rows, fan))
        targets, total = rng.random(rows) * value.sum(), float(rng.choice([value.sum(), rng.random() * 100]))
        sides = rng.random(rows) < 0.5
        one = descents.Descents.start(targets, total, sides)
        other = prefix_tree.Descents.start(targets.copy(), total, sides)
        if rng.random() < 0.3:
            for each in (one, other):
                each.own[:] = each.reached[:] = np.inf
        for _ in range(3):
            if rng.random() < 0.5 and np.isfinite(one.own).all():
                descents.follow_values(one, digit, value, lower, upper)
                prefix_tree.follow_values(other, digit, value, lower, upper)
            else:
                descents.follow_bounds(one, digit, lower, upper)
                prefix_tree.follow_bounds(other, digit, lower, upper)
            assert [column.tobytes() for column in one] == [column.tobytes() for column in other]
            value, lower, upper = family(rng, (rows, fan))


@pytest.mark.parametrize("seed", range(40))
def test_ranges(seed):
    rng = np.random.default_rng(seed)
    for _ in range(30):
        length, radix = ((3, 2), (4, 4), (8, 2), (8, 4), (8, 16))[rng.integers(0, 5)]
        levels = PrefixConfig(epsilon=0.1, delta=0.1, window=10, bits=length, radix=radix).levels
        low = int(rng.integers(0, 2**length))
        end = int(rng.integers(low + 1, 2**length + 1))
        cut, by_level = number_range.cut_prefixes(levels, low, end)
        mine, its_levels = prefix_tree.cut_prefixes(levels, low, end)
        assert by_level == its_levels
        assert all(np.array_equal(one, other) for one, other in zip(cut, mine, strict=True))
        value, lower, upper = family(rng, (len(cut.begin), radix))
        total = float(rng.random() * value.sum() * 1.5)
        assert bits(number_range.project_range(cut, value, lower, upper, total)) == bits(
            prefix_tree.project_range(mine, value, lower, upper, total)
        )
        for paths in (True, False):
            assert bits(number_range.bound_range(cut, lower, upper, total * 0.9, total * 1.1, paths)) == bits(
                prefix_tree.bound_range(mine, lower, upper, total * 0.9, total * 1.1, paths)
            )
