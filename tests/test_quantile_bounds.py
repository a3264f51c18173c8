"""Quantiles at the ends: bounds that always hold, for the least and the greatest number too."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.errors import QueryError
from streams import streams

WINDOW = 1000
SHARES = [0, 1e-9, 0.001, 0.1, 0.25, 1 / 3, 0.5, 0.55, 0.7, 0.9, 0.999, 1 - 1e-9, 1]


def exact_quantiles(items, weights, q) -> set[int]:
    """The least number that a share q does not exceed; where a share is no binary fraction, by both readings of it."""
    order = np.argsort(items, kind="stable")
    reached = np.cumsum(weights[order])
    total = int(reached[-1])
    ranks = {max(ceil(share * total), 1) for share in (Fraction(float(q)), Fraction(repr(float(q))))}
    return {int(items[order][np.searchsorted(reached, rank)]) for rank in ranks}


@given(
    stream=streams(WINDOW, most=1500),
    counter=st.sampled_from(["eh", "dw", "slices"]),
    epsilon=st.sampled_from([0.5, 0.1, 0.02]),
    bits=st.sampled_from([1, 5, 12, 40]),
    radix=st.sampled_from([2, 16]),
    spread=st.sampled_from(["few small", "few great", "anywhere"]),
    q=st.floats(0, 1),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=40)
def test_quantiles_lie_within_their_bounds_whatever_the_share(stream, counter, epsilon, bits, radix, spread, q, seed):
    rng = np.random.default_rng(seed)
    items = np.minimum(rng.zipf(1.3, len(stream.ticks)), 2**bits - 1).astype(np.uint64)
    if spread == "few great":
        items = np.uint64(2**bits - 1) - items
    elif spread == "anywhere":
        items = rng.integers(0, 2**bits, len(items)).astype(np.uint64)
    weights = np.ones(len(items), np.int64) if stream.weights is None else stream.weights
    config = ecm.SketchConfig(epsilon=epsilon, delta=0.2, window=WINDOW, counter=counter)
    sketch = ecm.PrefixSketch(config, bits=bits, radix=radix)
    sketch.update_many(items, stream.ticks, stream.weights)
    now = int(stream.ticks[-1])
    shares = [*SHARES, q]
    for last in (1, 60, WINDOW):
        inside = stream.ticks > now - last
        mine, held = items[inside], weights[inside]
        for share, found in zip(shares, sketch.quantiles(shares, last=last), strict=True):
            assert all(map(found.covers, exact_quantiles(mine, held, share))), (share, found)
            assert found.lower <= found.value <= found.upper
        for share in (0, 0.3, 1):
            check_ranks(sketch, sketch.quantile(share, last=last), share, last)


def check_ranks(sketch, found, share, last):
    """Rank and quantile tell the same: at the upper bound a share may be reached, before the lower one it is not."""
    total = sketch.total(last=last)
    assert sketch.rank(int(found.upper), last=last).upper >= max(share * total.lower, 1) - 1e-6
    if found.lower > 0:
        assert sketch.rank(int(found.lower) - 1, last=last).lower < max(share * total.upper, 1) + 1e-6


@pytest.mark.parametrize("counter", ["eh", "dw", "slices"])
def test_the_least_and_the_greatest_of_a_few_numbers_among_collisions(counter):
    """Few numbers in a tiny table: below the least of them others seem to have come."""
    for seed in range(150, 180):
        rng = np.random.default_rng(seed)
        config = ecm.SketchConfig(epsilon=0.5, delta=0.2, window=WINDOW, counter=counter, seed=seed)
        sketch = ecm.PrefixSketch(config, bits=12)
        items = rng.integers(0, 2**12, 20)
        sketch.update_many(items, np.arange(20))
        for q, exact in ((0, items.min()), (1, items.max())):
            found = sketch.quantile(q)
            assert found.covers(exact), (seed, q, found)


@pytest.mark.parametrize("counter", ["eh", "dw", "rw", "slices"])
def test_of_few_arrivals_quantiles_are_exact(counter):
    config = ecm.SketchConfig(epsilon=0.05, delta=0.1, window=WINDOW, counter=counter)
    sketch = ecm.PrefixSketch(config, bits=8, site="here")
    sketch.update(200, 1)
    for q in SHARES:
        assert sketch.quantile(q)[:3] == (200, 200, 200)
    sketch.update_many([100, 150], [2, 3])
    assert [sketch.quantile(q)[:3] for q in (0, 0.3, 0.5, 0.9, 1)] == [
        (100, 100, 100), (100, 100, 100), (150, 150, 150), (200, 200, 200), (200, 200, 200)
    ]  # fmt: skip
    assert sketch.quantile(0, last=1)[:3] == sketch.quantile(1, last_arrivals=1)[:3] == (150, 150, 150)
    sketch.update_many(np.arange(1, 11), np.full(10, 4))
    assert sketch.quantile(0.5, last=1)[:3] == (5, 5, 5)
    assert sketch.quantiles([]) == []
    with pytest.raises(QueryError, match="nothing arrived"):
        sketch.quantile(0.5, last=0)


def test_one_arrival_in_a_merged_sketch():
    config = ecm.SketchConfig(epsilon=0.3, delta=0.1, window=WINDOW, merge_depth=1)
    sites = [ecm.PrefixSketch(config, bits=8) for _ in range(2)]
    sites[0].update_many(np.full(500, 7), np.arange(500))
    sites[1].update(9, 900)
    merged = ecm.merge(sites)
    for q in SHARES:
        assert merged.quantile(q, last=50).covers(9)
        assert all(map(merged.quantile(q).covers, exact_quantiles(np.array([7, 9]), np.array([500, 1]), q)))
