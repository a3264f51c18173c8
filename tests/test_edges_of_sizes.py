"""Sizes at which another path begins, and what must not depend on them; errors of merging as guaranteed."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch.errors import InputError
from read_by_hand import put_together, read_slices, taken_apart

PATHS = (64, 1024, 2048, 4096, 65_536, 131_072, 196_608)
"""Sizes of batches at which one of the versions of this library goes another way."""


def fed(config, items, ticks, sizes, weights=None):
    """A sketch that was fed in batches of these sizes; the last one is as large as it has to be."""
    sketch, at = ecm.EcmSketch(config), 0
    for size in sizes:
        end = min(at + size, len(items))
        sketch.update_many(items[at:end], ticks[at:end], None if weights is None else weights[at:end])
        at = end
    if at < len(items):
        sketch.update_many(items[at:], ticks[at:], None if weights is None else weights[at:])
    return sketch


@pytest.fixture(scope="module")
def stream():
    rng = np.random.default_rng(7)
    return rng.zipf(1.2, 300_000) % 5000, np.sort(rng.integers(0, 100_000, 300_000))


CONFIGS = {
    "coarse": {"epsilon": 0.3},
    "window that ends": {"epsilon": 0.3, "window": 20_000},
    "middle": {"epsilon": 0.1},
    "names": {"epsilon": 0.2, "heavy_hitters": True},
    "wide blocks": {"epsilon": 0.3, "resolution": 0.02},
}


@pytest.mark.parametrize("name", list(CONFIGS))
def test_bytes_do_not_depend_on_the_sizes_of_batches(name, stream):
    items, ticks = stream
    config = ecm.SketchConfig(**{"delta": 0.2, "window": 10**6, **CONFIGS[name]})
    expected = fed(config, items, ticks, [1000] * 300).serialize()
    first = config.recent + 2 * config.block
    known = [1, 777, config.block - 1, config.block, config.recent, first - 1, first, first + 1]
    for begin in known:
        for size in (131_071, 131_072, 4 * first, 299_223):
            if size > 65_536:
                assert fed(config, items, ticks, [begin, size]).serialize() == expected, (begin, size)
    for size in PATHS:
        for by in (-1, 0, 1):
            assert fed(config, items, ticks, [size + by] * (300_000 // (size - 1) + 1)).serialize() == expected, (
                size + by
            )


@pytest.mark.parametrize("late", [0, 5])
def test_a_large_batch_after_weights_or_late_events(late, stream):
    items, ticks = stream
    config = ecm.SketchConfig(epsilon=0.3, delta=0.2, window=10**6, late="side")
    sketches = []
    for sizes in ([200_000], [1000] * 200):
        sketch = fed(config, items[:3000], ticks[:3000], [3000], np.arange(3000) % 3 + 1)
        if late:
            sketch.update_many(items[:late], ticks[:late])
        at = 3000
        for size in sizes:
            sketch.update_many(items[at : at + size], ticks[at : at + size])
            at += size
        sketches.append(sketch.serialize())
    assert sketches[0] == sketches[1]


@pytest.mark.parametrize("epsilon", [0.2, 0.5, 0.8])
def test_bytes_remember_all_that_late_events_depend_on(epsilon):
    """What has left the window is not in the bytes. So it must not matter for late events that follow."""
    config = ecm.SketchConfig(epsilon=epsilon, delta=0.3, window=1000, late="side")
    rng = np.random.default_rng(5)
    left = 0
    for _ in range(60):
        sketch = ecm.EcmSketch(config)
        events = int(rng.integers(2000, 9000))
        ticks = np.sort(rng.integers(0, 1500, events))
        sketch.update_many(rng.integers(0, 30, events), ticks, rng.choice([1, 1, 1, 400], events))
        sketch.advance(int(ticks[-1]) + int(rng.integers(0, 990)))
        again = ecm.EcmSketch.deserialize(sketch.serialize())
        left += again.nbytes < sketch.nbytes
        late = int(rng.integers(1, 3000))
        some, moments = rng.integers(0, 30, late), sketch.now - rng.integers(0, 1000, late)
        for each in (sketch, again):
            each.update_many(some, moments)
        assert sketch.serialize() == again.serialize()
        for each in (sketch, again):
            each.update_many(some, np.sort(moments) + 400)
        assert sketch.serialize() == again.serialize()
    assert left > 20


# Merging


def merged_cells(levels, counter="eh", epsilon=0.2):
    """The bytes of one sketch with cells, as if it had so many levels of merging behind it (docs/format.md)."""
    rng = np.random.default_rng(2)
    config = ecm.SketchConfig(epsilon=epsilon, delta=0.3, window=10**5, counter=counter)
    sketch = ecm.EcmSketch(config)
    sketch.update_many(rng.zipf(1.5, 9000) % 40, np.sort(rng.integers(0, 8000, 9000)))
    parts = taken_apart(sketch.serialize())
    assert "levels" not in parts.fields
    if levels:
        parts = parts._replace(flags=parts.flags | 64, fields={**parts.fields, "levels": levels})
    return ecm.EcmSketch.deserialize(put_together(parts))


@pytest.mark.parametrize("counter", ["eh", "dw"])
@pytest.mark.parametrize("levels", [1, 2, 5])
def test_every_level_of_merging_widens_bounds_by_what_it_displaces(counter, levels):
    """docs/guarantees.md: a level displaces a true count N to (1 - epsilon) N to (1 + epsilon) N. So bounds of the
    truth are what is read, divided by these.
    """
    plain, merged = merged_cells(0, counter), merged_cells(levels, counter)
    epsilon = plain.config.epsilon_sw
    for last in (100, 1500, 5000):
        before, after = plain.table(last=last), merged.table(last=last)
        np.testing.assert_array_equal(after.value, before.value)
        np.testing.assert_allclose(after.lower, before.lower / (1 + epsilon) ** levels)
        np.testing.assert_allclose(after.upper, before.upper / (1 - epsilon) ** levels)
        assert merged.estimate(1, last=last).upper > plain.estimate(1, last=last).upper
        assert merged.total(last=last).upper >= plain.total(last=last).upper / (1 - epsilon) ** levels * (1 - 1e-12)
    assert merged.total(last=10**5) == plain.total(last=10**5), "a range of everything is not displaced"


@pytest.mark.parametrize("counter", ["eh", "dw"])
def test_merged_bounds_hold_where_all_buckets_are_displaced_one_way(counter):
    config = ecm.SketchConfig(epsilon=0.5, delta=0.3, window=10**6, counter=counter)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        sketches, ticks = [], []
        for _ in range(8):
            sketch = ecm.EcmSketch(config)
            some = np.sort(rng.integers(0, 5000, 1000))
            sketch.update_many(np.zeros(1000, np.int64), some)
            sketches.append(sketch)
            ticks.append(some)
        tree, ticks = ecm.merge(sketches, "binary"), np.concatenate(ticks)
        assert tree.merge_levels == 3
        for last in range(1, tree.now, 61):
            exact = int(np.sum(ticks > tree.now - last))
            assert tree.estimate(0, last=last).lower <= exact <= tree.estimate(0, last=last).upper


@pytest.mark.parametrize("resolution", [None, 0.2, 0.02])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_levels_of_merging_cost_what_the_guarantees_say(depth, resolution):
    """docs/guarantees.md: c(0) = epsilon_t, c(h) = (h + 2) epsilon_t; merge_depth=h divides by h + 2."""
    config = ecm.SketchConfig(epsilon=0.3, delta=0.2, window=10**6, merge_depth=depth, resolution=resolution)
    promise = 0.15 if resolution is None else resolution
    assert config.epsilon_t == pytest.approx(promise / (depth + 2))
    assert ecm.SketchConfig(epsilon=0.3, delta=0.2, window=10**6, resolution=resolution).epsilon_t == promise
    rng = np.random.default_rng(depth)
    events = max(6000, 3 * config.recent)
    sites = []
    for _ in range(2**depth):
        site = ecm.EcmSketch(config)
        site.update_many(rng.integers(0, 9, events), np.sort(rng.integers(0, events, events)))
        sites.append(site)
    assert sites[0].epsilon == pytest.approx(config.epsilon_t + config.epsilon_cm)
    tree = ecm.merge(sites, "binary")
    assert tree.merge_levels == depth
    assert tree.epsilon == pytest.approx((depth + 2) * config.epsilon_t + config.epsilon_cm)
    assert ecm.merge(sites).epsilon == pytest.approx(3 * config.epsilon_t + config.epsilon_cm)


def test_the_first_level_of_merging_is_enough_for_slices_of_many_sites_to_be_joined():
    """The reason for the 2 in c(h) = (h + 2) epsilon_t: joined slices of 20 sites are about as many as those of one."""
    rng = np.random.default_rng(1)
    config = ecm.SketchConfig(epsilon=0.3, delta=0.2, window=10**7)
    sites = []
    for _ in range(20):
        site = ecm.EcmSketch(config)
        site.update_many(rng.integers(0, 9, 6000), np.sort(rng.integers(0, 10**6, 6000)))
        sites.append(site)
    counts = [len(read_slices(taken_apart(each.serialize())).slices) for each in (sites[0], ecm.merge(sites))]
    assert counts[1] <= 2.5 * counts[0], counts


# Values of cells are centred


@pytest.mark.parametrize("counter", ["eh", "dw"])
@pytest.mark.parametrize("delta", [0.5, 0.2, 0.05])
def test_an_item_that_makes_up_a_stream_is_not_taken_for_a_collision(counter, delta):
    """The others in its row are few, so no more than those are subtracted."""
    config = ecm.SketchConfig(epsilon=0.5, delta=delta, window=10**6, counter=counter)
    sketch, events = ecm.EcmSketch(config), 2000
    sketch.update_many(np.full(events, 7), np.arange(events))
    for last in (10**6, 700, 90):
        found = sketch.estimate(7, last=last, confidence=1)
        exact = min(last, events)
        assert abs(found.value - exact) <= 1.001 * config.epsilon_sw * exact, last
    assert sketch.estimate(7, confidence=1).value == events
    mixed = ecm.EcmSketch(config)
    mixed.update_many(np.where(np.arange(events) % 20, 7, np.arange(events)), np.arange(events))
    exact, others = events - ceil(events / 20), ceil(events / 20)
    for keys in (7, [7, 8]):
        found = mixed.estimate(7, confidence=1) if keys == 7 else mixed.estimate_many(keys, confidence=1)[0]
        assert exact - others / config.width <= found.value <= exact + others


@pytest.mark.parametrize("counter", ["eh", "dw", "slices"])
@pytest.mark.parametrize("delta", [0.3, 0.05, 0.002])
def test_values_of_many_items_are_centred(counter, delta):
    """The least collision of several rows is expected to be less than that of one row: no more is subtracted."""
    config = ecm.SketchConfig(epsilon=0.05, delta=delta, window=10**6, counter=counter)
    rng, off = np.random.default_rng(11), []
    for seed in range(12):
        sketch = ecm.EcmSketch(config.replace(seed=seed))
        items = rng.integers(0, 200, 4000)
        sketch.update_many(items, np.arange(4000))
        found = np.asarray(sketch.estimate_many(np.arange(200), confidence=1).value)
        off.append(np.mean(found - np.bincount(items, minlength=200)))
    per_row = 4000 / config.width
    assert abs(np.mean(off)) < 0.1 * per_row, (np.mean(off), per_row)


@pytest.mark.parametrize("counter", ["slices", "eh"])
def test_an_arrival_exactly_as_late_as_allowed_is_too_late(counter):
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=100, counter=counter, late="side", lateness=5)
    sketch = ecm.EcmSketch(config)
    sketch.update_many([1], [20])
    sketch.update_many([2, 3], [15, 16])
    assert (sketch.late_dropped, sketch.late_counted) == (1, 1)
    assert (sketch.estimate(2).upper, sketch.estimate(3).value) == (0, 1)


def test_single_arrivals_never_make_more_than_a_window_may_have():
    sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.1, delta=0.1, window=100))
    sketch.update_many([1], [1], [2**53 - 2**40])
    for _ in range(2**8):
        sketch.update(1, 1, 2**32)
    with pytest.raises(InputError, match="2\\*\\*53"):
        sketch.update(1, 1, 2**32)
    assert sketch.total().value == 2**53
