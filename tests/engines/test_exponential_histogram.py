"""The exponential histogram against its textbook, arrival by arrival."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.engines.cells.exponential_histogram import ExponentialHistograms
from oracles import TextbookHistogram
from streams import streams, ticks_of

EPSILONS = st.sampled_from([0.4, 0.34, 0.2, 0.1, 0.03])


def histograms(epsilon_sw, window=10**6, **more):
    config = ecm.SketchConfig(epsilon=epsilon_sw, delta=0.5, window=window, counter="eh", **more)
    return ExponentialHistograms(config)


def fill(counters, ticks, weights=None, cell=0):
    counters.add(np.full((1, len(ticks)), cell, np.uint32), ticks, weights, int(ticks[0]), int(ticks[-1]))


def stored(counters, cell=0):
    offset, end, size = counters.live_history()
    mine = slice(offset[cell], offset[cell + 1])
    return list(zip((end[mine] + counters.base).tolist(), size[mine].tolist(), strict=True))


@given(stream=streams(1000, most=2000, weighted=False), epsilon=EPSILONS, batch=st.sampled_from([1, 2, 3, 7, 64, 5000]))
def test_bulk_insertion_is_the_textbook_bit_for_bit(stream, epsilon, batch):
    counters, textbook = histograms(epsilon), TextbookHistogram(counters_epsilon(epsilon))
    for i in range(0, len(stream.ticks), batch):
        fill(counters, stream.ticks[i : i + batch])
    for tick in stream.ticks.tolist():
        textbook.add(tick)
    assert stored(counters) == textbook.buckets()


@given(
    gaps=st.lists(st.integers(0, 3), min_size=1, max_size=60),
    data=st.data(),
    epsilon=EPSILONS,
)
def test_a_weight_is_that_many_arrivals_on_one_tick(gaps, data, epsilon):
    ticks = np.cumsum(gaps)
    weights = np.array(data.draw(st.lists(st.integers(1, 80), min_size=len(ticks), max_size=len(ticks))))
    weighted, unit = histograms(epsilon), histograms(epsilon)
    fill(weighted, ticks, weights)
    fill(unit, np.repeat(ticks, weights))
    assert stored(weighted) == stored(unit)


def counters_epsilon(epsilon):
    return histograms(epsilon).config.epsilon_sw


@pytest.mark.parametrize("epsilon", [0.3, 0.1, 0.01])
def test_invariant_one_of_the_paper_holds_for_every_bucket(epsilon):
    counters = histograms(epsilon)
    rng = np.random.default_rng(1)
    for _ in range(30):
        first = 0 if not stored(counters) else stored(counters)[-1][0]
        fill(counters, first + np.cumsum(rng.integers(0, 3, rng.integers(1, 400))))
        newer = 0
        for _, size in reversed(stored(counters)):
            assert size / 2 <= counters.config.epsilon_sw * (1 + newer) or size == 1
            newer += size


def test_a_weight_of_two_to_the_fifty_costs_no_more_than_its_logarithm():
    counters = histograms(0.1)
    fill(counters, np.array([5]), np.array([2**50]))
    assert counters.bucket_count < 12 * 50
    assert sum(size for _, size in stored(counters)) == 2**50


@pytest.mark.parametrize("window", [1000, 2**31, 2**31 + 1, 2**40])
def test_ticks_far_apart_move_the_base_and_change_no_answer(window):
    counters = histograms(0.1, window)
    assert counters.wide == (window > 2**31)
    tick = -(2**45)
    for step in (1, window // 2, window, 2**33, 2**40, 3):
        tick += step
        ticks = np.array([tick, tick, tick + 1])
        fill(counters, ticks)
        reading = counters.read(np.array([0], np.uint32), tick - 1, tick + 1, -(2**45))
        assert reading.value[0] == 3
        tick += 1


def test_one_batch_may_span_more_than_32_bits():
    ticks = np.array([0, 2**20, 2**33, 2**40, 2**40 + 5])
    whole, single = histograms(0.1, 1000), histograms(0.1, 1000)
    fill(whole, ticks)
    for tick in ticks:
        fill(single, np.array([tick]))
    assert whole.encode(2**40 + 5) == single.encode(2**40 + 5)
    assert whole.read(np.array([0], np.uint32), 2**40 - 1, 2**40 + 5, 0).value[0] == 2


def test_memory_grows_with_the_logarithm_of_arrivals():
    sizes = []
    for events in (10_000, 100_000, 1_000_000):
        counters = histograms(0.05, 10**7)
        fill(counters, ticks_of("steady", events, 1000, np.random.default_rng(0)))
        sizes.append(counters.bucket_count)
    assert sizes[2] - sizes[1] <= 1.2 * (sizes[1] - sizes[0]) + 5
