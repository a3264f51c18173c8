"""What the state of slices must not depend on: how batches were cut, bytes and copies between, the order of merging."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.slices.table_pool import ARRIVALS, FIRST, LAST, SLICES
from streams import cuts, streams, ticks_of, zipf_items

WINDOW = 1000
EPSILONS = st.sampled_from([0.9, 0.3, 0.1, 0.03])
SEEDS = st.integers(0, 2**32)


def make(**changes):
    return ecm.SketchConfig(**{"epsilon": 0.2, "delta": 0.2, "window": WINDOW, "counter": "slices", **changes})


def fed(config, items, ticks, weights=None, pieces=1, rng=None):
    sketch = ecm.EcmSketch(config)
    for piece in cuts(len(items), pieces, rng or np.random.default_rng(0)):
        part = None if weights is None else weights[piece]
        sketch.update_many(items[piece], ticks[piece] if config.model == "time" else None, part)
        sketch._flushed()  # else small batches are gathered to one
    return sketch


def slices_of(sketch) -> int:
    return sketch._flushed().counters.slice_count


@given(streams(WINDOW, most=3000), EPSILONS, SEEDS, st.sampled_from(["time", "count"]))
@settings(max_examples=40)
def test_the_state_does_not_depend_on_how_batches_were_cut(stream, epsilon, seed, model):
    rng = np.random.default_rng(seed)
    config = make(epsilon=epsilon, model=model)
    items = zipf_items(len(stream.ticks), 60, rng)
    whole, parts = (fed(config, items, *stream, pieces, rng).serialize() for pieces in (1, 9))
    assert whole == parts


@given(streams(WINDOW, most=2000), EPSILONS, SEEDS, st.integers(0, WINDOW), st.booleans())
@settings(max_examples=40)
def test_bytes_and_copies_lose_nothing(stream, epsilon, seed, idle, delayed):
    rng = np.random.default_rng(seed)
    sketch = ecm.EcmSketch(make(epsilon=epsilon, late="side"))
    items = zipf_items(len(stream.ticks), 60, rng)
    for piece in cuts(len(items), 4, rng):
        again, copied = ecm.EcmSketch.deserialize(sketch.serialize()), sketch.copy()
        before = copied.serialize()
        shift = rng.integers(0, WINDOW, piece.stop - piece.start) if delayed else 0
        some = items[piece], stream.ticks[piece] - shift, None if stream.weights is None else stream.weights[piece]
        for each in (sketch, again):
            each.update_many(*some)
            each.advance(max(each.now or 0, int(stream.ticks[0])) + idle)
        assert again.serialize() == sketch.serialize()
        assert copied.serialize() == before


@given(streams(WINDOW, most=2500), EPSILONS, SEEDS, st.integers(2, 12))
@settings(max_examples=30)
def test_merging_does_not_depend_on_the_order(stream, epsilon, seed, count):
    rng = np.random.default_rng(seed)
    items, where = zipf_items(len(stream.ticks), 60, rng), rng.integers(0, count, len(stream.ticks))
    weights = np.ones(len(items), np.int64) if stream.weights is None else stream.weights
    sites = [
        fed(make(epsilon=epsilon), items[where == i], stream.ticks[where == i], weights[where == i])
        for i in range(count)
    ]
    before = [site.serialize() for site in sites]
    merged = ecm.merge(sites)
    assert merged.serialize() == ecm.merge([sites[i] for i in rng.permutation(count)]).serialize()
    assert [site.serialize() for site in sites] == before
    again = ecm.EcmSketch.deserialize(merged.serialize())
    assert again == merged
    assert again.merge_levels == merged.merge_levels


def test_twins_merge_in_any_order():
    """Slices with the same facts are told apart by their tables."""
    config, ticks = make(), np.arange(3000) // 4
    one, two = (fed(config, np.arange(3000) % distinct, ticks) for distinct in (50, 70))
    assert slices_of(one)
    assert ecm.merge([one, two]).serialize() == ecm.merge([two, one]).serialize()


def test_while_there_are_only_events_all_is_exact():
    config = make(epsilon=0.05)
    rng = np.random.default_rng(1)
    sites, items, ticks = [], [], []
    for _ in range(5):
        some, moments = rng.integers(0, 20, 60), np.sort(rng.integers(0, WINDOW, 60))
        sites.append(fed(config, some, moments))
        items.append(some)
        ticks.append(moments)
    merged, items, ticks = ecm.merge(sites), np.concatenate(items), np.concatenate(ticks)
    assert merged.merge_levels == 0
    assert merged.epsilon == sites[0].epsilon
    for since in (merged.now - WINDOW, 100, 500, 800):
        inside = ticks > since
        exact = np.bincount(items[inside], minlength=20)
        found = merged.estimate_many(np.arange(20), between=(since, merged.now))
        assert found.confidence == 1
        for part in (found.value, found.lower, found.upper):
            np.testing.assert_array_equal(part, exact)
        assert merged.total(between=(since, merged.now)) == (exact.sum(), exact.sum(), exact.sum(), 1)


@pytest.mark.parametrize("pieces", [2, 5, 40])
@pytest.mark.parametrize("model", ["time", "count"])
def test_segments_add_no_level_and_go_on(pieces, model):
    rng = np.random.default_rng(pieces)
    config = make(model=model, epsilon=0.1, delta=0.01)
    items, ticks = zipf_items(6000, 60, rng), np.arange(1, 6001)
    joined = ecm.concat([fed(config, items[p], ticks[p]) for p in cuts(6000, pieces, rng)])
    joined.update_many(items, ticks + 6000 if model == "time" else None)
    assert joined.merge_levels == 0
    assert joined.epsilon == pytest.approx(0.1)
    for last in (1, 37, 400, WINDOW):
        found = joined.estimate_many(np.arange(60), last=last)
        exact = np.bincount(items[-last:], minlength=60)
        assert (found.upper >= exact).all()
        assert np.mean(np.abs(found.value - exact) <= 0.1 * (last + 1)) > 0.9


@pytest.mark.parametrize("lateness", [None, 300])
def test_late_arrivals_count_at_any_lateness_inside_the_window(lateness):
    rng = np.random.default_rng(4)
    sketch = ecm.EcmSketch(make(late="side", lateness=lateness, epsilon=0.1))
    sketch.update_many(rng.integers(0, 20, 5000), np.arange(5000))
    allowed = lateness or WINDOW
    ticks = 4999 - rng.permutation(WINDOW + 200)
    for part in np.array_split(ticks, 7):
        sketch.update_many(np.full(len(part), 99), part)
    counted = np.count_nonzero(ticks > 4999 - allowed)
    assert (sketch.late_counted, sketch.late_dropped) == (counted - 1, len(ticks) - counted)  # one is on time
    for last in (5, 250, 1000):
        found = sketch.estimate(99, last=last)
        exact = min(last, allowed)
        assert found.upper >= exact
        assert abs(found.value - exact) <= 0.1 * 2 * (last + 1)
        total = sketch.total(last=last)
        assert total.lower <= last + exact <= total.upper


def straddling(sketch, sites: int) -> float:
    """The most that slices have at a moment which they straddle, as a share of what is allowed."""
    stream = sketch._flushed().counters
    facts, worst = stream.pool.facts[: stream.pool.used[SLICES]], 0.0
    ticks, weights = stream.events.ticks, stream.events.explicit_weights()
    for moment in np.unique(facts[:, LAST] - 1):  # the worst: later fewer straddle, earlier more come after
        cut = facts[(facts[:, FIRST] <= moment) & (facts[:, LAST] > moment), ARRIVALS].sum()
        after = facts[facts[:, FIRST] > moment, ARRIVALS].sum() + weights[ticks > moment].sum()
        worst = max(worst, cut / (2 * stream.carried * (after + sites)))
    return worst


@pytest.mark.parametrize("count", [1, 2, 9, 60, 256])
@pytest.mark.parametrize("shape", ["steady", "bursts", "crowded", "gaps", "slowing"])
def test_slices_that_straddle_a_moment_are_few(count, shape):
    rng = np.random.default_rng(count)
    config = make(epsilon=float(rng.choice([0.5, 0.1])), window=3000)
    ticks, items = ticks_of(shape, 30_000, 3000, rng), zipf_items(30_000, 300, rng)
    where = np.minimum(rng.geometric(min(4 / count, 0.5), 30_000) - 1, count - 1)
    sites = [fed(config, items[where == i], ticks[where == i]) for i in range(count)]
    for some in (sites, [ecm.merge(sites[i : i + 7]) for i in range(0, count, 7)]):
        merged = ecm.merge(some)
        assert straddling(merged, count) <= 1 + 1e-9
        more = merged.now + np.arange(2000)
        merged.update_many(items[:2000], more)
        assert straddling(merged, count) <= 1 + 1e-9
