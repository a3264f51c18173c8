"""The promises of counter="slices", over seeded trials: upper bounds always hold; the error of a point named beforehand
and its lower bound fail as rarely as promised, whatever the stream and however it was cut, merged or delayed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch.config.budget import slices_carried_epsilon
from streams import cuts, ticks_of, zipf_items

WINDOW = 3000
DISTINCT = 500
NAMED = 7
"""The item that is asked for, named before any hash is drawn."""


class Case(NamedTuple):
    items: np.ndarray
    ticks: np.ndarray
    weights: np.ndarray
    since: int


def _case(kind: str, rng: np.random.Generator, events: int) -> Case:
    exponent = {"zipf 0": 0.0, "zipf 0.7": 0.7, "zipf 2": 2.0}.get(kind, 1.0)
    items = rng.permutation(DISTINCT)[zipf_items(events, DISTINCT, rng, exponent)]
    shape = {"idle gaps": "gaps", "one tick": "one tick"}.get(kind, ("steady", "bursts", "crowded")[rng.integers(3)])
    ticks = ticks_of(shape, events, WINDOW, rng)
    weights = np.ones(events, np.int64)
    since = int(ticks[-1] - rng.integers(1, WINDOW + 1))
    if kind.startswith("burst"):
        at = int(np.searchsorted(ticks, since, side="right"))
        length = int(rng.integers(1, 200))
        burst = slice(max(at - length, 0), at) if kind == "burst before" else slice(at, at + length)
        items[items == NAMED] = NAMED + 1
        items[burst] = NAMED
    if kind == "weights uniform":
        weights = rng.integers(1, 100, events)
    elif kind == "weights heavy":
        weights = np.minimum(rng.pareto(0.6, events) + 1, 2.0**40).astype(np.int64)
    elif kind == "weights falling":
        weights = 2 ** np.linspace(40, 0, events).astype(np.int64)
    return Case(items, ticks, weights, since)


def _fed(config, case: Case, order=None) -> ecm.EcmSketch:
    sketch = ecm.EcmSketch(config)
    order = np.arange(len(case.items)) if order is None else order
    for part in np.array_split(order, 3):
        sketch.update_many(case.items[part], case.ticks[part], case.weights[part])
    return sketch


def _delayed(case: Case, rng) -> np.ndarray:
    """Any part of the events late by any amount inside the window, in any order."""
    late = rng.random(len(case.ticks)) < rng.choice([0.05, 0.5, 1.0])
    delay = np.where(late, rng.integers(1, WINDOW // 2, len(late)), 0)
    return np.argsort(case.ticks + delay, kind="stable")


def _merged(config, case: Case, rng, how: str) -> tuple[ecm.EcmSketch, int]:
    """Sites of unequal size, merged at once, in two levels or in pairs; and how many there were."""
    count = int(rng.choice([2, 3, 8, 40] if how != "at once" else [2, 5, 33, 256]))
    where = np.minimum(rng.geometric(rng.choice([0.05, 0.3]), len(case.items)) - 1, count - 1)
    sites = [_fed(config, Case(*(column[where == site] for column in case[:3]), 0)) for site in range(count)]
    if how == "in two levels":
        sites = [ecm.merge(sites[i : i + 6]) for i in range(0, count, 6)]
    return ecm.merge(sites, "binary" if how == "in pairs" else "n-way"), count


def _joined(config, case: Case, rng) -> ecm.EcmSketch:
    pieces = cuts(len(case.items), int(rng.integers(2, 12)), rng)
    return ecm.concat([_fed(config, Case(*(column[piece] for column in case[:3]), 0)) for piece in pieces])


KINDS = (
    "zipf 0", "zipf 0.7", "zipf 1", "zipf 2", "burst before", "burst after", "idle gaps", "one tick", "weights uniform",
    "weights heavy", "weights falling",
)  # fmt: skip
WAYS = ("plain", "late", "count", "at once", "in two levels", "in pairs", "joined", "interval")


def _build(way: str, config, case: Case, rng) -> tuple[ecm.EcmSketch, int]:
    if way == "late":
        return _fed(config, case, _delayed(case, rng)), 1
    if way in ("at once", "in two levels", "in pairs"):
        return _merged(config, case, rng, way)
    if way == "joined":
        return _joined(config, case, rng), 1
    if way == "count":
        sketch = ecm.EcmSketch(config)
        sketch.update_many(case.items, weights=case.weights)
        return sketch, 1
    return _fed(config, case), 1


def _exact(case: Case, since: int, until: int, counted: bool) -> tuple[int, int, int]:
    """How often the named item came in a range; all arrivals in it; all after its start."""
    ticks = np.cumsum(case.weights) if counted else case.ticks
    first = ticks - case.weights if counted else ticks - 1  # an event's arrivals lie in (first, ticks]
    inside = np.maximum(np.minimum(ticks, until) - np.maximum(first, since), 0)
    inside = inside if counted else case.weights * inside
    after = np.maximum(ticks - np.maximum(first, since), 0) if counted else case.weights * (ticks > since)
    return int(inside[case.items == NAMED].sum()), int(inside.sum()), int(after.sum())


class Trial(NamedTuple):
    beyond: bool
    """Whether the value is off by more than is promised."""
    below: float
    """By how much the promise of the lower bound was broken: 0, or the probability with which it may be."""
    allowed: float


def trial(kind: str, way: str, resolution: float | None, number: int, epsilon=0.1, delta=0.2, events=4000) -> Trial:
    rng = np.random.default_rng([number, KINDS.index(kind), WAYS.index(way)])
    model = "count" if way == "count" else "time"
    late = "side" if way == "late" else "raise"
    config = ecm.SketchConfig(
        epsilon=epsilon, delta=delta, window=WINDOW, counter="slices", resolution=resolution, seed=number, model=model,
        late=late,
    )  # fmt: skip
    case = _case(kind, rng, events)
    sketch, sites = _build(way, config, case, rng)
    since, until = (case.since, int(sketch.now))
    if way == "count":
        since = until - int(rng.integers(1, WINDOW + 1))
    if way == "interval":
        until = int(rng.integers(since, until + 1))
    answer, total = sketch.estimate(NAMED, between=(since, until)), sketch.total(between=(since, until))
    exact, arrivals, after = _exact(case, since, until, way == "count")
    assert answer.lower <= answer.value <= answer.upper
    assert answer.upper >= exact - 1e-6 * max(exact, 1)
    assert total.lower - 1e-6 * arrivals <= arrivals <= total.upper + 1e-6 * arrivals
    carried = slices_carried_epsilon(config.epsilon_t, sketch.merge_levels)
    assert sketch.epsilon == pytest.approx(carried + config.epsilon_cm)
    start = carried * ((after + sites) * (2 if way == "interval" else 1))
    beyond = abs(answer.value - exact) > start + config.epsilon_cm * arrivals + 1e-6 * arrivals
    missed = answer.lower > exact + 1e-6 * max(exact, 1)
    assert not (missed and answer.confidence == 1)
    return Trial(beyond, float(missed), 1 - answer.confidence)


def check(trials: list[Trial], delta: float) -> None:
    """Failures may exceed what is expected by three standard deviations."""
    for failed, rate in (
        (sum(trial.beyond for trial in trials), np.full(len(trials), delta)),
        (sum(trial.below for trial in trials), np.array([trial.allowed for trial in trials])),
    ):
        assert failed <= rate.sum() + 3 * np.sqrt((rate * (1 - rate)).sum())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("resolution", [None, 0.2])
def test_a_named_point(way, resolution):
    kinds = [kind for kind in KINDS if way != "count" or kind not in ("one tick", "idle gaps")]
    check([trial(kind, way, resolution, number) for kind in kinds for number in range(10)], 0.2)


@pytest.mark.parametrize("way", ["plain", "late", "at once"])
def test_a_small_epsilon(way):
    some = [trial("zipf 1", way, 0.1, number, epsilon=0.001, delta=0.05, events=40_000) for number in range(4)]
    check(some, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("resolution", [None, 0.2])
def test_a_named_point_over_ten_thousand_trials(way, resolution):
    kinds = [kind for kind in KINDS if way != "count" or kind not in ("one tick", "idle gaps")]
    for kind in kinds:
        check([trial(kind, way, resolution, 1000 + number) for number in range(60)], 0.2)
