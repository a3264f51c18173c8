from __future__ import annotations

import numpy as np
import pytest
from benchmarks.automon_setting import PUBLISHED, vectors, watched

from ecmsketch.monitor.baselines import tuned_period


@pytest.fixture(scope="module")
def given():
    return vectors(seed=0)


@pytest.mark.parametrize("bound", [0.3, 0.8])
def test_about_the_messages_of_automon_and_never_beyond_the_bound(given, bound):
    """One draw of the data against one of theirs: a few messages either way are luck."""
    found = watched(given, bound)
    assert found.messages.total() <= 1.02 * PUBLISHED[bound]
    assert found.missed == 0
    assert np.abs(found.column("value") - found.column("known_value")).max() <= bound + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("bound", PUBLISHED)
def test_no_more_messages_than_automon(bound):
    assert np.mean([watched(vectors(seed), bound).messages.total() for seed in range(3)]) <= PUBLISHED[bound]


def test_a_lead_saves_messages_and_keeps_the_bound(given):
    found, plain = watched(given, 0.3, lead=0.7), watched(given, 0.3)
    assert found.messages.total() < 0.9 * plain.messages.total()
    assert np.abs(found.column("value") - found.column("known_value")).max() <= 0.3 + 1e-9


def test_it_takes_less_than_synchronising_every_so_often(given):
    """Even with the longest period that keeps the bound, chosen by one who knows the future."""
    found = watched(given, 0.3, baselines=True)
    period = tuned_period(found)
    assert period.kept
    assert period.error <= 0.3
    assert period.cost.messages == 10 * -(-len(found.moments) // period.ticks)
    assert found.messages.total() < period.cost.messages
    assert found.bytes.total() < period.cost.bytes
