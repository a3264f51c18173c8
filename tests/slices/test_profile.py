"""When the arrivals of a slice came, as its facts say."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ecmsketch.slices.profile import fill_facts, join_facts, share_until, tick_of_share
from ecmsketch.slices.table_pool import ARRIVALS, FACTS, FIRST, KNOT, LAST, TABLE


def facts_of(groups, weights=None):
    facts = np.zeros((len(groups), FACTS), np.int64)
    for slot, ticks in enumerate(groups):
        some = np.empty(0, np.int64) if weights is None else weights[slot]
        fill_facts(np.sort(ticks).astype(np.int64), some, 0, len(ticks), 0, facts, slot)
    return facts


def check(facts, slot):
    """Facts are in order, and the share that they tell grows from none to all."""
    knots = [facts[slot, FIRST], *facts[slot, KNOT:TABLE], facts[slot, LAST]]
    assert (np.diff(knots) >= 0).all()
    moments = np.unique([tick + step for tick in knots for step in (-2, -1, 0, 1, 2)])
    shares = [share_until(facts, slot, moment) for moment in moments]
    assert (np.diff(shares) >= 0).all()
    assert shares[0] == 0
    assert shares[-1] == 1
    ticks = [tick_of_share(facts, slot, share) for share in np.linspace(0, 1, 33)]
    assert (np.diff(ticks) >= 0).all()
    assert facts[slot, FIRST] - 1 <= ticks[0]
    assert ticks[-1] <= facts[slot, LAST]


@given(st.integers(1, 300), st.sampled_from([1, 3, 50, 10**6, 2**50]), st.booleans(), st.integers(0, 2**32))
def test_one_slice(events, spread, weighted, seed):
    rng = np.random.default_rng(seed)
    ticks = np.sort(rng.integers(-spread, spread + 1, events))
    weights = rng.choice([1, 3, 2**40], events).astype(np.int64)
    facts = facts_of([ticks], [weights] if weighted else None)
    assert facts[0, ARRIVALS] == (weights.sum() if weighted else events)
    assert (facts[0, FIRST], facts[0, LAST]) == (ticks[0], ticks[-1])
    check(facts, 0)
    if not weighted:
        for knot in facts[0, KNOT:TABLE]:
            assert (
                abs(share_until(facts, 0, knot) - np.mean(ticks <= knot)) <= 0.125 + np.mean(ticks == knot) + 1 / events
            )


@given(st.integers(2, 8), st.sampled_from([1, 2, 40, 10**5, 2**50]), st.booleans(), st.integers(0, 2**32))
def test_joined_slices(count, spread, apart, seed):
    rng = np.random.default_rng(seed)
    groups = [np.sort(rng.integers(0, spread + 1, int(rng.integers(1, 100)))) for _ in range(count)]
    if apart:
        groups = [ticks + place * spread for place, ticks in enumerate(groups)]
    groups.sort(key=lambda ticks: ticks[-1])
    facts = facts_of(groups)
    join_facts(facts, 0, count, 0)
    every = np.concatenate(groups)
    assert (facts[0, FIRST], facts[0, LAST], facts[0, ARRIVALS]) == (every.min(), every.max(), len(every))
    check(facts, 0)
