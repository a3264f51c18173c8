"""What slices hold: every row counts every arrival once, in order, within the limits, however events came."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.kernels.hashing import cells_of
from ecmsketch.slices.stream_reading import blocks_of
from ecmsketch.slices.table_planes import add_slice
from ecmsketch.slices.table_pool import ARRIVALS, FIRST, KNOT, LAST, SLICES, TABLE
from streams import cuts, zipf_items

WINDOW = 2000


def check_content(sketch, items, weights):
    """Rows add up in each slice; all slices and events together are the table of all arrivals."""
    stream, config = sketch._flushed().counters, sketch.config
    pool, whole = stream.pool, np.zeros(config.cells, np.int64)
    facts, blocks = pool.facts[: pool.used[SLICES]], blocks_of(config)
    for slot in range(len(facts)):
        table = np.zeros(config.cells, np.int64)
        add_slice(pool, slot, table)
        for first, rows, width, _ in zip(*blocks, strict=True):
            sums = table[first : first + rows * width].reshape(rows, width).sum(axis=1)
            assert (sums == facts[slot, ARRIVALS]).all()
        whole += table
    assert (np.diff(facts[:, LAST]) >= 0).all()
    assert (np.diff(np.column_stack([facts[:, FIRST], facts[:, KNOT:TABLE], facts[:, LAST]]), axis=1) >= 0).all()
    for some, counts in ((stream.events.items, stream.events.explicit_weights()),):
        np.add.at(whole, cells_of(some, config.row_hashes()).ravel(), np.tile(counts, len(config.row_hashes().low)))
    exact = np.zeros(config.cells, np.int64)
    np.add.at(exact, cells_of(items, config.row_hashes()).ravel(), np.tile(weights, len(config.row_hashes().low)))
    np.testing.assert_array_equal(whole, exact)


@given(
    st.sampled_from(["one", "small", "heavy", "falling"]), st.sampled_from([0.0, 0.1, 1.0]), st.sampled_from([1, 9]),
    st.sampled_from([0.9, 0.2, 0.05]), st.booleans(), st.integers(0, 2**32),
)  # fmt: skip
@settings(max_examples=30)
def test_no_arrival_is_lost_or_counted_twice(weights, late, sites, epsilon, prefix, seed):
    rng = np.random.default_rng(seed)
    config = ecm.SketchConfig(epsilon=epsilon, delta=0.2, window=WINDOW, counter="slices", late="side")
    parts, every, counted = [], [], []
    for _ in range(sites):
        events = int(rng.integers(1, 6000 // sites + 2))
        ticks = np.sort(rng.integers(0, WINDOW, events))
        delay = np.where(rng.random(events) < late, rng.integers(0, WINDOW, events), 0)
        ticks = ticks[np.argsort(ticks + delay, kind="stable")]
        items = zipf_items(events, 256, rng).astype(np.uint64)
        each = {
            "one": np.ones(events, np.int64), "small": rng.integers(1, 9, events),
            "heavy": np.minimum(rng.pareto(0.5, events) + 1, 2.0**36).astype(np.int64),
            "falling": 2 ** np.linspace(36, 0, events).astype(np.int64),
        }[weights]  # fmt: skip
        sketch = ecm.PrefixSketch(config, bits=8) if prefix else ecm.EcmSketch(config)
        for piece in cuts(events, 3, rng):
            sketch.update_many(items[piece], ticks[piece], each[piece])
            sketch._flushed()
        assert sketch.late_dropped == 0
        check_content(sketch, items, each)
        parts.append(sketch)
        every.append(items)
        counted.append(each)
    check_content(ecm.merge(parts), np.concatenate(every), np.concatenate(counted))
    check_content(ecm.merge(parts, "binary"), np.concatenate(every), np.concatenate(counted))
