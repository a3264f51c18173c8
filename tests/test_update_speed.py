"""`update` takes all ticks, weights and models at about one speed, and leads to the state of `update_many`."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime, timedelta
from itertools import count
from time import perf_counter

import numpy as np
import pandas as pd
import pytest

import ecmsketch as ecm
from ecmsketch.errors import InputError, LateArrivalError
from streams import zipf_items

START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = int(START.timestamp())

TICKS = {
    "int": lambda n: SECOND + n,
    "np.int64": lambda n: np.int64(SECOND + n),
    "np.uint32": lambda n: np.uint32(SECOND + n),
    "datetime": lambda n: START.replace(tzinfo=None) + timedelta(seconds=n),
    "zoned datetime": lambda n: START + timedelta(seconds=n),
    "date": lambda n: date(2026, 1, 1) + timedelta(days=n // 1000),
    "np.datetime64": lambda n: np.datetime64(SECOND + n, "s"),
    "pd.Timestamp": lambda n: pd.Timestamp(SECOND + n, unit="s"),
    "zoned pd.Timestamp": lambda n: pd.Timestamp(SECOND + n, unit="s", tz="Europe/Paris"),
}
MOST = 8.0
"""Times the cost of a plain update. It was 100 and more; three is usual, and other work on the machine may disturb."""


def make(**changes):
    return ecm.SketchConfig(**{"epsilon": 0.05, "delta": 0.1, "window": 10**7, "unit": "s", **changes})


def cost(arguments, **changes):
    """Seconds for an update, the fastest of several rounds."""
    sketch = ecm.EcmSketch(make(**changes))
    rounds = []
    for part in np.array_split(np.arange(len(arguments)), 8):
        begin = perf_counter()
        for position in part.tolist():
            sketch.update("item", *arguments[position])
        rounds.append((perf_counter() - begin) / len(part))
    return min(rounds)


@pytest.mark.parametrize("kind", TICKS)
def test_ticks_of_any_kind_cost_about_the_same(kind):
    plain = cost([(n,) for n in range(1600)])
    assert cost([(TICKS[kind](n),) for n in range(1600)]) < MOST * plain


def test_weights_and_numbered_arrivals_cost_about_the_same():
    plain = cost([(n,) for n in range(1600)])
    assert cost([(n, 2 + n % 1000) for n in range(1600)]) < MOST * plain
    assert cost([(n, np.int64(2)) for n in range(1600)]) < MOST * plain
    assert cost([()] * 1600, model="count") < MOST * plain
    assert cost([(None, 3)] * 1600, model="count") < MOST * plain
    assert cost([(n + 1,) for n in range(1600)], model="count") < MOST * plain


@pytest.mark.parametrize("changes", [{}, {"counter": "dw"}, {"counter": "rw", "epsilon": 0.3},
                                     {"heavy_hitters": True}, {"model": "count", "heavy_hitters": True}])  # fmt: skip
def test_the_state_is_that_of_update_many(changes):
    rng = np.random.default_rng(5)
    counted = changes.get("model") == "count"
    single, each, bulk = (ecm.EcmSketch(make(window=500, **changes), site="here") for _ in range(3))
    items = [f"item {number}" for number in zipf_items(3000, 60, rng).tolist()]
    weights = [1 if n % 3 else int(weight) for n, weight in enumerate(rng.integers(0, 50, 3000))]
    ticks = None if counted else [list(TICKS.values())[n % 5](n // 2) for n in range(3000)]
    for n, (item, weight) in enumerate(zip(items, weights, strict=True)):
        tick = None if ticks is None else ticks[n]
        single.update(item, tick, np.int32(weight) if n % 2 else weight)
        if n < 400:
            each.update_many([item], None if tick is None else [tick], [weight])
        if n == 399:
            assert single.serialize() == each.serialize()
    bulk.update_many(items, ticks, weights)
    assert single.serialize() == bulk.serialize()
    assert single.total() == bulk.total()


def test_what_is_not_counted_costs_about_the_same():
    plain = cost([(n,) for n in range(1600)])
    assert cost([(n, 0) for n in range(1600)]) < MOST * plain
    assert cost([(1600,), *((n,) for n in range(1600))], late="drop") < MOST * plain
    assert cost([(None, 0)] * 1600, model="count") < MOST * plain


@pytest.mark.parametrize("late", ["drop", "side"])
def test_late_arrivals_are_those_of_update_many(late):
    rng = np.random.default_rng(8)
    single, each = (ecm.EcmSketch(make(late=late, window=500, lateness=20, heavy_hitters=True)) for _ in range(2))
    for n, back in enumerate(rng.integers(0, 40, 600).tolist()):
        tick, weight = SECOND + n - (back if back > 20 else 0), back % 3
        single.update(n % 7, np.datetime64(tick, "s") if n % 2 else tick, weight)
        each.update_many([n % 7], [tick], [weight])
    assert single.late_dropped == each.late_dropped > 100
    assert single.serialize() == each.serialize()


def test_errors_are_raised_at_the_call_and_lose_nothing():
    sketch = ecm.EcmSketch(make())
    for n in range(100):
        sketch.update("a", SECOND + n, 2)
        for wrong, error in (
            (("a", SECOND + n - 1), LateArrivalError),
            (("a", START - timedelta(days=1), 5), LateArrivalError),
            (("a", SECOND + n, -1), InputError),
            (("a", SECOND + n, 1.5), InputError),
            (("a", SECOND + n, 2**53 + 1), InputError),
            (("a", np.datetime64("NaT")), InputError),
            (("a", None), InputError),
            (("a", True), InputError),
            ((None, SECOND + n), InputError),
        ):
            with pytest.raises(error):
                sketch.update(*wrong)
        sketch.update("a", SECOND + n, 0)
    assert (sketch.now, sketch.estimate("a").value) == (SECOND + 99, 200)
    counted = ecm.EcmSketch(make(model="count"))
    for n in range(10):
        counted.update("a", weight=2)
        for tick in (n, START, 2 * n + 4, "x"):
            with pytest.raises(InputError, match="tick"):
                counted.update("a", tick)
    assert (counted.now, counted.estimate("a").value) == (20, 20)


def interrupted(at, change, sketch):
    """Make a change in which Ctrl-C comes when code is called for the `at`-th time; whether it came."""
    calls, came = count(), []

    def interrupt(frame, event, called):
        if called is not sys.setprofile and next(calls) == at:
            came.append(at)
            raise KeyboardInterrupt

    sys.setprofile(interrupt)
    try:
        change(sketch)
    except KeyboardInterrupt:
        assert came
    finally:
        sys.setprofile(None)
    return bool(came)


def check_interrupts(config, start, change, go_on):
    """Whenever Ctrl-C comes in a change, the sketch is as before it or as after it, and goes on."""
    hits = 0
    for at in count():
        sketches = sketch, before, after = [ecm.EcmSketch(config) for _ in range(3)]
        for each in sketches:
            start(each)
        change(after)
        came = interrupted(at, change, sketch)
        hits += came
        for each in sketches:
            go_on(each)
        found = sketch.serialize()
        assert found == after.serialize() or (came and found == before.serialize())
        if not came:
            return hits
    return 0


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("item", [7, "lost", ("lost", 7)])
@pytest.mark.parametrize("model", ["time", "count"])
def test_an_interrupt_leaves_no_half_of_an_arrival(model, item, named):
    def tick(number):
        return None if model == "count" else np.datetime64(number, "s")

    def start(sketch):
        sketch.update("a", tick(1), 2)

    def go_on(sketch):
        sketch.update("b", tick(8))
        sketch.update("b", tick(8), 5)

    def change(sketch):
        sketch.update(item, tick(5), np.int32(7))

    config = make(model=model, heavy_hitters=named)
    assert check_interrupts(config, start, change, go_on) >= (item != 7) + (model == "time")


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("events", [3, 3000])
def test_an_interrupt_leaves_no_part_of_a_batch(events, named):
    items, ticks, weights = np.arange(events) % 7, 10 + np.arange(events), 7 + np.arange(events)

    def start(sketch):
        sketch.update_many([1, 2, 3], [1, 2, 3], [4, 5, 6])

    def go_on(sketch):
        sketch.update_many([1, 2], [40_000, 50_000])
        sketch.update(3, 60_000, 2)

    def change(sketch):
        sketch.update_many(items.tolist(), ticks, weights)

    assert check_interrupts(make(heavy_hitters=named), start, change, go_on) > 10


def test_gathered_weights_do_not_pass_what_counters_hold():
    sketch = ecm.EcmSketch(make())
    sketch.update("a", 1, 2**53 - 5)
    for n in range(5):
        sketch.update("a", 2 + n)
    with pytest.raises(InputError, match=r"2\*\*53"):
        sketch.update("a", 9)
    for _ in range(3):  # also where a sketch has what quick updates need
        with pytest.raises(InputError, match=r"2\*\*53"):
            sketch.update("a", 9)
    assert sketch.estimate("a").value == 2**53
    large = ecm.EcmSketch(make())
    for n in range(2**5):
        large.update("a", n, 2**32)
    for n in range(8):
        large.update("a", 100 + n, 2**33 + n)
    assert large.estimate("a").value == 2**37 + 2**36 + 28
