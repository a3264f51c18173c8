"""Heavy hitters: the names' own counts always hold, so no bound that holds with some probability may override them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.kernels.hashing import cells_of
from streams import streams, zipf_items

WINDOW = 1000


def tiny(**changes):
    """Two rows of a few cells: nearly everything collides, and the probable lower bounds are often wrong."""
    return ecm.SketchConfig(**{"epsilon": 0.9, "delta": 0.3, "window": WINDOW, "heavy_hitters": True, **changes})


def colliding_pair(config: ecm.SketchConfig) -> tuple[int, int]:
    """Two items that share their cell in every row."""
    cells = cells_of(np.arange(5000, dtype=np.uint64), config.rows)
    seen: dict[tuple[int, ...], int] = {}
    for item, column in enumerate(cells.T.tolist()):
        if tuple(column) in seen:
            return seen[tuple(column)], item
        seen[tuple(column)] = item
    raise AssertionError("no two items collide")


@pytest.mark.parametrize("counter", ["eh", "dw", "rw", "slices"])
@pytest.mark.parametrize("epsilon", [0.9, 0.2, 0.05])
def test_two_items_that_collide_everywhere_are_reported_as_often_as_each_came(counter, epsilon):
    config = tiny(counter=counter, epsilon=epsilon)
    one, two = colliding_pair(config)
    sketch = ecm.EcmSketch(config, site="here")
    sketch.update_many([one, two] * 100, np.repeat(np.arange(100), 2))
    if counter == "slices":
        assert sketch.estimate(one) == (100, 100, 100, 1), "so few are kept as they are"
    else:
        assert sketch.estimate(one).value > 150, "they were meant to collide"
    for found in (sketch.top(5), sketch.heavy_hitters(0.4), sketch.heavy_hitters(0.4, no_miss=True)):
        assert {hitter.item for hitter in found} == {one, two}
        assert [hitter.estimate[:3] for hitter in found] == [(100, 100, 100)] * 2


@given(
    stream=streams(WINDOW, most=4000),
    counter=st.sampled_from(["eh", "dw", "rw", "slices"]),
    epsilon=st.sampled_from([0.9, 0.5, 0.1]),
    exponent=st.sampled_from([0.3, 1.1]),
    seed=st.integers(0, 2**32),
)
def test_certain_bounds_are_never_broken_and_the_value_lies_between_them(stream, counter, epsilon, exponent, seed):
    rng = np.random.default_rng(seed)
    config = tiny(counter=counter, epsilon=epsilon, seed=seed)
    items = zipf_items(len(stream.ticks), 40, rng, exponent)
    weights = np.ones(len(items), np.int64) if stream.weights is None else stream.weights
    sketch = ecm.EcmSketch(config, site="here")
    sketch.update_many(items, stream.ticks, stream.weights)
    now = int(stream.ticks[-1])
    for last in (1, 50, WINDOW):
        inside = stream.ticks > now - last
        exact = np.bincount(items[inside], weights[inside], minlength=40)
        names = sketch._state().frequent.candidates(now - last, now)
        certain = dict(zip(names.keys.tolist(), zip(names.lower, names.upper, strict=True), strict=True))
        for hitter in sketch.top(100, last=last):
            value, lower, upper, _ = hitter.estimate
            assert lower <= value <= upper
            assert certain[hitter.item][0] <= lower
            assert upper <= certain[hitter.item][1]
            assert counter == "rw" or exact[hitter.item] <= upper
            if certain[hitter.item][0] == certain[hitter.item][1]:
                assert lower == upper == exact[hitter.item]
