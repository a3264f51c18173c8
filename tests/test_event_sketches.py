"""Bytes made from events are those of the sketch, and small streams are few bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.inputs.batches import Batch
from ecmsketch.inputs.kinds import INTEGERS, NOTHING, Hashed
from ecmsketch.sketch.small_sketches import EventSketches

ticks = st.one_of(st.integers(-50, 50), st.integers(-(2**61), 2**62))
events = st.lists(st.tuples(st.integers(0, 2**63 - 1), ticks, st.integers(0, 2**53)), min_size=1, max_size=40)


def batch_of(rows, weighted):
    items, moments, weights = (
        np.array(column, np.int64) for column in zip(*sorted(rows, key=lambda r: r[1]), strict=True)
    )
    return Batch(items.view(np.uint64), moments, weights if weighted else None)


@given(events, st.booleans(), st.integers(1, 2**40), st.sampled_from(["i", "t", "ti"]))
def test_bytes_made_from_events_are_those_of_the_sketch(rows, weighted, window, kind):
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=window)
    batch = batch_of(rows, weighted)
    making = EventSketches(config, ecm.EcmSketch.kind, frozenset({kind}))
    fits = not weighted or (batch.weights.all() and sum(batch.weights.tolist()) <= 2**53)
    assert making.fits(batch) == bool(fits)
    if fits:
        sketch = ecm.EcmSketch(config)
        sketch.update_many(Hashed(batch.items, kind), batch.ticks, batch.weights)
        assert making.serialize(batch) == sketch.serialize()


def test_one_state_serves_many_sketches_and_keeps_nothing_of_them():
    rng = np.random.default_rng(0)
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=500, merge_depth=1, late="side", unit="s")
    plain = EventSketches(config, ecm.EcmSketch.kind, INTEGERS)
    prefixes = ecm.PrefixSketch(config, bits=12)
    ranked = EventSketches(prefixes.config, prefixes.kind, NOTHING)
    for count in (1, 1023, 2, 50):
        items, moments = rng.integers(0, 4096, count), np.sort(rng.integers(-900, 900, count))
        batch = Batch(items.view(np.uint64), moments, rng.integers(1, 3, count) if count == 50 else None)
        for making, sketch in ((plain, ecm.EcmSketch(config)), (ranked, ecm.PrefixSketch(config, bits=12))):
            sketch.update_many(items, moments, batch.weights)
            assert making.serialize(batch) == sketch.serialize()
    assert not plain.fits(Batch(batch.items[:0], batch.ticks[:0], None))
    assert not plain.fits(Batch(np.zeros(config.block, np.uint64), np.zeros(config.block, np.int64), None))


def test_only_slices_of_time_without_names_consist_of_events():
    made = {"epsilon": 0.1, "delta": 0.1, "window": 100}
    assert EventSketches.can(ecm.SketchConfig(**made))
    for changes in ({"counter": "eh"}, {"model": "count"}, {"heavy_hitters": True}):
        assert not EventSketches.can(ecm.SketchConfig(**made, **changes))


@pytest.mark.parametrize("epsilon", [0.1, 0.01, 0.001])
def test_a_small_stream_is_few_bytes(epsilon):
    """Items are hashes of texts, and ticks are seconds of a day: the most bytes that such streams take."""
    config = ecm.SketchConfig(epsilon=epsilon, delta=epsilon, window=86_400, unit="s", merge_depth=1)
    rng = np.random.default_rng(0)
    for count, most in ((1, 120), (50, 1000)):
        items = [f"/page/{i}" for i in range(count)]
        sketch = ecm.EcmSketch(config)
        sketch.update_many(items, np.sort(1_780_000_000 + rng.integers(0, 86_400, count)))
        assert len(sketch.serialize()) <= most
