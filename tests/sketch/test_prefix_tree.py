"""Children that add up to their parents, and the best bounds of a range, against plain search."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ecmsketch.config import PrefixConfig
from ecmsketch.sketch.prefix_tree import (
    Descents,
    bound_range,
    cut_prefixes,
    follow_bounds,
    follow_values,
    project,
    project_range,
)

counts = st.floats(0, 1000).map(lambda count: round(count, 1))


@st.composite
def families(draw):
    """Values with bounds round them, and a parent that they need not fit."""
    fan = draw(st.sampled_from([1, 2, 4, 16]))
    lower = np.array(draw(st.lists(counts, min_size=fan, max_size=fan))) * draw(st.sampled_from([0, 0.1, 1]))
    value = lower + np.array(draw(st.lists(counts, min_size=fan, max_size=fan)))
    upper = value + np.array(draw(st.lists(counts, min_size=fan, max_size=fan)))
    return value, lower, upper, draw(st.floats(0, upper.sum()))


@given(families())
def test_children_add_up_to_their_parent_within_their_bounds(family):
    value, lower, upper, parent = family
    found = project(value, lower, upper, parent)
    assert found.sum() == pytest.approx(parent, abs=1e-6)
    assert (found >= 0).all()
    assert (found <= upper + 1e-6).all()
    if parent >= lower.sum():
        assert (found >= lower - 1e-6).all()


@given(families(), st.integers(0, 2**32))
def test_no_other_way_to_add_up_changes_values_less(family, seed):
    """Compared with moving some amount from one child to another, as far as lower bounds allow."""
    value, lower, upper, parent = family
    assume(lower.sum() < parent < value.sum())
    found = project(value, lower, upper, parent)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        other, (giver, taker) = found.copy(), rng.integers(0, len(value), 2)
        amount = rng.random() * (other[giver] - lower[giver])
        other[giver] -= amount
        other[taker] += amount
        assert ((found - value) ** 2).sum() <= ((other - value) ** 2).sum() + 1e-6 * (1 + value.max() ** 2)


def test_of_nothing_there_is_nothing():
    value = np.array([3.0, 0.0, 5.0])
    assert project(value, np.zeros(3), value, 0.0).tolist() == [0, 0, 0]
    assert project(value, np.array([1.0, 0.0, 1.0]), value, 0.0).tolist() == [0, 0, 0]
    assert project(np.zeros(3), np.zeros(3), np.array([2.0, 0.0, 6.0]), 4.0).tolist() == [1, 0, 3]


def tree(low, end, truth, slack, rng):
    """Bounds round the true counts of the children of cut prefixes, numbers of 3 bits, one bit a level."""
    levels = PrefixConfig(epsilon=0.1, delta=0.1, window=10, bits=3, radix=2).levels
    cut, by_level = cut_prefixes(levels, low, end)
    exact = np.array(
        [
            truth.reshape(1 << level.bits, -1).sum(axis=1)[2 * prefix : 2 * prefix + 2]
            for level, prefixes in by_level for prefix in prefixes
        ],
        np.float64,
    )  # fmt: skip
    lower = np.maximum(exact - rng.integers(0, slack + 1, exact.shape), 0)
    return cut, exact, lower, exact + rng.integers(0, slack + 1, exact.shape)


def searched(cut, lower, upper, least, most):
    """The least and the most on both sides, over all whole counts that obey the bounds."""
    is_cut = {(int(p), int(c)): i for i, (p, c) in enumerate(zip(cut.parent, cut.child, strict=True)) if i}
    free = [key for key in np.ndindex(lower.shape) if key not in is_cut]
    found = []
    for chosen in product(*(range(int(lower[key]), int(upper[key]) + 1) for key in free)):
        count = dict(zip(free, chosen, strict=True))
        for key, i in sorted(is_cut.items(), key=lambda pair: -pair[1]):
            count[key] = count[i, 0] + count[i, 1]
        total = count[0, 0] + count[0, 1]
        if least <= total <= most and all(lower[key] <= count[key] <= upper[key] for key in is_cut):
            inside = sum(count[key] for key in free if cut.begin[key[0]] <= key[1] < cut.end[key[0]])
            found.append((inside, total - inside))
    inside, outside = zip(*found, strict=True)
    return min(inside), max(inside), min(outside), max(outside)


@given(st.integers(0, 7), st.integers(1, 8), st.integers(1, 2), st.integers(0, 2**32))
def test_bounds_of_a_range_are_the_best_there_are(low, length, slack, seed):
    rng = np.random.default_rng(seed)
    truth, end = rng.integers(0, 3, 8), min(low + length, 8)
    cut, exact, lower, upper = tree(low, end, truth, slack, rng)
    least, most = truth.sum() - rng.integers(0, 2), truth.sum() + rng.integers(0, 2)
    found = bound_range(cut, lower, upper, float(least), float(most), True)
    assert found == searched(cut, lower, upper, least, most)
    inside = truth[low:end].sum()
    assert found[0] <= inside <= found[1]
    assert found[2] <= truth.sum() - inside <= found[3]
    wider = bound_range(cut, lower, upper, float(least), float(most), False)
    assert wider[0] <= found[0] <= found[1] <= wider[1]
    assert project_range(cut, exact, lower, upper, float(truth.sum())) == inside


def levels_of(truth, fan):
    """The counts of the children of every prefix, level by level."""
    size = len(truth)
    prefixes = 1
    while prefixes < size:
        yield truth.reshape(prefixes, fan, -1).sum(axis=2).astype(np.float64)
        prefixes *= fan


@pytest.mark.parametrize("fan", [2, 4, 8])
@given(seed=st.integers(0, 2**32))
def test_exact_counts_lead_to_the_exact_quantiles(fan, seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 5, 64) * (rng.random(64) < rng.choice([0.2, 1]))
    truth[rng.integers(0, 64)] += 1
    targets = rng.integers(1, truth.sum() + 1, 6).astype(np.float64)
    values = Descents.start(targets, float(truth.sum()))
    bounds = Descents.start(targets.copy(), float(truth.sum()))
    digit = fan.bit_length() - 1
    for children in levels_of(truth, fan):
        here, there = children[values.prefix.astype(int)], children[bounds.prefix.astype(int)]
        follow_values(values, digit, here, here, here)
        follow_bounds(bounds, digit, there, there)
    expected = np.searchsorted(np.cumsum(truth), targets)
    assert values.prefix.tolist() == bounds.prefix.tolist() == expected.tolist()


@pytest.mark.parametrize("fan", [2, 4, 8])
@given(slack=st.integers(0, 4), seed=st.integers(0, 2**32))
def test_no_descent_by_bounds_passes_the_quantile(fan, slack, seed):
    """From the left none goes beyond it, from the right none stays short of it, whatever the bounds are."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 5, 64)
    truth[rng.integers(0, 64)] += 1
    total = int(truth.sum())
    ranks = rng.integers(1, total + 1, 5)
    targets = np.concatenate([ranks, total - ranks + 1]).astype(np.float64)
    descents = Descents.start(targets, float(total), np.arange(10) >= 5)
    for children in levels_of(truth, fan):
        here = children[descents.prefix.astype(int)]
        lower = np.maximum(here - rng.integers(0, slack + 1, here.shape), 0)
        follow_bounds(descents, fan.bit_length() - 1, lower, here + rng.integers(0, slack + 1, here.shape))
    expected = np.searchsorted(np.cumsum(truth), ranks)
    assert (descents.prefix[:5].astype(int) <= expected).all()
    assert (descents.prefix[5:].astype(int) >= expected).all()


def test_what_does_not_belong_together_is_refused():
    cut, _ = cut_prefixes(PrefixConfig(epsilon=0.1, delta=0.1, window=10, bits=3, radix=2).levels, 1, 6)
    rows = np.ones((len(cut.begin), 2))
    for wrong in (rows[1:], rows[:, :1]):
        with pytest.raises(ValueError, match="cut"):
            bound_range(cut, wrong, wrong, 1.0, 2.0, True)
        with pytest.raises(ValueError, match="cut"):
            project_range(cut, wrong, wrong, wrong, 2.0)
    with pytest.raises(ValueError, match="every value"):
        project_range(cut, rows, rows[1:], rows, 2.0)
    with pytest.raises(ValueError, match="descents"):
        follow_bounds(Descents.start(np.ones(3), 1.0), 1, rows[:2], rows[:2])
