from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.errors import MergeError
from ecmsketch.kernels.hashing import cells_of
from ecmsketch.kernels.sorting import sort_by_tick
from streams import cuts, ticks_of, zipf_items

WINDOW = 2000


def make(**changes):
    return ecm.SketchConfig(**{"epsilon": 0.1, "delta": 0.1, "window": WINDOW, "counter": "eh", **changes})


def sites(count, config, seed=0, events=40_000, shape="bursts", weighted=False):
    """A stream, and the sketches of sites that each saw a part of it."""
    rng = np.random.default_rng(seed)
    items, ticks = zipf_items(events, 300, rng), ticks_of(shape, events, WINDOW, rng)
    weights = rng.integers(1, 20, events) if weighted else np.ones(events, np.int64)
    where = rng.integers(0, count, events)
    sketches = []
    for site in range(count):
        sketch = ecm.EcmSketch(config)
        sketch.update_many(items[where == site], ticks[where == site], weights[where == site])
        sketches.append(sketch)
    return sketches, items, ticks, weights


def cell_errors(sketch, items, ticks, weights, last, sites=1):
    """The worst relative error of any cell over a range, and whether every cell's bounds hold.

    The error of slices is relative to all arrivals of the range, and of one more from each site.
    """
    table = sketch._table(sketch.now - last, sketch.now)
    inside = ticks > sketch.now - last
    cells = cells_of(items[inside].astype(np.uint64), sketch.config.rows)
    exact = np.bincount(cells.ravel(), np.tile(weights[inside], len(cells)), minlength=sketch.config.cells)
    exact = exact.reshape(table.value.shape)
    error = np.abs(table.value - exact) / np.maximum(exact, 1)
    if sketch.config.counter == "slices":
        error = np.abs(table.value - exact) / (weights[inside].sum() + sites)
    within = (table.lower <= exact + 1e-6) & (exact <= table.upper + 1e-6)
    return error.max(), error.mean(), bool(within.all())


def slices_inside(sketch, now) -> int:
    """How many slices a sketch has inside the window at `now`: only these are written."""
    later = sketch.copy()
    later.advance(now)
    return ecm.EcmSketch.deserialize(later.serialize())._engine._stream.slice_count


@pytest.mark.parametrize("counter", ["eh", "dw", "slices"])
@pytest.mark.parametrize("count", [2, 3, 16, 64, 256])
@pytest.mark.parametrize("shape", ["steady", "bursts", "crowded"])
def test_n_sites_merged_at_once_stay_within_the_carried_bound(counter, count, shape):
    config = make(counter=counter)
    sketches, items, ticks, weights = sites(count, config, shape=shape)
    merged = ecm.merge(sketches)
    carried = 2 * config.epsilon_t if counter == "slices" else (1 + config.epsilon_sw) ** 2 - 1
    sliced = [sketch for sketch in sketches if counter != "slices" or slices_inside(sketch, merged.now)]
    assert merged.merge_levels == (1 if len(sliced) > 1 else 0)
    for last in (5, 100, 700, WINDOW):
        worst, _, within = cell_errors(merged, items, ticks, weights, last, count)
        assert within
        assert worst <= carried + 1e-9


@pytest.mark.parametrize("count", [2, 5, 32])
def test_the_papers_binary_tree_carries_a_level_each(count):
    config = make()
    sketches, items, ticks, weights = sites(count, config, weighted=True)
    merged = ecm.merge(sketches, method="binary")
    levels = int(np.ceil(np.log2(count)))
    assert merged.merge_levels == levels
    for last in (100, 700, WINDOW):
        worst, _, within = cell_errors(merged, items, ticks, weights, last)
        assert within
        assert worst <= (1 + config.epsilon_sw) ** (levels + 1) - 1


@pytest.mark.parametrize(("split", "ratio"), [("sharp", 0.9), ("paper", 0.7)])
def test_merging_at_once_is_more_accurate_than_a_binary_tree(split, ratio):
    sketches, items, ticks, weights = sites(32, make(split=split), events=100_000, shape="steady")
    at_once, tree = (
        np.mean([cell_errors(ecm.merge(sketches, method), items, ticks, weights, last)[1] for last in (300, 900, 2000)])
        for method in ("n-way", "binary")
    )
    assert at_once < ratio * tree


def test_merge_depth_in_the_config_pays_for_merging():
    config = make(merge_depth=1)
    sketches, items, ticks, weights = sites(16, config)
    merged = ecm.merge(sketches)
    assert merged.epsilon == pytest.approx(0.1)
    assert ecm.merge([ecm.EcmSketch(make()), *sites(2, make())[0]]).epsilon > 0.1
    for last in (100, WINDOW):
        worst, _, _ = cell_errors(merged, items, ticks, weights, last)
        assert worst <= (1 + make().epsilon_sw) - 1


def test_sites_with_other_clocks_and_late_arrivals_are_merged_too():
    config = make(late="side", lateness=300)
    rng = np.random.default_rng(9)
    sketches, items, ticks = [], [], []
    for site in range(6):
        sketch = ecm.EcmSketch(config)
        for _ in range(30):
            now = sketch.now or 0
            batch = now + np.cumsum(rng.integers(0, 3, 100))
            late = now - rng.integers(1, 290, 10) if now else np.empty(0, np.int64)
            names = rng.integers(0, 50, len(batch) + len(late))
            sketch.update_many(names, np.concatenate([batch, late]))
            items.append(names)
            ticks.append(np.concatenate([batch, late]))
        sketch.advance(sketch.now + 100 * site)
        assert sketch.late_counted > 0
        assert sketch.late_dropped == 0
        sketches.append(sketch)
    items, ticks = np.concatenate(items), np.concatenate(ticks)
    merged = ecm.merge(sketches)
    assert merged.now == max(sketch.now for sketch in sketches)
    assert merged.late_counted == sum(sketch.late_counted for sketch in sketches)
    for last in (200, 1000, WINDOW):
        worst, _, within = cell_errors(merged, items, ticks, np.ones(len(items)), last)
        assert within
        assert worst <= (1 + config.epsilon_sw) ** 2 - 1


@pytest.mark.parametrize("counter", ["eh", "dw", "slices"])
@pytest.mark.parametrize("pieces", [1, 2, 7, 64])
@pytest.mark.parametrize("model", ["time", "count"])
@pytest.mark.parametrize("shape", ["steady", "gaps"])
def test_concatenated_segments_are_as_good_as_one_sketch(counter, pieces, model, shape):
    rng = np.random.default_rng(pieces)
    items, ticks = zipf_items(20_000, 300, rng), ticks_of(shape, 20_000, WINDOW, rng)
    config = make(model=model, counter=counter)
    segments = []
    for piece in cuts(20_000, pieces, rng):
        segment = ecm.EcmSketch(config)
        segment.update_many(items[piece], ticks[piece] if model == "time" else None)
        segments.append(segment)
    joined = ecm.concat(segments)
    if model == "count":
        ticks = np.arange(1, 20_001)
    assert joined.merge_levels == 0
    assert joined.now == ticks[-1]
    for last in (10, 500, WINDOW):
        worst, _, within = cell_errors(joined, items, ticks, np.ones(20_000), last)
        assert within
        assert worst <= config.epsilon_sw + 1e-9


@pytest.mark.parametrize("counter", ["eh", "dw", "rw", "slices"])
@pytest.mark.parametrize("combine", [ecm.merge, ecm.concat])
def test_count_based_and_empty_parts_behave_alike_for_every_counter(counter, combine):
    config = make(model="count", counter=counter)
    sketch = ecm.EcmSketch(config, site="x")
    sketch.update_many(np.arange(100) % 3, weights=np.full(100, 2))
    if combine is ecm.merge:
        with pytest.raises(MergeError, match="figure 2"):
            combine([sketch, sketch])
    else:
        other = ecm.EcmSketch(config, site="y")
        other.update_many(np.arange(100) % 3, weights=np.full(100, 2))
        joined = combine([sketch, ecm.EcmSketch(config), other])
        assert (joined.now, joined.total(last=300).value) == (400, 300)
        assert joined.estimate(0).covers(136)


def test_a_concatenated_sketch_lives_on():
    rng = np.random.default_rng(0)
    items, ticks = zipf_items(30_000, 300, rng), ticks_of("steady", 30_000, WINDOW, rng)
    config = make()
    joined = ecm.EcmSketch(config)
    for piece in cuts(30_000, 50, rng):
        segment = ecm.EcmSketch(config)
        segment.update_many(items[piece][: len(items[piece]) // 2], ticks[piece][: len(items[piece]) // 2])
        joined = ecm.concat([joined, segment])
        joined.update_many(items[piece][len(items[piece]) // 2 :], ticks[piece][len(items[piece]) // 2 :])
    for last in (10, 500, WINDOW):
        worst, _, within = cell_errors(joined, items, ticks, np.ones(30_000), last)
        assert within
        assert worst <= config.epsilon_sw + 1e-9
    whole = ecm.EcmSketch(config)
    whole.update_many(items, ticks)
    assert joined.bucket_count < 3 * whole.bucket_count


def test_concatenation_is_compact():
    rng = np.random.default_rng(0)
    items, ticks = zipf_items(64_000, 300, rng), np.arange(64_000) // 40
    config = make()
    whole = ecm.EcmSketch(config)
    whole.update_many(items, ticks)
    segments = [ecm.EcmSketch(config) for _ in range(64)]
    for i, segment in enumerate(segments):
        segment.update_many(items[1000 * i : 1000 * (i + 1)], ticks[1000 * i : 1000 * (i + 1)])
    assert ecm.concat(segments).bucket_count < 1.5 * whole.bucket_count


class TestWhatCannotBeCombined:
    def test_other_configs(self):
        with pytest.raises(MergeError, match="seed is 0 in one and 1 in another"):
            ecm.merge([ecm.EcmSketch(make()), ecm.EcmSketch(make(seed=1))])
        with pytest.raises(MergeError, match="epsilon"):
            ecm.concat([ecm.EcmSketch(make()), ecm.EcmSketch(make(epsilon=0.2))])

    def test_count_based_windows(self):
        with pytest.raises(MergeError, match="figure 2"):
            ecm.merge([ecm.EcmSketch(make(model="count"))] * 2)

    def test_nothing(self):
        with pytest.raises(MergeError, match="at least one"):
            ecm.merge([])
        with pytest.raises(MergeError, match="at least one"):
            ecm.concat([])

    def test_bytes(self):
        with pytest.raises(MergeError, match="deserialize"):
            ecm.merge([b"ECMS"])

    @pytest.mark.parametrize("sketches", [5, None, ecm.EcmSketch(make())])
    def test_not_a_list(self, sketches):
        for combine in (ecm.merge, ecm.concat):
            with pytest.raises(MergeError, match="list of sketches"):
                combine(sketches)

    def test_merging_again_and_again(self):
        one, other = sites(2, make(), events=10)[0]
        for _ in range(64):
            one = ecm.merge([one, other])
        assert ecm.EcmSketch.deserialize(one.serialize()) == one
        with pytest.raises(MergeError, match="in one call"):
            ecm.merge([one, other])

    def test_unknown_methods(self):
        with pytest.raises(MergeError, match="n-way"):
            ecm.merge([ecm.EcmSketch(make())], method="quick")

    def test_segments_that_overlap(self):
        early, late = ecm.EcmSketch(make()), ecm.EcmSketch(make())
        early.update_many(["a", "a"], [1, 10])
        late.update_many(["a", "a"], [9, 20])
        for order in ([early, late], [late, early]):
            with pytest.raises(MergeError, match="overlap"):
                ecm.concat(order)


def test_empty_sketches_add_nothing_and_no_error():
    sketch = sites(1, make())[0][0]
    empty = ecm.EcmSketch(make())
    empty.advance(sketch.now + 50)
    assert ecm.merge([sketch]) == sketch
    for combined in (ecm.merge([ecm.EcmSketch(make()), sketch, empty]), ecm.concat([sketch, empty])):
        assert combined.merge_levels == 0
        assert combined.now == sketch.now + 50
        expected = sketch.copy()
        expected.advance(sketch.now + 50)
        assert combined.total(last=500) == expected.total(last=500)
    assert ecm.concat([ecm.EcmSketch(make()), sketch, ecm.EcmSketch(make())]).now == sketch.now
    assert ecm.merge([ecm.EcmSketch(make())] * 3).is_empty


def test_combining_changes_none_of_the_parts():
    sketches = sites(3, make())[0]
    before = [sketch.serialize() for sketch in sketches]
    ecm.merge(sketches).update("x", 10**6)
    ecm.concat([sketches[0]]).update("x", 10**6)
    assert [sketch.serialize() for sketch in sketches] == before


@given(st.lists(st.tuples(st.integers(-(2**60), 2**60) | st.integers(0, 50), st.integers(1, 9)), max_size=200))
def test_points_are_sorted_by_tick_and_keep_their_order(points):
    ticks, weights = (np.array(column, np.int64) for column in (zip(*points, strict=True) if points else ([], [])))
    expected = sorted(points, key=lambda point: point[0])
    sort_by_tick(ticks, weights)
    assert list(zip(ticks.tolist(), weights.tolist(), strict=True)) == expected
