"""Deterministic waves: what is kept, at what cost, and beyond max_arrivals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.engines.cells import arrivals as coming
from ecmsketch.engines.cells import deterministic_wave
from ecmsketch.engines.cells.deterministic_wave import DeterministicWaves
from ecmsketch.errors import ConfigError, FormatError, InputError
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
    numbers = kept_numbers(len(stream.ticks), counters.ring)
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


@given(arrivals=st.integers(0, 5000), weight=st.integers(1, 10**12), epsilon=st.sampled_from([0.4, 0.1]))
def test_an_arrival_changes_one_tick_whatever_came_before(arrivals, weight, epsilon):
    """And one of weight v at most v. What is kept of older arrivals stays, but for those that it pushes out."""
    counters = waves(epsilon, max_arrivals=2**20)
    fill(counters, np.arange(1, arrivals + 2))
    before, top = counters.live_history().end.tolist(), counters.top
    fill(counters, np.array([arrivals + 2]))
    after = counters.live_history().end.tolist()
    assert counters.top == top
    assert len(set(after) - set(before)) == 1
    assert set(after) - set(before) == {arrivals + 2 - counters.base}
    few = min(weight, 3)
    fill(counters, np.array([arrivals + 3]), np.array([few]))
    assert counters.live_history().end.tolist().count(arrivals + 3 - counters.base) <= few


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
    assert counters.top <= 8


def test_one_large_batch_over_many_windows_needs_few_levels():
    whole, pieces = waves(window=10), waves(window=10)
    ticks = np.arange(200_000)
    fill(whole, ticks)
    for begin in range(0, 200_000, 777):
        fill(pieces, ticks[begin : begin + 777])
    assert whole.top <= 2
    assert whole.encode(199_999) == pieces.encode(199_999)


def test_too_small_an_epsilon_says_so():
    with pytest.raises(ConfigError, match="counter='eh'"):
        ecm.SketchConfig(epsilon=0.0001, delta=0.01, window=1000, counter="dw")


def test_a_batch_that_would_need_too_much_memory_is_refused_whole(monkeypatch):
    counters = waves(window=10**9)
    fill(counters, np.arange(1000))
    before = counters.encode(999)
    monkeypatch.setattr(deterministic_wave, "MAX_RING_BYTES", counters.nbytes)
    with pytest.raises(ConfigError, match="counter='eh'"):
        fill(counters, np.arange(1000, 10**6))
    assert counters.encode(999) == before
    monkeypatch.undo()
    fill(counters, np.arange(1000, 10**6))
    assert counters.read(np.array([0], np.uint32), -1, 10**6, 0).upper[0] == 10**6


def test_numbers_end_at_2_59():
    """2^59 arrivals of a counter, whatever has expired of them, are refused, and nothing is counted."""
    counters, now = waves(window=10), 0
    for _ in range(63):
        now += 100
        fill(counters, np.array([now]), np.array([2**53]))
    fill(counters, np.array([now + 100]), np.array([2**53 - 1]))
    before = counters.encode(now + 100)
    with pytest.raises(InputError, match="nothing was counted"):
        fill(counters, np.array([now + 200]), np.array([1]))
    assert counters.encode(now + 100) == before
    again = DeterministicWaves.decode(np.frombuffer(before, np.uint8), counters.config, now + 100, 2**40)
    assert again.encode(now + 100) == before
    numbered = bytearray(before)
    at = numbered.index(b"\xff" * 8)
    assert numbered[at + 8] == 7, "2^59 - 1 as a varint"
    numbered[at : at + 9] = b"\x80" * 8 + b"\x08"
    with pytest.raises(FormatError, match=r"2\*\*59"):
        DeterministicWaves.decode(np.frombuffer(bytes(numbered), np.uint8), counters.config, now + 100, 2**40)


def test_a_change_is_made_once_and_only_of_what_it_was_prepared_for():
    counters = waves()
    cells, ticks = np.zeros((1, 3), np.uint32), np.arange(3)
    change = counters.reserve(coming.placed(cells, ticks, None), 0, 2)
    other = counters.reserve(coming.placed(cells, ticks, None), 0, 2)
    change.commit()
    for stale in (change, other):
        with pytest.raises(RuntimeError, match="changed"):
            stale.commit()
    assert counters.arrivals.tolist()[0] == 3


def test_cells_out_of_range_are_refused():
    counters = waves()
    wrong = np.full((1, 1), counters.config.cells, np.uint32)
    with pytest.raises(IndexError):
        counters.add(wrong, np.array([1]), None, 1, 1)
    with pytest.raises(IndexError):
        counters.read(wrong[0], 0, 1, 0)
