"""Randomized waves: exact while they can be, within epsilon but for delta otherwise, and merged without loss."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.config.memory import WAVE_LEVELS
from ecmsketch.engines.cells.randomized_wave import RandomizedWaves
from ecmsketch.engines.cells.samples import drawn_levels, heads
from ecmsketch.errors import FormatError, InputError, MergeError
from ecmsketch.kernels.packing import put_varints
from oracles import counts_after
from streams import streams, ticks_of

WINDOW = 500


def config(epsilon=0.3, **more):
    return ecm.SketchConfig(**{"epsilon": epsilon, "delta": 0.3, "window": WINDOW, "counter": "rw", **more})


def fill(waves, ticks, weights=None, cell=0):
    waves.add(np.full((1, len(ticks)), cell, np.uint32), ticks, weights, int(ticks[0]), int(ticks[-1]))
    return waves


def keep(settings, ticks, levels, key, now):
    """Waves whose first cell keeps the arrivals with given levels: read from their bytes (docs/format.md)."""
    numbers = []
    for cell in range(settings.cells):
        for _ in range(settings.wave_instances):
            if cell:
                numbers.append(0)
                continue
            numbers.append(WAVE_LEVELS)
            for level in range(WAVE_LEVELS):
                mine = ticks[(levels == level) & (ticks > now - settings.window)][-settings.samples :]
                numbers.append(len(mine))
                numbers += np.diff([now, *mine[::-1]] if len(mine) else [now]).__neg__().tolist()
    head = np.array([key, len(ticks)], np.int64).tobytes()
    data = np.frombuffer(head + put_varints(np.array(numbers, np.int64)), np.uint8)
    return RandomizedWaves.decode(data, settings, now, 2**30)


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
    now = int(stream.ticks[-1])
    whole = keep(settings, stream.ticks, levels, 5, now)
    parts = [
        keep(settings, stream.ticks[where == site], levels[where == site], site, now)
        for site in range(sites)
        if (where == site).any()
    ]
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


@given(stream=streams(WINDOW, most=2000), seed=st.integers(0, 100), pieces=st.integers(2, 9))
def test_cuts_do_not_matter(stream, seed, pieces):
    settings, now = config(wave_constant=1.0, wave_instances=2), int(stream.ticks[-1])
    whole, parts = fill(RandomizedWaves(settings, seed), stream.ticks, stream.weights), RandomizedWaves(settings, seed)
    marks = np.random.default_rng(seed).integers(0, len(stream.ticks), pieces)
    for part in np.split(np.arange(len(stream.ticks)), np.unique(marks)):
        if len(part):
            fill(parts, stream.ticks[part], None if stream.weights is None else stream.weights[part])
    assert parts.encode(now) == whole.encode(now)


def test_copies_are_not_merged():
    waves = fill(RandomizedWaves(config(), 3), np.arange(10))
    with pytest.raises(MergeError, match="same samples"):
        RandomizedWaves.merge([waves, waves.copy()], [], 9)


@pytest.mark.parametrize("instances", [1, 3])
@pytest.mark.parametrize("epsilon", [0.9, 0.5])
def test_the_largest_counts_and_the_smallest_samples(epsilon, instances):
    waves = RandomizedWaves(config(epsilon=epsilon, delta=0.5, wave_instances=instances), 1)
    fill(waves, np.array([1]), np.array([2**52]))
    assert waves.read(np.array([0], np.uint32), 0, 1, 1).value[0] == pytest.approx(2**52, rel=1)


def test_confidence_knows_the_constant():
    assert config(wave_constant=1.0, delta=0.001).confidence < 0.5
    assert config(wave_constant=36, delta=0.001).confidence > 0.999


def test_levels_are_geometric():
    levels = drawn_levels(9, 0, 1_000_000)
    shares = np.bincount(levels, minlength=8)[:8] / 1e6
    assert shares == pytest.approx(0.5 ** np.arange(1, 9), rel=0.03)


def test_neighbouring_keys_draw_independently():
    one, two = (drawn_levels(key, 0, 200_000) == 0 for key in (100, 101))
    assert (one & two).mean() == pytest.approx(0.25, abs=0.005)


@pytest.mark.parametrize("weight", [65, 5000])
def test_heavy_weights_are_shared_out_like_single_arrivals(weight):
    settings, copies = config(epsilon=0.3, wave_constant=1000), []
    assert settings.samples > weight
    for key in range(200):
        waves = fill(RandomizedWaves(settings, key), np.array([7]), np.array([weight]))
        copies.append(np.diff(waves.lists()[0])[:WAVE_LEVELS])
    copies = np.array(copies)
    assert (copies.sum(axis=1) == weight).all()
    shares = copies[:, :3].mean(axis=0) / weight
    assert shares == pytest.approx([0.5, 0.25, 0.125], rel=0.1)
    deviation = copies[:, 0].std() / (np.sqrt(weight) / 2)
    assert 0.8 < deviation < 1.25


@pytest.mark.parametrize("count", [65, 4096, 5000, 10**9, 2**50])
def test_half_of_many_coins(count):
    found = np.array([heads(key, 5, count) for key in range(2000)]) / count
    assert found.mean() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(2000 * count))
    assert 0.93 < found.std() * 2 * np.sqrt(count) < 1.07


def test_half_of_few_coins_is_exact():
    found = [heads(3, number, 1) for number in range(1000)]
    assert set(found) == {0, 1}
    assert 430 < sum(found) < 570
    assert heads(3, 5, 0) == 0


def test_numbers_end_at_2_59():
    settings = config(wave_constant=1.0)
    data = bytearray(fill(RandomizedWaves(settings, 1), np.array([5])).encode(5))
    data[8:16] = (2**59 - 3).to_bytes(8, "little")
    waves = RandomizedWaves.decode(np.frombuffer(bytes(data), np.uint8), settings, 5, 2**30)
    with pytest.raises(InputError, match=r"2\*\*59"):
        fill(waves, np.array([6]), np.array([3]))
    assert waves.encode(5) == data
    with pytest.raises(MergeError, match=r"2\*\*59"):
        RandomizedWaves.merge([waves, keep(settings, np.arange(3), np.zeros(3), 4, 5)], [], 5)
    fill(waves, np.array([6]), np.array([2]))
    assert waves.arrived == 2**59 - 1
    data[8:16] = (2**59).to_bytes(8, "little")
    with pytest.raises(FormatError, match=r"2\*\*59"):
        RandomizedWaves.decode(np.frombuffer(bytes(data), np.uint8), settings, 5, 2**30)


def test_cells_out_of_range_are_refused():
    waves = RandomizedWaves(config(), 1)
    wrong = np.full((1, 1), waves.config.cells, np.uint32)
    with pytest.raises(IndexError):
        waves.add(wrong, np.array([1]), None, 1, 1)
    with pytest.raises(IndexError):
        waves.read(wrong[0], 0, 1, 0)
