"""Small vectors never take more bytes than sending them at every check, but for the beginning and ever rarer trials."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from ecmsketch.monitor import Above, Frequency, Total, Tracking, Watch, simulate_vectors
from ecmsketch.monitor.account import Account

MESSAGE = 18
"""Bytes of the longest width or reply in these runs."""
SEEDS = range(4)


def swinging(seed, checks=120):
    """Counts of some sites, which all change at every check, and go up and down: all alike, as is worst."""
    rng = np.random.default_rng(seed)
    sites, period = int(rng.choice([3, 8])), float(rng.choice([4, 10, 30, 100]))
    level = float(rng.choice([50, 1000, 20_000])) * (1 + float(rng.choice([0.02, 0.5])) * wave(checks, period))
    counts = rng.poisson(np.repeat(level[:, None], sites, axis=1)).astype(np.float64)
    rising = np.arange(checks)[:, None] % 2  # no two counts in a row are the same
    return 2 * counts[:, :, None] + rising[:, :, None]


def wave(checks, period):
    return np.sin(2 * np.pi * np.arange(checks) / period)


def watched(vectors, function=None, share=0.5, **more):
    totals = vectors.sum(axis=(1, 2))
    watch = Watch(function or Total(), more.pop("threshold", Above(float(np.quantile(totals, share)))), **more)
    return simulate_vectors(watch, vectors, baselines=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_where_nothing_can_be_saved_only_the_beginning_and_some_trials_are_lost(seed):
    found = watched(swinging(seed), share=0.5 if seed % 2 else 0.9)
    assert found.missed == 0
    every = found.synchronising.all[1].bytes
    assert every == found.synchronising.changed[1].bytes
    trials = log2(1 + every / (20 * 3 * MESSAGE * found.sites))
    assert found.bytes.total() <= every + found.sites * MESSAGE * (5 + 4 * trials)


@pytest.mark.slow
def test_trials_take_a_share_that_shrinks():
    lost = []
    for checks in (100, 1600):
        found = watched(swinging(5, checks))
        lost.append(found.bytes.total() / found.synchronising.all[1].bytes - 1)
    assert lost[1] < max(lost[0] / 4, 0.01)


@pytest.mark.parametrize("function", [Total(), Frequency(1)], ids=repr)
def test_far_from_the_threshold_little_is_sent(function):
    vectors = swinging(3)
    found = watched(vectors, function, threshold=Above(100 * float(vectors.sum(axis=1).max())))
    assert found.bytes.total() < 0.1 * found.synchronising.all[1].bytes
    tracked = watched(vectors, function, threshold=Tracking(float(vectors.sum(axis=1).max())))
    assert tracked.bytes.total() < 0.1 * tracked.synchronising.all[1].bytes


def test_each_trial_that_fails_makes_the_next_wait_twice_as_long():
    account, began = Account(), []
    for total in range(0, 100_000, 100):
        account.total = total
        if account.may_widen(100):
            began.append(total)
            account.paid += 100
    assert began == [100 * 20 * (2**number - 1) for number in range(1, len(began) + 1)]
    assert len(began) == 5
    account.spared = account.paid  # they have paid after all
    assert account.may_widen(100)
