"""The laws every counter keeps, on both window models: cells against the exact window."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.config.sketch_config import CHOICES
from ecmsketch.engines.cells.registry import counter_class
from oracles import counts_after
from streams import cuts, streams

WINDOW = 500
KINDS = [pytest.param(kind, id=kind) for kind in CHOICES["counter"] if kind != "slices"]
"""Counters of cells; slices are no counters."""
SURE = [kind for kind in KINDS if kind.id != "rw"]
"""Counters whose bounds always hold; for randomized waves see test_randomized_wave.py."""
MODELS = [pytest.param(model, id=model) for model in CHOICES["model"]]
EPSILONS = st.sampled_from([0.4, 0.2, 0.1, 0.03])


def config_for(kind, model, epsilon_sw, **more):
    return ecm.SketchConfig(epsilon=epsilon_sw, delta=0.5, window=WINDOW, counter=kind, model=model, **more)


def in_model(stream, model):
    """A stream's ticks and weights as the model wants them, and the same with every arrival spelled out."""
    weights = np.ones(len(stream.ticks), np.int64) if stream.weights is None else stream.weights
    if model == "count":
        last = np.cumsum(weights)
        keep = min(int(last[-1]), 4000)
        number = np.arange(last[-1] - keep + 1, last[-1] + 1)
        return last, stream.weights, number, np.ones(keep, np.int64)
    return stream.ticks, stream.weights, stream.ticks, weights


def new_counters(config, key=0):
    return counter_class(config).new(config, key)


def fill(counters, ticks, weights, cell=1):
    cells = np.full((1, len(ticks)), cell, np.uint32)
    if len(ticks):
        spread = counters.config.model == "count" and weights is not None
        oldest = int(ticks[0]) - (int(weights[0]) - 1 if spread else 0)
        counters.add(cells, ticks, weights, oldest, int(ticks[-1]))
    return counters


def origin_of(ticks, model):
    return 1 if model == "count" else int(ticks[0])


def starts(now, ticks, model):
    """Range starts worth asking: around arrivals, and all over the window."""
    around = ticks[-60:]
    spread = np.linspace(now - WINDOW, now, 40).astype(np.int64)
    moments = np.unique(np.concatenate([around - 1, around, spread]))
    return moments[(moments >= now - WINDOW) & (moments <= now)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS)
class TestEveryCounter:
    @given(data=st.data(), epsilon=EPSILONS)
    def test_the_state_does_not_depend_on_how_arrivals_were_cut(self, kind, model, data, epsilon):
        ticks, weights, _, _ = in_model(data.draw(streams(WINDOW)), model)
        rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
        config = config_for(kind, model, epsilon)
        whole, pieces = fill(new_counters(config, 1), ticks, weights), new_counters(config, 1)
        for piece in cuts(len(ticks), data.draw(st.integers(1, 40)), rng):
            fill(pieces, ticks[piece], None if weights is None else weights[piece])
        assert pieces.encode(int(ticks[-1])) == whole.encode(int(ticks[-1]))

    @given(data=st.data(), epsilon=EPSILONS)
    def test_bytes_hold_everything_also_for_what_comes_later(self, kind, model, data, epsilon):
        ticks, weights, _, _ = in_model(data.draw(streams(WINDOW)), model)
        half = len(ticks) // 2
        if half == 0:
            return
        config = config_for(kind, model, epsilon)
        before, after = slice(0, half), slice(half, None)
        kept = fill(new_counters(config, 1), ticks[before], None if weights is None else weights[before])
        now = int(ticks[half - 1])
        restored = type(kept).decode(np.frombuffer(kept.encode(now), np.uint8), config, now, 2**40)
        for counters in (kept, restored):
            fill(counters, ticks[after], None if weights is None else weights[after])
        assert restored.encode(int(ticks[-1])) == kept.encode(int(ticks[-1]))

    def test_a_cell_without_arrivals_holds_nothing(self, kind, model):
        counters = fill(new_counters(config_for(kind, model, 0.1), 1), np.array([5]), None)
        assert counters.read(np.array([0], np.uint32), -400, 5, 5).upper[0] == 0

    def test_a_cell_idle_for_a_window_holds_nothing(self, kind, model):
        counters = fill(new_counters(config_for(kind, model, 0.1), 1), np.arange(1, 101), None)
        reading = counters.read(np.array([1], np.uint32), 600 - WINDOW, 600, 1)
        assert (reading.value[0], reading.upper[0]) == (0, 0)


@pytest.mark.parametrize("kind", SURE)
@pytest.mark.parametrize("model", MODELS)
class TestCountersOfBuckets:
    @given(data=st.data(), epsilon=EPSILONS, idle=st.sampled_from([0, 1, 250, 499, 500, 2000]))
    def test_every_range_is_within_epsilon_and_within_its_bounds(self, kind, model, data, epsilon, idle):
        ticks, weights, exact_ticks, exact_weights = in_model(data.draw(streams(WINDOW)), model)
        now = int(ticks[-1]) + (idle if model == "time" else 0)
        for estimator in ("interpolate", "half"):
            counters = fill(new_counters(config_for(kind, model, epsilon, estimator=estimator), 1), ticks, weights)
            for since in starts(now, exact_ticks, model):
                exact = counts_after(exact_ticks, exact_weights, since)
                value, lower, upper = (
                    float(part[0])
                    for part in counters.read(np.array([1], np.uint32), int(since), now, origin_of(ticks, model))
                )
                assert lower <= exact <= upper
                assert lower <= value <= upper or estimator == "half"
                assert abs(value - exact) <= epsilon * exact + 1e-9

    @given(data=st.data(), epsilon=EPSILONS, pieces=st.sampled_from([1, 2, 3, 8, 64]))
    def test_concatenated_segments_keep_every_range_within_epsilon(self, kind, model, data, epsilon, pieces):
        stream = data.draw(streams(WINDOW))
        ticks, weights, exact_ticks, exact_weights = in_model(stream, model)
        rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
        config = config_for(kind, model, epsilon)
        segments = [
            fill(new_counters(config, 1), ticks[piece], None if weights is None else weights[piece])
            for piece in cuts(len(ticks), pieces, rng)
        ]
        now = int(ticks[-1])
        joined = type(segments[0]).concat(segments, now)
        again = type(joined).decode(np.frombuffer(joined.encode(now), np.uint8), config, now, 2**40)
        for counters in (joined, again):
            for since in starts(now, exact_ticks, model):
                exact = counts_after(exact_ticks, exact_weights, since)
                reading = counters.read(np.array([1], np.uint32), int(since), now, origin_of(ticks, model))
                assert reading.lower[0] <= exact <= reading.upper[0]
                assert abs(reading.value[0] - exact) <= epsilon * exact + 1e-9

    @given(data=st.data(), epsilon=EPSILONS)
    def test_buckets_describe_the_window_and_lie_in_order(self, kind, model, data, epsilon):
        ticks, weights, exact_ticks, exact_weights = in_model(data.draw(streams(WINDOW)), model)
        now = int(ticks[-1])
        counters = fill(new_counters(config_for(kind, model, epsilon), 1), ticks, weights)
        buckets = counters.buckets(now, origin_of(ticks, model))
        assert (buckets.offset[2:] == buckets.offset[2]).all()
        assert (buckets.end > now - WINDOW).all()
        assert (buckets.start <= buckets.end).all()
        assert all(a <= b for a, b in pairwise(buckets.end))
        assert buckets.size.sum() >= counts_after(exact_ticks, exact_weights, now - WINDOW)
