"""Forecasts of tables: differences give the table back, on hand-made numbers and on any; likely tables get smaller."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.slices.table_forecast import add_differences, differs_little, learn, no_past, take_differences
from streams import zipf_items


def table_of(*cells) -> np.ndarray:
    return np.array(cells, np.int64)


def test_the_example_of_the_format_page():
    past = no_past(4)
    assert not differs_little(table_of(4, 0, 8, 4), 16, past)  # nothing is known yet
    learn(table_of(4, 0, 8, 4), 16, past)
    second = table_of(2, 1, 5, 2)
    np.testing.assert_array_equal(take_differences(second, 10, past), [1, 2, 0, 1])
    assert differs_little(second, 10, past)
    learn(second, 10, past)
    np.testing.assert_array_equal(past, [4, 1, 9, 4, 18])


@given(st.lists(st.lists(st.integers(0, 2**44), min_size=5, max_size=5).filter(any), min_size=2, max_size=6))
def test_differences_give_the_table_back(rows):
    past = no_past(5)
    for row in rows:
        table, arrivals = table_of(*row), sum(row)
        if past[5]:
            differences = take_differences(table, arrivals, past)
            assert differences.min() >= 0
            again = np.full(5, -1, np.int64)
            assert add_differences(differences, arrivals, past, again)
            np.testing.assert_array_equal(again, table)
            exact = [int(np.floor(past[j] * (arrivals / past[5]) + 0.5)) for j in range(5)]  # the same in plain Python
            off = sum(abs(cell - guess) for cell, guess in zip(row, exact, strict=True))
            assert differs_little(table, arrivals, past) == (2 * off < arrivals)
        learn(table, arrivals, past)


def test_what_cannot_be_is_refused():
    past, again = no_past(2), np.zeros(2, np.int64)
    assert not add_differences(table_of(0, 0), 5, past, again)  # no slice before
    learn(table_of(3, 3), 6, past)
    assert not add_differences(table_of(0, 19), 6, past, again)  # 3 - 10 is negative
    assert not add_differences(table_of(0, 0), 2**50 + 1, past, again)
    assert not differs_little(table_of(2**50, 2**50), 2**51, past)


@pytest.mark.parametrize("model", ["time", "count"])
@pytest.mark.parametrize("change", [None, 700, 5000])
def test_sketches_are_read_back_and_likely_tables_are_small(model, change):
    """Items that stay, that change every 700 events, and every 5,000."""
    rng = np.random.default_rng(5)
    items = zipf_items(40_000, 300, rng).astype(np.int64)
    moved = items if change is None else items + 1000 * (np.arange(len(items)) // change)
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=30_000, resolution=0.3, model=model)
    sketch, data = written(config, moved)
    again = ecm.EcmSketch.deserialize(data)
    assert again == sketch
    assert again.serialize() == data
    if change is None:
        assert len(data) < 0.9 * len(written(config, items + 1000 * (np.arange(len(items)) // 100))[1])


def written(config, items) -> tuple[ecm.EcmSketch, bytes]:
    sketch = ecm.EcmSketch(config)
    sketch.update_many(items, np.arange(len(items)) if config.model == "time" else None)
    return sketch, sketch.serialize()
