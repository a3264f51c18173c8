"""Questions exactly on an edge: on the first and last tick of every slice and summary, one before, and one after.

A tick is asked about as the beginning and as the end of a range. Where a slice or a summary begins or ends is read from
the bytes, so these tests know nothing of the code's insides.
"""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest

import ecmsketch as ecm
from read_by_hand import read_slices, take_varints, taken_apart

WINDOW = 10**6


def crowded(events, per_tick, rng, items=3):
    """So many events, about `per_tick` of them on a tick."""
    return rng.integers(0, items, events), np.sort(rng.integers(0, events // per_tick, events))


def sliced(epsilon=0.3, events=12_000, per_tick=4, seed=1, **changes):
    rng = np.random.default_rng(seed)
    config = ecm.SketchConfig(**{"epsilon": epsilon, "delta": 0.2, "window": WINDOW, **changes})
    items, ticks = crowded(events, per_tick, rng)
    sketch = ecm.EcmSketch(config)
    sketch.update_many(items, ticks)
    return sketch, items, ticks


def carried(sketch):
    """How sharply the start of a range is honoured, merging included."""
    return sketch.epsilon - sketch.config.epsilon_cm


def edges(sketch):
    """Every tick on which a slice begins or ends, with its neighbours."""
    ends = {tick for each in read_slices(taken_apart(sketch.serialize())).slices for tick in (each.first, each.last)}
    assert len(ends) > 10
    return sorted({tick + by for tick in ends for by in (-1, 0, 1)})


def merged(sites=4, **changes):
    rng = np.random.default_rng(9)
    config = ecm.SketchConfig(**{"epsilon": 0.3, "delta": 0.2, "window": WINDOW, **changes})
    parts, items, ticks = [], [], []
    for _ in range(sites):
        part = ecm.EcmSketch(config)
        some, moments = crowded(6000, 3, rng)
        part.update_many(some, moments)
        parts.append(part)
        items.append(some)
        ticks.append(moments)
    items, ticks = np.concatenate(items), np.concatenate(ticks)
    order = np.argsort(ticks, kind="stable")
    return ecm.merge(parts), items[order], ticks[order]


CASES = {
    "one stream": sliced,
    "wide": lambda: sliced(epsilon=0.6, resolution=0.3),
    "half": lambda: sliced(estimator="half", seed=4),
    "merged": merged,
    "merged, fine": lambda: merged(resolution=0.1),
}


@pytest.fixture(scope="module", params=list(CASES), ids=list(CASES))
def case(request):
    return CASES[request.param]()


def test_totals_on_every_edge(case):
    """Bounds hold where a range begins or ends on an edge of a slice."""
    sketch, _, ticks = case
    asked = edges(sketch)
    for since, until in [*((tick, sketch.now) for tick in asked), *((asked[0] - 1, tick) for tick in asked)]:
        exact = np.searchsorted(ticks, until, side="right") - np.searchsorted(ticks, since, side="right")
        found = sketch.total(between=(since, until))
        assert found.lower <= exact <= found.upper, (since, until)
        assert found.confidence == 1


def test_a_range_from_edge_to_edge_cuts_nothing():
    sketch, _, ticks = sliced()
    slices = read_slices(taken_apart(sketch.serialize())).slices
    for begin in range(0, len(slices), 7):
        for end in (begin, begin + 1, begin + 20, len(slices) - 1):
            if end >= len(slices):
                continue
            first, last = slices[begin].first, slices[end].last
            found = sketch.total(between=(first - 1, last))
            cut = sum(each.arrivals for each in slices[begin - 1 : begin] if each.last >= first)
            cut += sum(each.arrivals for each in slices[end + 1 : end + 2] if each.first <= last)
            inside = sum(each.arrivals for each in slices[begin : end + 1])
            assert (found.lower, found.upper) == (inside, inside + cut)
            assert found.lower <= np.sum((ticks >= first) & (ticks <= last)) <= found.upper


def test_an_arrival_on_the_tick_where_a_range_begins_is_not_in_it():
    """A slice that begins on the first tick of a range is cut by it."""
    sketch, _, ticks = sliced()
    for each in read_slices(taken_apart(sketch.serialize())).slices:
        found = sketch.total(between=(each.first, sketch.now))
        exact = int(np.sum(ticks > each.first))
        assert found.lower <= exact <= found.upper
        if each.first < each.last:
            assert found.lower <= sketch.total(between=(each.first - 1, sketch.now)).lower - each.arrivals


def test_a_value_stays_as_near_to_both_bounds_as_the_guarantee_says(case):
    """docs/guarantees.md: slices that straddle a moment add no less than their arrivals less the slack, and no more
    than the slack, which is max(X / 2, c (S + 1)): X arrivals straddle the moment, S are surely later.
    """
    sketch, _, _ = case
    tightest = np.inf
    for since in edges(sketch):
        found = sketch.total(between=(since, sketch.now))
        straddling = found.upper - found.lower
        slack = max(straddling / 2, carried(sketch) * (found.lower + 1)) * (1 + 1e-9)
        assert found.upper - found.value <= slack, since
        assert found.value - found.lower <= slack, since
        if straddling:
            tightest = min(tightest, slack / straddling)
    assert tightest < 0.9, "the limit is never below the slices themselves: this shows nothing"


def test_items_on_every_edge(case):
    """The same for items: certain bounds hold on every edge."""
    sketch, items, ticks = case
    names = np.arange(3)
    for since in edges(sketch):
        exact = np.bincount(items[ticks > since], minlength=3)
        found = sketch.estimate_many(names, between=(since, sketch.now), confidence=1)
        assert (np.asarray(found.lower) <= exact).all()
        assert (np.asarray(found.upper) >= exact).all()


def named(counter="slices", epsilon=0.1, **changes):
    rng = np.random.default_rng(3)
    config = ecm.SketchConfig(
        **{"epsilon": epsilon, "delta": 0.2, "window": WINDOW, "counter": counter, "heavy_hitters": True, **changes}
    )
    items, ticks = crowded(9000, 3, rng, items=4)
    sketch = ecm.EcmSketch(config)
    sketch.update_many(items, ticks)
    return sketch, items, ticks


@pytest.mark.parametrize("counter", ["slices", "eh"])
@pytest.mark.parametrize("side", ["since", "until"])
def test_certain_counts_of_names_on_every_tick(counter, side):
    """A summary that begins on the tick where a range begins lies in it in part only; so does one that ends later."""
    sketch, items, ticks = named(counter)
    begin = int(ticks[0])
    moments = {begin - 1, begin, begin + 1, int(ticks[-1]), *ticks[:: 23 if counter == "slices" else 91].tolist()}
    moments |= set(range(begin, begin + (700 if counter == "slices" else 60)))
    for moment in sorted(moments):
        ends = (moment, sketch.now) if side == "since" else (begin - 1, moment)
        exact = np.bincount(items[(ticks > ends[0]) & (ticks <= ends[1])], minlength=4)
        for hitter in sketch.top(4, between=ends, confidence=1):
            assert hitter.estimate.lower <= exact[hitter.item] <= hitter.estimate.upper, ends


@pytest.mark.parametrize("merge_depth", [0, 2])
def test_what_names_may_miss_is_epsilon_of_every_range(merge_depth):
    """Items that are all different leave summaries as much error as they may have. A range that begins inside one cuts
    it, and the names in it are missed too: this is what the summaries are finer for.
    """
    epsilon = 0.05
    config = ecm.SketchConfig(
        epsilon=epsilon, delta=0.3, window=WINDOW, heavy_hitters=True, merge_depth=merge_depth, counter="slices"
    )
    sketch, events = ecm.EcmSketch(config), 60_000
    sketch.update_many(np.arange(events), np.arange(events))
    largest = 0.0
    for last in range(2000, events, 83):
        missed = sketch.named_counts(last)[2]
        largest = max(largest, missed / last)
        assert missed <= epsilon * last * 1.25**-merge_depth
    assert largest > 0.8 * epsilon * 1.25**-merge_depth, "summaries are nowhere near what they may miss"


def test_what_names_may_miss_after_merging():
    epsilon, depth, sites = 0.1, 1, 8
    config = ecm.SketchConfig(epsilon=epsilon, delta=0.3, window=WINDOW, heavy_hitters=True, merge_depth=depth)
    parts, each = [ecm.EcmSketch(config) for _ in range(sites)], 20_000
    for place, part in enumerate(parts):
        part.update_many(np.arange(each) + place * each, np.arange(each))
    together = ecm.merge(parts)
    for last in range(500, each, 97):
        assert together.named_counts(last)[2] <= epsilon * last * sites


@pytest.mark.parametrize(("epsilon", "merge_depth"), [(0.1, 0), (0.1, 1), (0.02, 3), (0.5, 0)])
@pytest.mark.parametrize("distinct", ["skewed", "one too many"])
def test_a_summary_names_and_misses_what_the_format_says(epsilon, merge_depth, distinct):
    """docs/format.md: at most `size` names and an error of arrivals / (size + 1), and streams that come up to both."""
    size = ceil(1.25 ** (merge_depth + 1) / epsilon)
    config = ecm.SketchConfig(
        epsilon=epsilon, delta=0.5, window=WINDOW, heavy_hitters=True, merge_depth=merge_depth, counter="eh"
    )
    sketch = ecm.EcmSketch(config)
    events, rng = 30 * max(1024, 8 * size), np.random.default_rng(2)
    skewed = np.where(rng.random(events) < 0.9, np.arange(events) % size, rng.integers(size, 2**40, events))
    sketch.update_many(skewed if distinct == "skewed" else np.arange(events) % (size + 1), np.arange(events))
    rest = taken_apart(sketch.serialize()).rest
    (_, waiting, weighted, count, _), at = take_varints(rest, 25, 5)
    assert not weighted
    assert waiting < 3 * max(1024, 8 * size)
    numbers, _ = take_varints(rest, at, waiting + 5 * count)
    arrivals, errors, names = (numbers[waiting + k * count : waiting + (k + 1) * count] for k in (2, 3, 4))
    assert count > 10
    assert max(names) <= size
    assert all(error <= arrived // (size + 1) for error, arrived in zip(errors, arrivals, strict=True))
    if distinct == "skewed":
        assert max(names) > 0.85 * size
    else:
        assert max(error * (size + 1) / arrived for error, arrived in zip(errors, arrivals, strict=True)) > 0.9


@pytest.mark.parametrize(("epsilon", "merge_depth"), [(0.1, 0), (0.005, 0), (0.01, 2)])
def test_so_many_events_stay_as_they_are(epsilon, merge_depth):
    """docs/format.md: K = max(1024, 8 size) at least, and fewer than 3 K."""
    kept = max(1024, 8 * ceil(1.25 ** (merge_depth + 1) / epsilon))
    config = ecm.SketchConfig(
        epsilon=epsilon, delta=0.5, window=WINDOW, heavy_hitters=True, merge_depth=merge_depth, counter="eh"
    )
    for events, waiting in (
        (3 * kept - 1, 3 * kept - 1),
        (3 * kept, kept),
        (5 * kept - 1, 3 * kept - 1),
        (5 * kept, kept),
    ):
        for sizes in ((events,), (events - 1, 1), (kept, kept, events - 2 * kept)):
            sketch = ecm.EcmSketch(config)
            for size in sizes:
                sketch.update_many(np.arange(size) % 9, np.arange(size) + (sketch.now or 0))
            assert take_varints(taken_apart(sketch.serialize()).rest, 25, 5)[0][1] == waiting
