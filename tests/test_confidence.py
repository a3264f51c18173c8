"""The `confidence=` of a question: what it changes, what it never changes, and histories read in one go."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ecmsketch as ecm
from streams import streams, zipf_items

WINDOW = 1000


def filled(counter="slices", **changes):
    rng = np.random.default_rng(3)
    config = ecm.SketchConfig(**{"epsilon": 0.05, "delta": 0.05, "window": WINDOW, "counter": counter, **changes})
    sketch = ecm.EcmSketch(config, site="here")
    sketch.update_many(zipf_items(30_000, 500, rng), np.arange(30_000) // 20)
    return sketch


@pytest.mark.parametrize("counter", ["slices", "eh", "dw"])
def test_more_confidence_only_lowers_lower_bounds(counter):
    sketch = filled(counter, resolution=0.1)
    asked = [sketch.estimate_many(np.arange(500), last=900, confidence=each) for each in (0.5, 0.9, 0.999, 1)]
    for less, more in itertools.pairwise(asked):
        assert (more.lower <= less.lower).all()
        np.testing.assert_array_equal(more.upper, less.upper)
        assert more.confidence > less.confidence
    assert (asked[0].lower > asked[1].lower).any()
    assert [each.confidence for each in asked] == pytest.approx([0.5, 0.9, 0.999, 1])
    usual = sketch.estimate_many(np.arange(500), last=900)
    again = sketch.estimate_many(np.arange(500), last=900, confidence=sketch.config.confidence)
    np.testing.assert_array_equal(usual.lower, again.lower)


@pytest.mark.parametrize("counter", ["slices", "eh", "dw"])
def test_what_is_certain_holds_for_every_item(counter):
    sketch = filled(counter, resolution=0.1)
    items, ticks = zipf_items(30_000, 500, np.random.default_rng(3)), np.arange(30_000) // 20
    for last in (10, 300, 1000):
        exact = np.bincount(items[ticks > sketch.now - last], minlength=500)
        found = sketch.estimate_many(np.arange(500), last=last, confidence=1)
        assert (found.lower <= exact).all()
        assert (exact <= found.upper).all()
        assert found.confidence == 1
        join = sketch.self_join(last=last, confidence=1)
        assert join.covers(float(exact @ exact))
        assert join.confidence == 1


@pytest.mark.parametrize("confidence", [0, -1, 1.5, "most", float("nan"), True])
def test_a_confidence_is_a_probability(confidence):
    sketch = filled(heavy_hitters=True)
    for ask in (
        lambda: sketch.estimate(7, confidence=confidence),
        lambda: sketch.estimate_many([7], confidence=confidence),
        lambda: sketch.history(7, 100, confidence=confidence),
        lambda: sketch.self_join(confidence=confidence),
        lambda: sketch.inner_product(sketch, confidence=confidence),
        lambda: sketch.top(3, confidence=confidence),
        lambda: sketch.heavy_hitters(0.2, confidence=confidence),
        lambda: sketch.heavy_changes(3, 100, confidence=confidence),
    ):
        with pytest.raises(ecm.errors.QueryError, match="confidence: expected a number above 0 and at most 1"):
            ask()


def test_randomized_waves_cannot_be_surer_than_they_were_built():
    sketch = filled("rw", epsilon=0.2)
    assert sketch.estimate(7, confidence=0.5).confidence == sketch.config.confidence
    with pytest.raises(ecm.errors.QueryError, match=r"with counter='rw' expected at most 0\.9"):
        sketch.estimate(7, confidence=0.999999)


@settings(max_examples=40)
@given(
    stream=streams(WINDOW, most=4000),
    model=st.sampled_from(["time", "count"]),
    merged=st.booleans(),
    step=st.sampled_from([7, 100, 999, 1000]),
    confidence=st.sampled_from([None, 0.6, 1]),
    estimator=st.sampled_from(["interpolate", "half"]),
    seed=st.integers(0, 2**32),
)
def test_a_history_is_a_row_of_intervals(stream, model, merged, step, confidence, estimator, seed):
    rng = np.random.default_rng(seed)
    config = ecm.SketchConfig(
        epsilon=0.5, delta=0.2, window=WINDOW, resolution=0.3, seed=seed, model=model, estimator=estimator
    )
    sketch = ecm.EcmSketch(config)
    items = zipf_items(len(stream.ticks), 40, rng)
    sketch.update_many(items, stream.ticks if model == "time" else None, stream.weights)
    if merged and model == "time":
        other = ecm.EcmSketch(config)
        other.update_many(rng.permutation(items), stream.ticks, stream.weights)
        sketch = ecm.merge([sketch, other])
    series = sketch.history(3, step, confidence=confidence)
    for end, found in zip(series.tick.tolist(), series.estimates, strict=True):
        asked = sketch.estimate(3, between=(end - step, end), confidence=confidence)
        assert found[:3] == pytest.approx(asked[:3])
        assert found.confidence <= asked.confidence + 1e-12


def test_one_item_and_many_are_answered_alike():
    for changes in ({}, {"model": "count"}, {"resolution": 0.1}, {"counter": "eh"}):
        sketch = filled(**{"epsilon": 0.2, **changes}) if "model" not in changes else None
        if sketch is None:
            sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.2, delta=0.05, window=WINDOW, model="count"))
            sketch.update_many(np.arange(9000) % 50, weights=np.arange(9000) % 3 + 1)
        for last in (0, 1, 50, WINDOW):
            many = sketch.estimate_many(np.arange(50), last=last)
            assert [sketch.estimate(item, last=last)[:3] for item in range(50)] == [each[:3] for each in many]
