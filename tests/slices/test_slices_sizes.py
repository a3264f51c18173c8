"""How little memory slices take: a few events, and a full window."""

from __future__ import annotations

import numpy as np
import pytest

import ecmsketch as ecm
from streams import zipf_items


def make(epsilon, resolution=0.1, **changes):
    return ecm.SketchConfig(
        epsilon=epsilon, delta=0.05, window=10**6, counter="slices", resolution=resolution, **changes
    )


@pytest.mark.parametrize("epsilon", [0.1, 0.01, 0.001, 1e-4])
def test_a_few_events_take_a_few_bytes(epsilon):
    sketch = ecm.EcmSketch(make(epsilon))
    sketch.update("10.0.0.1", 1_700_000_000)
    assert len(sketch.serialize()) <= 120
    again = ecm.EcmSketch.deserialize(sketch.serialize())
    assert again.nbytes <= 600
    sketch._flushed()
    assert sketch.nbytes <= 600
    sketch.update_many([f"10.0.0.{i}" for i in range(49)], 1_700_000_000 + np.arange(0, 490, 10))
    assert len(sketch.serialize()) <= 1024


@pytest.mark.parametrize(("epsilon", "events"), [(0.1, 300_000), (0.01, 300_000), (0.001, 1_500_000)])
def test_a_full_window_takes_a_byte_a_cell(epsilon, events):
    sketch = ecm.EcmSketch(make(epsilon))
    sketch.update_many(zipf_items(events, 90_000, np.random.default_rng(0), 1.0), np.arange(events) * 10**6 // events)
    stream = sketch._flushed().counters
    cells = sketch.config.cells * stream.slice_count
    assert stream.slice_count >= 10
    kept = len(stream.events) * (8 + 2)  # each event takes its hash, and little for its tick
    data = sketch.serialize()
    assert len(data) - kept <= 1.1 * cells + 40 * stream.slice_count + 200
    assert sketch.nbytes <= 2 * cells + len(stream.events) * 16 + 200 * stream.slice_count + 2**12
    assert ecm.EcmSketch.deserialize(data).serialize() == data
