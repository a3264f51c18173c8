"""Means over seeds and their intervals."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from scipy.stats import t

from ecmsketch.experiments.report.intervals import Interval, by_seed, interval


@pytest.mark.parametrize("count", [2, 3, 5, 30])
def test_an_interval_is_students(count):
    values = np.random.default_rng(count).normal(3, 1, count).tolist()
    low, high = t.interval(0.95, count - 1, np.mean(values), np.std(values, ddof=1) / count**0.5)
    assert interval(values) == pytest.approx((np.mean(values), low, high))


def test_intervals_hold_the_mean_nineteen_times_in_twenty():
    draws = np.random.default_rng(0).normal(7, 2, (2000, 5))
    found = [interval(row.tolist()) for row in draws]
    assert 0.93 < np.mean([one.low <= 7 <= one.high for one in found]) < 0.97


def test_a_single_value_has_no_interval():
    alone = interval([0.25])
    assert alone.mean == 0.25
    assert isnan(alone.low)
    assert str(alone) == "0.25"
    assert str(Interval(0.012345, 0.011, 0.013)) == "0.0123 ± 0.001"


def test_rows_are_grouped_over_seeds_and_every_seed_counts_once():
    rows = [
        {"seed": 0, "counter": "eh", "epsilon": 0.1, "error": 1.0},
        {"seed": 0, "counter": "eh", "epsilon": 0.1, "error": 3.0},
        {"seed": 1, "counter": "eh", "epsilon": 0.1, "error": 4.0},
        {"seed": 0, "counter": "rw", "epsilon": 0.1, "error": 9.0},
    ]
    found = by_seed(rows, ("counter", "epsilon"), "error")
    assert list(found) == [("eh", 0.1), ("rw", 0.1)]
    assert found["eh", 0.1] == interval([2.0, 4.0])
    assert found["rw", 0.1].mean == 9.0
