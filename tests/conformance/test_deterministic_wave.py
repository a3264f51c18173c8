"""Deterministic waves: what is kept, at what cost, and beyond max_arrivals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.counters.waves import ring_writing, rings
from ecmsketch.counters.waves.deterministic_wave import DeterministicWaves
from ecmsketch.errors import ConfigError
from streams import streams


def waves(epsilon_sw=0.1, window=10**6, **more):
    return DeterministicWaves(ecm.SketchConfig(epsilon=epsilon_sw, delta=0.5, window=window, counter="dw", **more))


def fill(counters, ticks, weights=None, cell=0):
    counters.add(np.full((1, len(ticks)), cell, np.uint32), ticks, weights, int(ticks[0]), int(ticks[-1]))


def kept_numbers(arrivals, ring):
    """By definition: of the odd multiples of every 2^level the newest `ring`."""
    kept = set()
    for level in range(arrivals.bit_length()):
        odd = range(1 << level, arrivals + 1, 2 << level)
        kept.update(odd[-ring:])
    return sorted(kept)


@given(stream=streams(1000, most=3000, weighted=False), epsilon=st.sampled_from([0.4, 0.2, 0.1, 0.03]))
def test_exactly_the_arrivals_of_the_definition_are_kept(stream, epsilon):
    counters = waves(epsilon)
    fill(counters, stream.ticks)
    numbers = kept_numbers(len(stream.ticks), counters.rings.ring)
    offset, end, size = counters.live_history()
    assert (end[: offset[1]] + counters.base).tolist() == stream.ticks[np.array(numbers) - 1].tolist()
    assert size[: offset[1]].tolist() == np.diff([0, *numbers]).tolist()


@given(
    gaps=st.lists(st.integers(0, 3), min_size=1, max_size=60),
    data=st.data(),
    epsilon=st.sampled_from([0.4, 0.1]),
)
def test_a_weight_is_that_many_arrivals_on_one_tick(gaps, data, epsilon):
    ticks = np.cumsum(gaps)
    weights = np.array(data.draw(st.lists(st.integers(1, 300), min_size=len(ticks), max_size=len(ticks))))
    weighted, unit = waves(epsilon), waves(epsilon)
    fill(weighted, ticks, weights)
    fill(unit, np.repeat(ticks, weights))
    assert weighted.encode(int(ticks[-1])) == unit.encode(int(ticks[-1]))


class CountingArray(np.ndarray):
    """Counts what is read and written one by one."""

    operations = 0

    def __getitem__(self, index):
        CountingArray.operations += 1
        return super().__getitem__(index)

    def __setitem__(self, index, value):
        CountingArray.operations += 1
        super().__setitem__(index, value)


@pytest.mark.parametrize("arrivals", [1, 2**10 - 1, 2**20 - 1, 2**40 - 1, 2**52 - 1])
def test_an_update_reads_and_writes_no_more_whatever_came_before(arrivals, monkeypatch):
    """The kernel's own source, run in Python on arrays that count: the worst number is one short of a power of two."""
    counters = waves(max_arrivals=2**20)
    state = counters.rings._replace(ticks=counters.rings.ticks.view(CountingArray))
    state.arrivals[:] = arrivals
    state = state._replace(arrivals=state.arrivals.view(CountingArray))
    monkeypatch.setattr(rings, "trailing_zeros", lambda number: int(number & -number).bit_length() - 1)
    monkeypatch.setattr(rings, "int64", int)
    monkeypatch.setattr(rings, "uint64", int)
    monkeypatch.setattr(ring_writing, "place_of", rings.place_of.py_func)
    monkeypatch.setattr(ring_writing, "int64", int)
    monkeypatch.setattr(ring_writing, "uint64", int)
    CountingArray.operations = 0
    ring_writing.push.py_func(state, np.zeros((1, 1), np.int64), np.array([7]), 0)
    assert CountingArray.operations == 3, "one number read, one written, one tick written"
    assert int(np.asarray(state.arrivals)[0]) == arrivals + 1


def test_going_past_max_arrivals_widens_and_stays_right():
    few, many = waves(max_arrivals=100), waves(max_arrivals=2**30)
    ticks = np.arange(300_000)
    for begin in range(0, 300_000, 1000):
        fill(few, ticks[begin : begin + 1000])
        fill(many, ticks[begin : begin + 1000])
    assert few.encode(299_999) == many.encode(299_999)
    assert few.nbytes < many.nbytes
    for since in (-1, 5000, 299_000):
        reading = few.read(np.array([0], np.uint32), since, 299_999, 0)
        assert abs(reading.value[0] - (299_999 - since)) <= few.config.epsilon_sw * (299_999 - since)


def test_levels_stay_few_when_old_arrivals_expire():
    counters = waves(window=1000)
    for begin in range(0, 2_000_000, 500):
        fill(counters, np.arange(begin, begin + 500))
    assert counters.rings.top <= 8


def test_one_large_batch_over_many_windows_needs_few_levels():
    whole, pieces = waves(window=10), waves(window=10)
    ticks = np.arange(200_000)
    fill(whole, ticks)
    for begin in range(0, 200_000, 777):
        fill(pieces, ticks[begin : begin + 777])
    assert whole.rings.top <= 2
    assert whole.encode(199_999) == pieces.encode(199_999)


def test_too_small_an_epsilon_says_so():
    with pytest.raises(ConfigError, match="counter='eh'"):
        ecm.SketchConfig(epsilon=0.0001, delta=0.01, window=1000, counter="dw")


def test_a_stream_that_grows_too_large_loses_nothing_that_was_counted(monkeypatch):
    monkeypatch.setattr(rings, "MAX_RING_BYTES", 30_000)
    sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.1, delta=0.1, window=10**9, counter="dw"))
    given = 0

    def feed():
        nonlocal given
        for given in range(1, 10**6):
            sketch.update("a", given)

    with pytest.raises(ConfigError, match="counter='eh'"):
        feed()
    monkeypatch.undo()
    counted = given - 1
    assert sketch.total() == ecm.Estimate(counted, counted, counted, 1.0), "all but the arrival that was refused"


def test_a_batch_that_fails_midway_leaves_a_readable_sketch(monkeypatch):
    monkeypatch.setattr(rings, "MAX_RING_BYTES", 30_000)
    sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.1, delta=0.1, window=10**9, counter="dw"))
    sketch._block = 1000
    with pytest.raises(ConfigError):
        sketch.update_many(np.zeros(10**6, np.int64), np.arange(10**6))
    assert sketch.total().covers(sketch.now + 1)
    assert ecm.EcmSketch.deserialize(sketch.serialize()) == sketch
