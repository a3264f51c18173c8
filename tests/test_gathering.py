"""Small batches are gathered as single arrivals are: the same state, errors at the call, memory given back."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pyarrow as pa
import pytest

import ecmsketch as ecm
from ecmsketch.errors import InputError, LateArrivalError
from ecmsketch.kernels.memory import fail_after
from streams import zipf_items


def make(**changes):
    return ecm.SketchConfig(**{"epsilon": 0.05, "delta": 0.1, "window": 500, **changes})


def as_given(part, how):
    texts = [f"item {number}" for number in part.tolist()]
    return {"ints": part, "negative": -part, "list": texts, "numpy": np.array(texts), "arrow": pa.array(texts)}[how]


@pytest.mark.parametrize("how", ["ints", "negative", "list", "numpy", "arrow"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "changes",
    [{}, {"counter": "dw"}, {"counter": "rw", "epsilon": 0.3}, {"model": "count"}, {"heavy_hitters": True},
     {"heavy_hitters": True, "late": "side", "lateness": 20}],
)  # fmt: skip
def test_batches_of_any_size_and_single_arrivals_lead_to_one_state(how, weighted, changes):
    rng = np.random.default_rng(3)
    events = 9000
    items = zipf_items(events, 60, rng)
    weights = np.where(rng.random(events) < 0.1, rng.integers(0, 9, events), 1) if weighted else None
    ticks = np.arange(events) // 3
    if changes.get("late") == "side":
        ticks[rng.random(events) < 0.002] -= 15
    parted, whole = (ecm.EcmSketch(make(**changes), site="here") for _ in range(2))
    sizes = rng.choice([1, 2, 7, 300, 2047, 2048], 400)
    sizes[rng.random(400) < 0.5] = 1
    for part in np.split(np.arange(events), np.cumsum(sizes)[np.cumsum(sizes) < events]):
        given = as_given(items[part], how)
        tick = None if changes.get("model") == "count" else ticks[part]
        if len(part) == 1 and how != "arrow":
            single = given[0].item() if isinstance(given, np.ndarray) else given[0]
            parted.update(single, None if tick is None else int(tick[0]), 1 if weights is None else weights[part[0]])
        else:
            parted.update_many(given, tick, None if weights is None else weights[part])
        if "late" in changes:
            whole.update_many(given, tick, None if weights is None else weights[part])
            whole.now  # noqa: B018  counts it at once
    if "late" not in changes:
        whole.update_many(as_given(items, how), None if changes.get("model") == "count" else ticks, weights)
    assert parted.serialize() == whole.serialize()
    if "heavy_hitters" in changes:
        assert parted.top(5) == whole.top(5)
        assert [hitter.item for hitter in parted.top(3)] == [hitter.item for hitter in whole.top(3)]


def test_errors_are_raised_by_the_call_that_gave_the_wrong_batch():
    sketch = ecm.EcmSketch(make())
    sketch.update_many([1, 2], [10, 20])
    for wrong, error in (
        (([1, 2], [19, 30]), LateArrivalError),
        (([1, 2], [30, 2**62 + 1]), InputError),
        (([1, 2], [30]), InputError),
        (([1, 2], [30, 31], [1, -1]), InputError),
        (([1, 2], [30, 31], [1, 2**53]), InputError),
        (([1, None], [30, 31]), InputError),
    ):
        with pytest.raises(error):
            sketch.update_many(*wrong)
    sketch.update_many([1, 2], [40, 30])
    assert (sketch.now, sketch.total().value, sketch.estimate(1).value) == (40, 4, 2)
    counted = ecm.EcmSketch(make(model="count"))
    counted.update_many([1, 2, 3])
    for numbers in ([1, 2], [5, 6], [4, 6]):
        with pytest.raises(InputError, match="number"):
            counted.update_many([1, 2], numbers)
    counted.update_many([1, 2], [4, 5])
    assert counted.now == 5


def test_what_the_caller_changes_later_does_not_matter():
    sketch = ecm.EcmSketch(make(heavy_hitters=True))
    items, ticks, weights, names = np.arange(5), np.arange(5), np.arange(2, 7), ["a"] * 5
    sketch.update_many(items, ticks, weights)
    sketch.update_many(names, ticks + 5)
    items[:], ticks[:], weights[:], names[:] = 9, 9, 9, ["b"] * 5
    assert (sketch.now, sketch.total().value, sketch.estimate(4).value) == (9, 25, 6)
    assert "a" in {hitter.item for hitter in sketch.top(6)}


def most_waiting(sketch) -> int:
    """How many arrivals may wait: 64 KB of them, or as many as take a quarter of the state."""
    return max(4096, sketch._engine.state_nbytes // 64)


@pytest.mark.parametrize("epsilon", [0.05, 0.001])
def test_memory_grows_with_what_is_gathered_and_is_given_back(epsilon):
    sketch = ecm.EcmSketch(make(epsilon=epsilon))
    assert sketch._waiting_nbytes == 0
    sketch.update(1, 1)
    assert 0 < sketch._waiting_nbytes <= 16 * 64
    for _ in range(200):
        sketch.update_many(np.arange(1000), np.full(1000, 2))
        assert sketch._waiting_nbytes <= 16 * most_waiting(sketch)
    sketch.update(1, 2, weight=3)
    assert sketch._waiting_nbytes <= 24 * most_waiting(sketch)
    assert most_waiting(sketch) > 4096 or epsilon == 0.05
    assert sketch.total().value == 200_004
    assert sketch._waiting_nbytes == 0


@pytest.mark.parametrize("counter", ["eh", "dw", "rw", "slices"])
def test_what_could_not_be_counted_is_counted_later(counter):
    config = make(counter=counter, epsilon=0.3, heavy_hitters=True)
    sketch, expected = (ecm.EcmSketch(config, site="here") for _ in range(2))
    for each in (sketch, expected):
        each.update_many(["a", "b"], [1, 2], [3, 1])
        each.update("c", 3)
    fail_after(0)
    try:
        for ask in (sketch.total, lambda: sketch.now, lambda: sketch.update_many(["d"], [1])):
            with pytest.raises(MemoryError):
                ask()
        with pytest.raises(MemoryError):
            sketch.update_many(["x"] * 4096, [9] * 4096)
    finally:
        fail_after(-1)
    for each in (sketch, expected):
        each.update_many(["d"], [5])
    assert sketch == expected
    assert sketch.top(4) == expected.top(4)


@pytest.mark.parametrize("size", [10, 1000])
def test_small_batches_are_not_slower_than_single_arrivals(size):
    events = 20_000
    items, ticks = zipf_items(events, 500, np.random.default_rng(1)), np.arange(events)
    config = make(epsilon=0.01, window=10**6)

    def seconds(feed):
        rounds = []
        for _ in range(3):
            sketch = ecm.EcmSketch(config)
            begin = perf_counter()
            feed(sketch)
            rounds.append(perf_counter() - begin)
            assert sketch.total().value == events
        return min(rounds)

    def singles(sketch):
        for item, tick in zip(items.tolist(), ticks.tolist(), strict=True):
            sketch.update(item, tick)

    def batches(sketch):
        for at in range(0, events, size):
            sketch.update_many(items[at : at + size], ticks[at : at + size])

    assert seconds(batches) < 2 * seconds(singles)
