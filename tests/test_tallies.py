"""Counting keys in a small hash table: the counts of an oracle, also if keys are made to collide."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecmsketch.heavy.misra_gries import count_keys, new_tally, write_reduced
from ecmsketch.kernels.hashing import GOLDEN

NO_COUNTS = np.empty(0, np.int64)


def counted(tally, keys, counts=NO_COUNTS):
    used = count_keys(tally, keys, counts)
    found = dict(zip(tally.keys[:used].tolist(), tally.counts[:used].tolist(), strict=True))
    assert len(found) == used
    return found


def exact(keys, counts):
    total = Counter()
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        total[key] += count
    return dict(total)


@given(st.lists(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9), max_size=60), min_size=1, max_size=5))
def test_one_tally_counts_again_and_again(batches):
    tally = new_tally(60)
    for batch in batches:
        keys = np.array(batch, np.uint64)
        assert counted(tally, keys) == dict(Counter(batch))
        counts = np.arange(1, len(batch) + 1) * 2**40
        assert counted(tally, keys, counts) == exact(keys, counts)


@pytest.mark.parametrize("powers", [1, 2])
def test_keys_that_are_made_to_collide(powers):
    """The first hash gives all of them one slot. Those that are left find one with another hash."""
    inverse = pow(GOLDEN, -powers, 2**64)
    keys = np.array([n * inverse % 2**64 for n in range(500)], np.uint64)
    rng = np.random.default_rng(0)
    chosen = rng.choice(keys, 2000)
    assert counted(new_tally(2000), chosen) == dict(Counter(chosen.tolist()))


@given(st.lists(st.integers(0, 40), min_size=1, max_size=300), st.integers(1, 20))
def test_what_is_taken_is_within_the_bound(batch, size):
    tally = new_tally(300)
    used = count_keys(tally, np.array(batch, np.uint64), NO_COUNTS)
    keys, counts = np.empty(used, np.uint64), np.empty(used, np.int64)
    left, taken = write_reduced(tally, used, size, keys, counts, 0)
    truth = Counter(batch)
    named = dict(zip(keys[:left].tolist(), counts[:left].tolist(), strict=True))
    assert left <= size
    assert all(truth[key] - named.get(key, 0) <= taken for key in truth)
    assert all(named[key] == truth[key] - taken for key in named)
    assert sum(named.values()) + (size + 1) * taken <= len(batch)
