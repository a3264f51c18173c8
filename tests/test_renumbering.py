"""What has expired does not count: any number of arrivals may pass through a window."""

from __future__ import annotations

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch.counters import numbering
from ecmsketch.errors import InputError, MergeError

WINDOW = 100
COUNTERS = ["eh", "dw", "rw", "slices"]


def make(counter="eh", **changes):
    settings = {"epsilon": 0.2, "delta": 0.2, "window": WINDOW, "counter": counter, "wave_constant": 1.0}
    return ecm.SketchConfig(**{**settings, **changes})


class Exact:
    """The newest windows of a stream, counted exactly."""

    def __init__(self):
        self.items, self.ticks, self.weights = (np.empty(0, np.int64) for _ in range(3))

    def add(self, items, ticks, weights):
        columns = ((self.items, items), (self.ticks, ticks), (self.weights, weights))
        self.items, self.ticks, self.weights = (np.concatenate([old, np.asarray(new)]) for old, new in columns)
        recent = self.ticks > self.ticks.max() - 2 * WINDOW
        self.items, self.ticks, self.weights = self.items[recent], self.ticks[recent], self.weights[recent]

    def counts(self, since, until, items=5):
        inside = (self.ticks > since) & (self.ticks <= until)
        return np.array([int(self.weights[inside & (self.items == item)].sum()) for item in range(items)], object)


def check(sketch, exact, now):
    for last in (1, 30, WINDOW):
        truth = exact.counts(now - last, now)
        found = sketch.estimate_many(np.arange(5), last=last)
        total = sketch.total(last=last)
        if sketch.config.counter == "rw":  # holds with some probability; here it is about sums that wrap or overflow
            assert (found.upper <= 40.0 * float(truth.sum()) + 1e4).all()
            assert total.upper >= float(truth.sum()) / 40
            continue
        assert (truth <= found.upper).all()
        assert (found.value <= found.upper).all()
        assert total.lower <= truth.sum() <= total.upper
        assert found.upper.max() <= 4.0 * float(truth.sum())
        if sketch.config.heavy_hitters:
            for hitter in sketch.top(5, last=last):
                assert hitter.estimate.lower <= hitter.estimate.value <= hitter.estimate.upper
                assert truth[hitter.item] <= hitter.estimate.upper


@pytest.mark.parametrize("counter", COUNTERS)
@pytest.mark.parametrize("late", ["raise", "side"])
def test_many_times_2_53_pass_through_a_small_window(counter, late):
    """260 batches of up to 2**51: more than 2**58 in all, at most 2**53 in a window."""
    rng = np.random.default_rng(1)
    config = make(counter, late=late, heavy_hitters=True)
    sketch, exact, passed, now = ecm.EcmSketch(config, site="here"), Exact(), 0, 0
    for batch in range(260):
        ticks = np.sort(now + rng.integers(0, 60, 4))
        items, weights = rng.integers(0, 5, 4), rng.integers(1, 2**49, 4)
        if late == "side" and batch % 3 == 0:
            ticks = np.append(ticks, max(now - int(rng.integers(1, 50)), 0))
            items, weights = np.append(items, 4), np.append(weights, 2**48 + batch)
        sketch.update_many(items, ticks, weights)
        exact.add(items, ticks, weights)
        passed += int(weights.sum())
        now = int(ticks.max())
        if batch % 20 == 0:
            check(sketch, exact, now)
            again = ecm.EcmSketch.deserialize(sketch.serialize())
            assert again == sketch
            check(again, exact, now)
            sketch = again if batch % 40 == 0 else sketch
    assert passed > 2**57
    assert late == "raise" or sketch.late_counted > 50
    check(ecm.merge([sketch, ecm.EcmSketch(config, site="there")]), exact, now)


@pytest.mark.parametrize("counter", COUNTERS)
def test_beyond_the_cycle_of_numbers(counter):
    """Cells whose numbers passed 2**59 several times answer, merge, concatenate and are written as any others."""
    config = make(counter)
    sketch, exact, now = ecm.EcmSketch(config, site="here"), Exact(), 0
    for batch in range(400):
        now += 101
        arrivals = ([0, 1], [now - 1, now], [2**52 - batch, 2**52 + batch])
        sketch.update_many(*arrivals)
        exact.add(*arrivals)
        if batch % 50 == 49:
            check(sketch, exact, now)
    assert 400 * 2**53 > 2**61
    small = ([0, 1, 2, 3, 0], [now + 101, now + 102, now + 150, now + 150, now + 160], [1, 2, 3, 4, 5])
    sketch.update_many(*small)
    exact.add(*small)
    check(sketch, exact, now + 160)
    if counter != "rw":
        assert sketch.total().value == 15
    check(ecm.EcmSketch.deserialize(sketch.serialize()), exact, now + 160)
    other = ecm.EcmSketch(config, site="there")
    more = ([3, 4], [now + 170, now + 180], [7, 2**40])
    other.update_many(*more)
    exact.add(*more)
    check(ecm.merge([sketch, other]), exact, now + 180)
    joined = ecm.concat([sketch, other])
    check(joined, exact, now + 180)
    again = ecm.EcmSketch.deserialize(joined.serialize())
    assert again == joined
    last = ([1], [now + 200], [2**52])
    again.update_many(*last)
    exact.add(*last)
    check(again, exact, now + 200)


@pytest.mark.parametrize("counter", COUNTERS)
@pytest.mark.parametrize("model", ["time", "count"])
def test_the_state_does_not_depend_on_the_cuts(counter, model):
    """Heavy arrivals that pass 2**59, each with a light one after it."""
    rng = np.random.default_rng(2)
    config = make(counter, model=model, heavy_hitters=True)
    events = 600
    items = rng.integers(0, 5, events)
    ticks = np.arange(events) // 2 * 101 + np.arange(events) % 2 * 30
    weights = np.where(np.arange(events) % 2, 1 + np.arange(events), rng.integers(2**51, 5 * 2**49, events))
    assert int(weights.sum()) > 2**59
    states = []
    for most in (2, 3):
        sketch = ecm.EcmSketch(config, site="here")
        marks = np.cumsum(rng.integers(1, most, events))
        for part in np.split(np.arange(events), marks[marks < events]):
            sketch.update_many(items[part], ticks[part] if model == "time" else None, weights[part])
        states.append(sketch.serialize())
    assert states[0] == states[1]


@pytest.mark.parametrize("counter", ["eh", "dw"])
@pytest.mark.parametrize("model", ["time", "count"])
@pytest.mark.parametrize("epsilon", [0.9, 0.3, 0.1])
def test_renumbered_counters_answer_bit_for_bit_as_others(counter, model, epsilon):
    """With a cycle of 2**12 in place of 2**58, and as many times fewer arrivals in a window."""
    rng = np.random.default_rng(5)
    config = make(counter, epsilon=epsilon, model=model, window=60)
    plain, folded = ecm.EcmSketch(config), ecm.EcmSketch(config)
    tick = 0
    with pytest.MonkeyPatch.context() as patch:
        for _ in range(440):
            events = int(rng.integers(1, 12))
            items, ticks = rng.integers(0, 2, events), tick + np.sort(rng.integers(0, 80, events))
            weights = rng.integers(1, 14, events)
            tick = int(ticks[-1])
            patch.setattr(numbering, "CYCLE", 2**58)
            plain.update_many(items, ticks if model == "time" else None, weights)
            plain._flushed()
            patch.setattr(numbering, "CYCLE", 2**12)
            folded.update_many(items, ticks if model == "time" else None, weights)
            folded._flushed()
            if rng.random() < 0.1:
                folded = ecm.EcmSketch.deserialize(folded.serialize())
            for last in (1, 20, 60):
                cells = np.arange(config.cells, dtype=np.uint32)
                mine = folded._read(cells, folded.now - last, folded.now)
                others = plain._read(cells, plain.now - last, plain.now)
                for part, other in zip(mine, others, strict=True):
                    np.testing.assert_array_equal(part, other)
    assert plain._state.counters.arrivals.max() >= 2**13 > folded._state.counters.arrivals.max()


@pytest.mark.parametrize("counter", COUNTERS)
def test_more_than_2_53_in_one_window_is_refused_and_nothing_counted(counter):
    config = make(counter, heavy_hitters=True)
    sketch = ecm.EcmSketch(config, site="here")
    sketch.update("a", 1, weight=2**52)
    sketch.update("b", 50, weight=2**51)
    before = sketch.serialize()
    with pytest.raises(InputError, match=r"room.*nothing was counted"):
        sketch.update_many(["c", "d"], [60, 70], [2**52, 2**52])
    assert sketch.serialize() == before
    other = ecm.EcmSketch(config, site="there")
    other.update("c", 70, weight=2**53 - 5)
    for join in (ecm.merge, ecm.concat):
        with pytest.raises(MergeError, match=r"in one window"):
            join([sketch, other])
    with pytest.raises(InputError, match="nothing was counted"):
        sketch.update("c", 110, weight=2**53)  # there would be more room then, but it is not yet then
    with pytest.raises(InputError, match="nothing was counted"):
        sketch.update("c", 70, weight=2**52)
    assert sketch.serialize() == before
    sketch.update("c", 150, weight=2**52)  # "a" and "b" have expired
    assert sketch.serialize() != before


def test_held_late_arrivals_of_any_weight_can_be_read_again():
    sketch = ecm.EcmSketch(make(late="side"))
    sketch.update("a", 90)
    sketch.update_many(["b", "c", "d"], [50, 60, 70], [2**52, 1, 1])
    assert ecm.EcmSketch.deserialize(sketch.serialize()) == sketch


def test_count_based_windows_number_up_to_2_62_arrivals():
    """What is beyond is refused: counting the bytes of 100 Gbit/s, that is after 11 years."""
    sketch = ecm.EcmSketch(make(model="count"))
    for _ in range(511):
        sketch.update("a", weight=2**53)
    assert sketch.now == 511 * 2**53 == 2**62 - 2**53
    assert sketch.estimate("a").covers(WINDOW)
    sketch.update("b", weight=50)
    assert sketch.estimate("a").covers(50)
    assert sketch.estimate("b").covers(50)
    assert ecm.EcmSketch.deserialize(sketch.serialize()) == sketch
    with pytest.raises(InputError, match=r"2\*\*62"):
        sketch.update("a", weight=2**53)
    with pytest.raises(MergeError, match=r"2\*\*62"):
        ecm.concat([sketch, sketch.copy()])
    assert 2**62 / (100e9 / 8) / (365 * 86_400) > 11
