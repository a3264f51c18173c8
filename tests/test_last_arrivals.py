"""The newest n arrivals, against an exact oracle. Where they begin inside a tick, any choice of it is right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ecmsketch as ecm
from streams import streams, zipf_items

WINDOW = 1000
ITEMS = 30


class NewestArrivals:
    """The newest `count` of some arrivals: `sure` of each item at least, `most` of each at most."""

    def __init__(self, items, ticks, weights, count):
        order = np.argsort(-ticks, kind="stable")
        items, ticks, weights = items[order], ticks[order], weights[order]
        begin = ticks[np.searchsorted(np.cumsum(weights), max(count, 1))] if count else ticks[0] + 1
        self.count = count
        self.after = np.bincount(items[ticks > begin], weights[ticks > begin], minlength=ITEMS)
        on_it = np.bincount(items[ticks == begin], weights[ticks == begin], minlength=ITEMS)
        self.wanted = count - self.after.sum()
        self.sure = self.after + np.maximum(self.wanted - (on_it.sum() - on_it), 0)
        self.most = self.after + np.minimum(on_it, self.wanted)
        self.guess = self.after + (on_it * self.wanted / on_it.sum() if on_it.sum() else 0)
        self.on_it = on_it

    def ranks(self, number):
        """How many may be not greater than a number: at least, at most."""
        below, before = self.on_it[: number + 1].sum(), self.after[: number + 1].sum()
        above = self.on_it[number + 1 :].sum()
        return before + max(self.wanted - above, 0), before + min(below, self.wanted)

    def quantiles(self, q):
        """The least and the greatest number that can be the quantile."""
        rank = max(np.ceil(q * self.count), 1)
        low = next(number for number in range(ITEMS) if self.ranks(number)[1] >= rank)
        high = next(number for number in range(ITEMS) if self.ranks(number)[0] >= rank)
        return low, high


def counts_to_ask(total, rng):
    return sorted({0, 1, min(10, total), total // 2, total, *rng.integers(0, total + 1, 2).tolist()})


def check(found, truth, always):
    assert (found.lower <= found.value).all()
    assert (found.value <= found.upper).all()
    assert (found.upper <= truth.count).all()
    assert (truth.most <= found.upper + 1e-9).all()
    if always:
        assert (found.lower <= truth.sure + 1e-9).all()


@given(
    stream=streams(WINDOW, most=1200),
    counter=st.sampled_from(["eh", "dw", "slices"]),
    epsilon=st.sampled_from([0.5, 0.05]),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=40)
def test_items_of_the_newest_arrivals(stream, counter, epsilon, seed):
    rng = np.random.default_rng(seed)
    items = zipf_items(len(stream.ticks), ITEMS, rng)
    weights = np.ones(len(items), np.int64) if stream.weights is None else stream.weights
    config = ecm.SketchConfig(epsilon=epsilon, delta=0.05, window=WINDOW, counter=counter, heavy_hitters=True)
    sketch = ecm.EcmSketch(config)
    sketch.update_many(items, stream.ticks, stream.weights)
    prefix = ecm.PrefixSketch(config.replace(heavy_hitters=False), bits=5, radix=4)
    prefix.update_many(items, stream.ticks, stream.weights)
    inside = stream.ticks > stream.ticks[-1] - WINDOW
    mine, ticks, weights = items[inside], stream.ticks[inside], weights[inside]
    for count in counts_to_ask(int(weights.sum()), rng):
        truth = NewestArrivals(mine, ticks, weights, count)
        check(sketch.estimate_many(np.arange(ITEMS), last_arrivals=count), truth, always=False)
        check_named(sketch, count, truth)
        check_ordered(prefix, count, truth)


def check_named(sketch, count, truth):
    for hitter in sketch.top(ITEMS, last_arrivals=count):
        value, lower, upper, _ = hitter.estimate
        assert lower <= value <= upper <= count
        assert truth.most[hitter.item] <= upper
    try:
        found = sketch.heavy_hitters(0.6, last_arrivals=count, no_miss=True)
    except ecm.errors.QueryError:
        return
    assert set(np.flatnonzero((truth.most >= 0.6 * count) & (truth.most > 0))) <= {hitter.item for hitter in found}


def check_ordered(prefix, count, truth):
    for number in (0, 3, 17, ITEMS):
        found = prefix.rank(number, last_arrivals=count)
        assert found.lower <= found.value <= found.upper <= count
        assert found.lower <= truth.ranks(number)[0]
        assert truth.ranks(number)[1] <= found.upper
    if count:
        for q in (0, 0.25, 0.5, 1):
            found = prefix.quantile(q, last_arrivals=count)
            low, high = truth.quantiles(q)
            assert found.lower <= low
            assert high <= found.upper
            assert found.lower <= found.value <= found.upper


@pytest.mark.parametrize("counter", ["eh", "dw", "rw", "slices"])
def test_a_tick_with_more_than_are_wanted_is_shared_out(counter):
    config = ecm.SketchConfig(epsilon=0.01, delta=0.01, window=WINDOW, counter=counter, heavy_hitters=True)
    if counter == "rw":
        config = config.replace(epsilon=0.1, delta=0.1)
    sketch = ecm.EcmSketch(config, site="here")
    sketch.update_many(["a", "b"] * 1000, np.full(2000, 7))
    for count, value in ((0, 0), (10, 5), (100, 50), (2000, 1000)):
        found = sketch.estimate("a", last_arrivals=count)
        assert found.value == pytest.approx(value, rel=0.1)
        assert found.upper <= count
        assert found.covers(value)
        assert found.lower <= max(count - 1000, 0)
    sketch.update_many(["b"] * 4, np.full(4, 9))
    found = sketch.estimate_many(["a", "b"], last_arrivals=10)
    assert found.value == pytest.approx([3, 7], rel=0.1)
    assert found.lower.tolist() == [0, pytest.approx(4)]
    assert found.upper.tolist() == [6, 10]
    assert [hitter.item for hitter in sketch.heavy_hitters(0.6, last_arrivals=10)] == ["b"]
    assert {hitter.item for hitter in sketch.heavy_hitters(0.6, last_arrivals=10, no_miss=True)} == {"a", "b"}
    assert [hitter.item for hitter in sketch.top(1, last_arrivals=10)] == ["b"]


def test_ordered_numbers_on_a_shared_tick():
    sketch = ecm.PrefixSketch(ecm.SketchConfig(epsilon=0.01, delta=0.01, window=WINDOW), bits=8)
    sketch.update_many([100, 200] * 1000, np.full(2000, 7))
    assert sketch.rank(150, last_arrivals=10)[:3] == (5, 0, 10)
    assert sketch.range_sum(0, 255, last_arrivals=10)[:3] == (10, 10, 10)
    assert sketch.estimate(100, last_arrivals=10)[:3] == (5, 0, 10)
    assert sketch.quantile(0.4, last_arrivals=10)[:3] == (100, 100, 200)
    assert sketch.quantile(0.6, last_arrivals=10)[:3] == (200, 100, 200)
    assert {hitter.item for hitter in sketch.heavy_hitters(0.5, last_arrivals=10)} == {100, 200}
    assert sketch.heavy_hitters(0.6, last_arrivals=10) == []


@pytest.mark.parametrize("counter", ["eh", "dw", "slices"])
def test_late_arrivals_and_merged_sites(counter):
    rng = np.random.default_rng(3)
    config = ecm.SketchConfig(
        epsilon=0.1, delta=0.05, window=WINDOW, counter=counter, late="side", lateness=300, merge_depth=1
    )
    items, ticks = zipf_items(4000, ITEMS, rng), np.sort(rng.integers(0, 900, 4000))
    delay = np.where(rng.random(4000) < 0.1, rng.integers(1, 300, 4000), 0)
    sites = [ecm.EcmSketch(config) for _ in range(3)]
    arrival = np.argsort(ticks + delay, kind="stable")
    for number, site in enumerate(sites):
        for some in np.array_split(arrival[number::3], 20):
            site.update_many(items[some], ticks[some])
    assert all(site.late_counted and not site.late_dropped for site in sites)
    merged = ecm.merge(sites)
    for count in (0, 1, 10, 500, 4000):
        truth = NewestArrivals(items, ticks, np.ones(4000, np.int64), count)
        check(merged.estimate_many(np.arange(ITEMS), last_arrivals=count), truth, always=False)


@pytest.mark.parametrize("counter", ["eh", "dw", "slices"])
def test_count_based_windows_know_the_order(counter):
    rng = np.random.default_rng(4)
    config = ecm.SketchConfig(epsilon=0.5, delta=0.3, window=WINDOW, counter=counter, model="count")
    sketch = ecm.EcmSketch(config)
    items, weights = zipf_items(400, ITEMS, rng), rng.integers(1, 9, 400)
    sketch.update_many(items, weights=weights)
    every = np.repeat(items, weights)
    for count in (0, 1, 7, 300, WINDOW):
        found = sketch.estimate_many(np.arange(ITEMS), last_arrivals=count)
        exact = np.bincount(every[len(every) - count :], minlength=ITEMS)
        assert (exact <= found.upper).all()
        assert (found.upper <= count).all()
        assert (found.value <= found.upper).all()
