"""Counting keys in a small hash table: the counts of an oracle, also if keys are made to collide."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecmsketch.engines.names.misra_gries import reduced_counts
from ecmsketch.kernels.hashing import GOLDEN


def counted(keys, counts=None):
    names, numbers, taken = reduced_counts(keys, counts, len(keys))
    found = dict(zip(names.tolist(), numbers.tolist(), strict=True))
    assert len(found) == len(names)
    assert taken == 0
    return found


def exact(keys, counts):
    total = Counter()
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        total[key] += count
    return dict(total)


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9), max_size=60))
def test_keys_are_counted(batch):
    keys = np.array(batch, np.uint64)
    assert counted(keys) == dict(Counter(batch))
    counts = np.arange(1, len(batch) + 1) * 2**40
    assert counted(keys, counts) == exact(keys, counts)


@pytest.mark.parametrize("powers", [1, 2])
def test_keys_that_are_made_to_collide(powers):
    """The first hash gives all of them one slot. Those that are left find one with another hash."""
    inverse = pow(GOLDEN, -powers, 2**64)
    keys = np.array([n * inverse % 2**64 for n in range(500)], np.uint64)
    rng = np.random.default_rng(0)
    chosen = rng.choice(keys, 2000)
    assert counted(chosen) == dict(Counter(chosen.tolist()))
    counts = rng.integers(1, 2**40, 2000)
    assert counted(chosen, counts) == exact(chosen, counts)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=300), st.integers(1, 20), st.sampled_from([1, 7, 10**6]))
def test_what_is_taken_is_within_the_bound(batch, size, weight):
    weights = None if weight == 1 else np.full(len(batch), weight)
    keys, counts, taken = reduced_counts(np.array(batch, np.uint64), weights, size)
    truth = {key: count * weight for key, count in Counter(batch).items()}
    named = dict(zip(keys.tolist(), counts.tolist(), strict=True))
    assert len(named) <= size
    assert all(truth[key] - named.get(key, 0) <= taken for key in truth)
    assert all(named[key] == truth[key] - taken for key in named)
    assert sum(named.values()) + (size + 1) * taken <= len(batch) * weight
    more = sum(min(count, taken + 1) for count in truth.values())
    assert len(truth) <= size or more < (size + 1) * (taken + 1), "no more could be taken"
