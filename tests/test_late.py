from __future__ import annotations

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch.engines.cells import late as late_module
from ecmsketch.errors import LateArrivalError


def make(**changes):
    return ecm.SketchConfig(**{"epsilon": 0.1, "delta": 0.1, "window": 1000, "counter": "eh", **changes})


def test_raise_refuses_the_whole_batch():
    sketch = ecm.EcmSketch(make())
    sketch.update("a", 100)
    before = sketch.serialize()
    with pytest.raises(LateArrivalError, match=r"1 of 2 ticks lie behind the sketch's clock 100, the oldest at 99"):
        sketch.update_many(["b", "b"], [101, 99])
    assert sketch.serialize() == before


def test_drop_counts_what_it_drops():
    sketch = ecm.EcmSketch(make(late="drop"))
    sketch.update_many(["a"] * 3, [100, 100, 100])
    sketch.update_many(["a"] * 3, [99, 100, 101])
    sketch.update("a", 50)
    assert (sketch.late_dropped, sketch.late_counted, sketch.estimate("a").value) == (2, 0, 5)


def test_side_counts_in_the_right_place_and_drops_what_is_too_late():
    sketch = ecm.EcmSketch(make(late="side", lateness=100))
    sketch.update("a", 1000)
    sketch.update_many(["a", "a", "a", "b"], [950, 901, 900, 500])
    assert (sketch.late_counted, sketch.late_dropped) == (2, 2)
    assert sketch.estimate("a", between=(940, 960)).value == 1
    assert sketch.estimate("a", last=60).value == 2
    assert sketch.estimate("a", last=1000).value == 3
    sketch.advance(1200)
    assert sketch.estimate("a", last=300).value == 3
    assert len(sketch._state().engine.held.ticks) == 0, "their order is final, so they left the buffer"
    sketch.advance(2001)
    assert sketch.estimate("a").value == 0


def test_many_late_arrivals_stay_bounded_in_memory_and_are_all_accounted_for(monkeypatch):
    monkeypatch.setattr(late_module, "HELD_LIMIT", 100)
    rng = np.random.default_rng(4)
    config = make(late="side")
    sketch, counted, came_late = ecm.EcmSketch(config), [np.full(50, 0)], 0
    sketch.update_many(np.zeros(50, np.int64), counted[0])
    for step in range(1, 200):
        on_time, late = np.full(50, 10 * step), 10 * (step - 1) - rng.integers(1, 900, 20)
        sketch.update_many(np.zeros(50, np.int64), on_time)
        counted.append(on_time)
        came_late += len(late)
        for tick in late.tolist():
            before = sketch.late_counted
            sketch.update(0, tick)
            counted.append(np.full(sketch.late_counted - before, tick))
        assert len(sketch._state().engine.held.ticks) <= 100
        assert sketch.late_counted + sketch.late_dropped == came_late
    assert sketch.late_dropped > 100
    assert sketch.late_counted > 100
    for last in (100, 500, 1000):
        exact = int((np.concatenate(counted) > sketch.now - last).sum())
        assert sketch.total(last=last).covers(exact)


def test_side_answers_like_a_sketch_fed_in_order():
    rng = np.random.default_rng(2)
    config = make(late="side", lateness=200, epsilon=0.02)
    ticks = np.arange(30_000) // 10
    arrival = np.argsort(ticks + rng.integers(0, 150, 30_000), kind="stable")
    items = rng.integers(0, 100, 30_000)
    sketch, inside = ecm.EcmSketch(config), ecm.EcmSketch(config)
    for i in range(0, 30_000, 500):
        batch = arrival[i : i + 500]
        sketch.update_many(items[batch], ticks[batch])
    inside.update_many(items, ticks)
    assert sketch.late_dropped == 0
    assert sketch.late_counted > 1000
    for last in (100, 300, 1000):
        exact = np.bincount(items[ticks > sketch.now - last], minlength=100)
        found = sketch.estimate_many(np.arange(100), last=last)
        assert (found.upper >= exact).all()
        readings = np.array([sketch.cells(item, last=last).value.min() for item in range(100)])
        assert (readings >= exact * (1 - config.epsilon_sw) - 1e-9).all()
        lacking = config.epsilon_sw * exact + (1 + config.epsilon_sw) * (exact.sum() - exact) / config.width
        assert (found.value >= exact - lacking - 1e-9).all()
        assert sketch.total(last=last).covers(exact.sum())


def test_a_late_first_arrival_moves_the_origin():
    sketch = ecm.EcmSketch(make(late="side"))
    sketch.advance(500)
    sketch.update("a", 400)
    assert sketch.total() == ecm.Estimate(1, 1, 1, 1.0)
    assert sketch.total(last=50).value == 0


def test_held_arrivals_travel_in_the_bytes():
    sketch = ecm.EcmSketch(make(late="side"))
    sketch.update_many(["a"] * 5, [500, 501, 502, 503, 504])
    sketch.update_many(["b"] * 3, [400, 300, 350], [1, 2, 3])
    again = ecm.EcmSketch.deserialize(sketch.serialize())
    assert again == sketch
    assert again.estimate("b", last=160).value == 4
    assert again.late_counted == 3


def test_concatenation_knows_which_late_arrivals_are_settled():
    config = make(late="side", lateness=50, window=100)
    first = ecm.EcmSketch(config)
    first.update_many([7] * 3, [50, 60, 100])
    first.update_many([7] * 5, [95] * 5)
    joined = ecm.concat([first, ecm.EcmSketch(config)])
    joined.update_many([7] * 50, [90] * 50)
    assert joined.late_dropped == 50, "95 is settled, so 90 comes too late"
    joined.advance(150)
    assert joined.total(between=(92, 150)).value == 6
    assert ecm.EcmSketch.deserialize(joined.serialize()) == joined


def test_dropped_arrivals_of_empty_segments_are_not_forgotten():
    config = make(late="drop")
    first, second = ecm.EcmSketch(config), ecm.EcmSketch(config)
    first.advance(10)
    first.update("a", 5)
    assert first.is_empty
    second.update("a", 11)
    for combined in (
        ecm.concat([first, second]),
        ecm.merge([first, second]),
        ecm.concat([first, ecm.EcmSketch(config)]),
    ):
        assert combined.late_dropped == 1


def test_a_flood_of_late_arrivals_is_held_within_the_limit():
    sketch = ecm.EcmSketch(make(late="side", window=10**7))
    sketch.update(1, 10**7)
    sketch.update_many(np.zeros(300_000, int), np.arange(300_000) + 1)
    assert len(sketch._state().engine.held.ticks) <= late_module.HELD_LIMIT
    assert sketch.late_counted == 300_000
    assert sketch.total().covers(300_001)


def test_concatenation_keeps_the_late_ones():
    config = make(late="side", lateness=50)
    days = []
    for day in range(3):
        sketch = ecm.EcmSketch(config)
        sketch.update_many(["a"] * 100, 200 * day + np.arange(100, 200))
        sketch.update_many(["a"] * 5, 200 * day + np.array([160, 170, 180, 190, 195]))
        days.append(sketch)
    joined = ecm.concat(days)
    assert (joined.late_counted, joined.late_dropped) == (15, 0)
    assert joined.estimate("a").value == 315
    assert joined.estimate("a", last=250).covers(155)
    joined.update("a", joined.now - 10)
    assert joined.estimate("a").value == 316
