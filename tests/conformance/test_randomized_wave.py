"""Randomized waves: exact while they can be, within epsilon but for delta otherwise, and merged without loss."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.config.memory import WAVE_LEVELS
from ecmsketch.counters.waves.drawing import Draws, draw_levels, draw_weighted_levels, half_of
from ecmsketch.counters.waves.randomized_wave import RandomizedWaves
from oracles import counts_after
from streams import streams, ticks_of

WINDOW = 500


def config(epsilon=0.3, **more):
    return ecm.SketchConfig(**{"epsilon": epsilon, "delta": 0.3, "window": WINDOW, "counter": "rw", **more})


def fill(waves, ticks, weights=None, cell=0):
    waves.add(np.full((1, len(ticks)), cell, np.uint32), ticks, weights, int(ticks[0]), int(ticks[-1]))
    return waves


def keep(waves, ticks, levels, cell=0):
    """Arrivals with given levels."""
    draws = Draws(np.arange(len(ticks)), levels.astype(np.uint8), np.ones(len(ticks), np.int64))
    cells = np.full((1, len(ticks)), cell, np.uint32)
    for instance in range(waves.config.wave_instances):
        waves.add_drawn(cells, ticks, draws, instance, int(ticks[0]), int(ticks[-1]))
    waves.arrived += len(ticks)


@given(stream=streams(WINDOW, most=2000, weighted=False), instances=st.sampled_from([1, 3]))
def test_exact_as_long_as_every_level_is_complete(stream, instances):
    waves = fill(RandomizedWaves(config(wave_constant=1000, wave_instances=instances), 5), stream.ticks)
    now = int(stream.ticks[-1])
    assert waves.config.samples > 2000
    for since in range(now - WINDOW, now, 17):
        exact = counts_after(stream.ticks, np.ones(len(stream.ticks)), since)
        reading = waves.read(np.array([0], np.uint32), since, now, int(stream.ticks[0]))
        assert reading.lower[0] == reading.value[0] == reading.upper[0] == exact


@given(
    stream=streams(WINDOW, most=3000, weighted=False),
    sites=st.sampled_from([2, 3, 7]),
    seed=st.integers(0, 1000),
    instances=st.sampled_from([1, 3]),
)
def test_the_merge_of_split_streams_is_the_unsplit_wave_exactly(stream, sites, seed, instances):
    """Given the same levels of the same arrivals, whoever saw them; also if a site drew higher levels than others."""
    rng = np.random.default_rng(seed)
    settings = config(wave_constant=1.0, wave_instances=instances)
    levels = np.minimum(rng.geometric(0.5, len(stream.ticks)) - 1, WAVE_LEVELS - 1)
    where = rng.integers(0, sites, len(stream.ticks))
    whole, parts = RandomizedWaves(settings, 5), []
    keep(whole, stream.ticks, levels)
    for site in range(sites):
        mine = where == site
        if mine.any():
            parts.append(RandomizedWaves(settings, site))
            keep(parts[-1], stream.ticks[mine], levels[mine])
    now = int(stream.ticks[-1])
    merged = RandomizedWaves.merge(parts, [], now)
    merged.key = whole.key
    assert merged.encode(now) == whole.encode(now)


@pytest.mark.parametrize("instances", [1, 3])
@pytest.mark.parametrize("shape", ["steady", "bursts"])
@pytest.mark.parametrize("weighted", [False, True])
def test_counters_miss_epsilon_with_probability_delta_sw_at_most(instances, shape, weighted):
    """400 trials each; failures may exceed delta_sw by three standard deviations."""
    settings = config(epsilon=0.3, delta=0.3, wave_instances=instances)
    trials, failures, worst = 400, 0, 0
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        ticks = ticks_of(shape, 6000, 1000, rng)
        weights = rng.choice([1, 5, 200, 100_000], 6000) if weighted else None
        waves = fill(RandomizedWaves(settings, trial), ticks, weights)
        now = int(ticks[-1])
        since = now - int(rng.integers(WINDOW // 2, WINDOW + 1))
        exact = counts_after(ticks, np.ones(6000) if weights is None else weights, since)
        reading = waves.read(np.array([0], np.uint32), since, now, int(ticks[0]))
        worst = max(worst, exact)
        failures += abs(reading.value[0] - exact) > settings.epsilon_sw * exact
        failures += not reading.lower[0] <= exact <= reading.upper[0] and (
            abs(reading.value[0] - exact) <= 0.9 * settings.epsilon_sw * exact
        )
    assert worst > settings.samples, "else nothing was sampled"
    delta = settings.delta_sw
    assert failures <= trials * delta + 3 * np.sqrt(trials * delta * (1 - delta))


def test_sites_that_see_the_same_pattern_draw_different_samples():
    """33 sites with one heartbeat: if all drew alike, the merged sample would be 33 copies of one."""
    settings = config(epsilon=0.1, delta=0.1, window=10_000)
    heartbeat = np.arange(20_000)
    errors = []
    for trial in range(5):
        sites = [ecm.EcmSketch(settings, site=f"{trial}-{i}") for i in range(33)]
        for site in sites:
            site.update_many(np.zeros(len(heartbeat), np.int64), heartbeat)
        merged = ecm.merge(sites)
        errors.append(abs(merged.estimate(0, last=9_000).value / (33 * 9_000) - 1))
    assert np.mean(errors) < settings.epsilon_sw / 2


@pytest.mark.parametrize("combine", [ecm.concat, ecm.merge])
def test_days_of_one_site_may_share_its_name(combine):
    """24 segments: if all drew alike, half of the answers would be wrong."""
    settings, misses = config(epsilon=0.3, delta=0.1, window=30_000), 0
    for trial in range(60):
        segments = []
        for hour in range(24):
            sketch = ecm.EcmSketch(settings, site=f"site {trial}")
            sketch.update_many(np.zeros(1000, np.int64), 1000 * hour + np.arange(1000))
            segments.append(sketch)
        misses += not combine(segments).estimate(0, last=20_000).covers(20_000)
    assert misses <= 60 * 0.1 + 3 * np.sqrt(60 * 0.1 * 0.9)


def test_copies_are_not_merged():
    sketch = ecm.EcmSketch(config(), site="x")
    sketch.update_many([1, 2], [1, 2])
    with pytest.raises(ecm.errors.MergeError, match="same samples"):
        ecm.merge([sketch, sketch.copy()])


@pytest.mark.parametrize("instances", [1, 3])
@pytest.mark.parametrize("epsilon", [0.9, 0.5])
def test_the_largest_counts_and_the_smallest_samples(epsilon, instances):
    sketch = ecm.EcmSketch(config(epsilon=epsilon, delta=0.5, wave_instances=instances), site="x")
    sketch.update("a", 1, weight=2**52)
    assert sketch.estimate("a").value == pytest.approx(2**52, rel=1)


def test_confidence_knows_the_constant():
    assert config(wave_constant=1.0, delta=0.001).confidence < 0.5
    assert config(wave_constant=36, delta=0.001).confidence > 0.999


def test_levels_are_geometric():
    levels = draw_levels(np.uint64(9), 0, 1_000_000).level
    shares = np.bincount(levels, minlength=8)[:8] / 1e6
    assert shares == pytest.approx(0.5 ** np.arange(1, 9), rel=0.03)


def test_neighbouring_keys_draw_independently():
    one, two = (draw_levels(np.uint64(key), 0, 200_000).level == 0 for key in (100, 101))
    assert (one & two).mean() == pytest.approx(0.25, abs=0.005)


@pytest.mark.parametrize("weight", [65, 5000, 10**9, 2**50])
def test_heavy_weights_are_shared_out_like_single_arrivals(weight):
    draws = [draw_weighted_levels(np.uint64(key), 0, np.array([weight]), 2**60) for key in range(200)]
    copies = np.array([draw.copies for draw in draws])
    assert (copies.sum(axis=1) == weight).all()
    shares = copies[:, :3].mean(axis=0) / weight
    assert shares == pytest.approx([0.5, 0.25, 0.125], rel=0.1)
    deviation = copies[:, 0].std() / (np.sqrt(weight) / 2)
    assert 0.8 < deviation < 1.25


def test_half_of_few_coins_is_exact():
    heads = [half_of(np.uint64(3), number, 1) for number in range(1000)]
    assert set(heads) == {0, 1}
    assert 430 < sum(heads) < 570
    assert half_of(np.uint64(3), 5, 0) == 0


class TestSketch:
    def test_names_make_draws_repeatable(self):
        rng = np.random.default_rng(0)
        items, ticks = rng.integers(0, 50, 20_000), np.arange(20_000) // 40
        one, again, other = (ecm.EcmSketch(config(), site=name) for name in ("a", "a", "b"))
        for sketch in (one, other):
            sketch.update_many(items, ticks)
        for item, tick in zip(items.tolist(), ticks.tolist(), strict=True):
            again.update(item, tick)
        assert one == again
        assert one != other
        assert ecm.EcmSketch(config()) != ecm.EcmSketch(config())

    def test_joins_are_refused_with_the_reason_unless_asked_for(self):
        sketch = ecm.EcmSketch(config())
        sketch.update_many([1, 2], [1, 2])
        for ask in (sketch.self_join, lambda **more: sketch.inner_product(sketch, **more)):
            with pytest.raises(ecm.errors.QueryError, match="unproven=True"):
                ask()
            assert ask(unproven=True).value >= 2

    def test_merging_adds_no_level_of_error(self):
        settings = config(epsilon=0.1, delta=0.1, window=5000, merge_depth=3)
        rng = np.random.default_rng(0)
        items, ticks = rng.integers(0, 20, 100_000), np.arange(100_000) // 20
        sites = [ecm.EcmSketch(settings, site=str(i)) for i in range(8)]
        for i, site in enumerate(sites):
            site.update_many(items[i::8], ticks[i::8])
        merged = ecm.merge(sites)
        assert (merged.merge_levels, merged.epsilon) == (0, pytest.approx(0.1))
        for last in (100, 1000, 5000):
            exact = np.bincount(items[ticks > ticks[-1] - last], minlength=20)
            found = merged.estimate_many(np.arange(20), last=last)
            assert (np.abs(found.value - exact) <= 0.1 * exact.sum()).all()

    def test_the_budget_is_the_sharp_or_the_papers_with_the_corrected_delta(self):
        settings = config(epsilon=0.1, delta=0.1, split="paper")
        assert (settings.epsilon_sw, settings.epsilon_cm) == pytest.approx((0.0659646, 0.0319292), abs=1e-6)
        settings = config(epsilon=0.1, delta=0.1)
        assert (settings.epsilon_sw, settings.epsilon_cm) == pytest.approx((0.1, 0.1 / 1.1))
        assert settings.depth == 3
        assert settings.delta_sw == pytest.approx(0.1 / 6)
        assert settings.confidence >= 0.9
