"""How slices grow: what they know about their arrivals, and the two promises that decide what becomes one slice."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import plain_growth as plain
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slice_cases import (
    ARRIVALS,
    BEGIN,
    END,
    FACTS,
    FIRST,
    HIGH,
    KNOT,
    LAST,
    LOW,
    SHAPES,
    random_events,
    random_slices,
    sliced_stream,
)

from ecmsketch.engines.slices import growth, inside, profile

VECTORS = Path(__file__).parents[1] / "vectors" / "growth.json"
SEEDS = st.integers(0, 2**32)
EPSILONS = st.sampled_from([0.001, 0.01, 0.1, 0.3, 0.9])


def facts_of(groups, weights=None):
    some = [None] * len(groups) if weights is None else weights
    rows = [
        profile.filled(np.sort(ticks).astype(np.int64), weight, 0, len(ticks), 0)[0]
        for ticks, weight in zip(groups, some, strict=True)
    ]
    return np.array(rows)[:, :FACTS]


def check_knots(facts):
    every = np.column_stack([facts[:, FIRST], facts[:, KNOT:FACTS], facts[:, LAST]])
    assert (np.diff(every, axis=1) >= 0).all()


def check(facts, slot):
    """Facts are in order, and the share that they tell grows from none to all."""
    check_knots(facts[slot : slot + 1])
    knots = [facts[slot, FIRST], *facts[slot, KNOT:FACTS], facts[slot, LAST]]
    moments = np.unique([tick + step for tick in knots for step in (-2, -1, 0, 1, 2)])
    shares = profile.shares(facts, slot, moments)
    assert (np.diff(shares) >= 0).all()
    assert shares[0] == 0
    assert shares[-1] == 1
    ticks = profile.ticks_of_shares(facts, slot, np.linspace(0, 1, 33))
    assert (np.diff(ticks) >= 0).all()
    assert facts[slot, FIRST] - 1 <= ticks[0]
    assert ticks[-1] <= facts[slot, LAST]


@given(st.integers(1, 300), st.sampled_from([1, 3, 50, 10**6, 2**50]), st.booleans(), SEEDS)
def test_one_slice(events, spread, weighted, seed):
    rng = np.random.default_rng(seed)
    ticks = np.sort(rng.integers(-spread, spread + 1, events))
    weights = rng.choice([1, 3, 2**40], events).astype(np.int64)
    facts = facts_of([ticks], [weights] if weighted else None)
    assert facts[0, ARRIVALS] == (weights.sum() if weighted else events)
    assert (facts[0, FIRST], facts[0, LAST]) == (ticks[0], ticks[-1])
    check(facts, 0)
    if not weighted:
        knots = facts[0, KNOT:]
        for knot, share in zip(knots, profile.shares(facts, 0, knots.copy()), strict=True):
            assert abs(share - np.mean(ticks <= knot)) <= 0.125 + np.mean(ticks == knot) + 1 / events


@pytest.mark.parametrize("weighted", [False, True])
def test_knots_are_the_ticks_at_which_each_eighth_was_full(weighted):
    rng = np.random.default_rng(weighted)
    for _ in range(150):
        events = int(rng.integers(1, 60))
        ticks, weights = random_events(rng, events, weighted)
        came = np.arange(1, events + 1) if weights is None else np.cumsum(weights)
        full = [ticks[np.flatnonzero(came >= float(came[-1]) * part / 8)[0]] for part in range(1, 8)]
        assert profile.filled(ticks, weights, 0, events, 0)[0, KNOT:FACTS].tolist() == full


@pytest.mark.parametrize("shape", SHAPES)
def test_shares_ticks_and_knots_as_defined(shape):
    rng = np.random.default_rng(SHAPES.index(shape))
    for _ in range(60):
        facts = random_slices(rng, shape, int(rng.integers(1, 7)))
        row = facts[0]
        moments = np.unique([tick + step for tick in plain.bounds(row) for step in range(-2, 3)])
        assert profile.shares(facts, 0, moments).tolist() == [plain.share(row, int(tick)) for tick in moments]
        some = np.concatenate([rng.random(20), np.arange(9) / 8])
        assert profile.ticks_of_shares(facts, 0, some).tolist() == [plain.tick_of(row, share) for share in some]
        if facts[:, LAST].max() - facts[:, FIRST].min() < 5000 or not plain.overlap(facts):
            assert profile.one_of(facts, 0, len(facts), 0)[0, KNOT:FACTS].tolist() == plain.knots_of(facts)


@pytest.mark.parametrize("shape", SHAPES)
def test_groups_and_what_can_be_spared_as_defined(shape):
    rng = np.random.default_rng(SHAPES.index(shape))
    for _ in range(100):
        facts = random_slices(rng, shape, int(rng.integers(1, 25)))
        epsilon = float(rng.choice([0.01, 0.1, 0.5]))
        carried = epsilon * float(rng.choice([1, 1.3]))
        newer = int(facts[:, ARRIVALS].sum() * rng.choice([0, 0.3, 2, 30]))
        spare = plain.spare_of(facts, newer, carried) if plain.overlap(facts) else []
        assert growth.spare(facts, newer, carried).tolist() == spare
        words = growth.joined(facts, newer, epsilon, carried)
        assert list(zip(words[:, LOW], words[:, HIGH], strict=True)) == plain.groups_of(facts, newer, epsilon, carried)


def test_results_are_those_of_the_vectors():
    """Digests of what these functions made when they equalled the code that they replaced, bit for bit."""
    assert digests() == json.loads(VECTORS.read_text())


def digests():
    """A digest for each shape of slices, of everything that is made of them and of late events."""
    found = {}
    for number, shape in enumerate(SHAPES):
        rng, digest = np.random.default_rng(number), hashlib.sha256()
        for turn in range(60):
            facts, newer = random_slices(rng, shape, int(rng.integers(1, 20))), int(rng.choice([0, 50, 10**4, 10**7]))
            epsilon, weighted, counted = float(rng.choice([0.01, 0.1, 0.5])), turn % 2 == 1, int(turn % 3 == 0)
            low, high = int(facts[:, FIRST].min()) - 9, int(facts[:, LAST].max())
            ticks = np.sort(rng.integers(low, high + 1, 120))
            if turn % 4 > 1:  # in bursts, so that slices are full
                ticks = np.sort(rng.choice(ticks[:4], 120) + rng.integers(0, 2, 120))
            weights = random_events(rng, 120, weighted)[1]
            after, most = (
                newer + (120 if weights is None else int(weights.sum())),
                float(rng.choice([np.inf, 6.5, 900])),
            )
            results = [
                *growth.made(ticks, weights, 0, 120, after, epsilon, counted, most),
                *growth.beside(
                    facts, ticks, weights, np.arange(turn % 5, 120), 2, newer, epsilon, epsilon, 300, counted
                ),
            ]
            if ticks[0] < high:
                words = profile.as_words(facts, 120)
                placed = inside.placed(
                    words, len(facts), ticks, weights, 0, 120, newer, epsilon, 1.1 * epsilon, 64, counted
                )
                results += [placed[0], placed[2], placed[3]]
            results += [growth.joined(facts, newer, epsilon, 1.1 * epsilon), growth.spare(facts, newer, epsilon)]
            for result in results:
                digest.update(str(result.shape).encode() + result.tobytes())
        found[shape] = digest.hexdigest()
    return found


@given(st.integers(1, 100), SEEDS)
def test_numbered_arrivals_begin_before_the_tick_of_a_heavy_one(events, seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 50, events)
    ticks = np.cumsum(weights)
    begin = int(rng.integers(0, events))
    row = profile.filled(ticks, weights, begin, events, 1)[0]
    assert row[LAST] - row[FIRST] + 1 == row[ARRIVALS] == weights[begin:].sum()


@given(st.integers(2, 8), st.sampled_from([1, 2, 40, 10**5, 2**50]), st.booleans(), SEEDS)
def test_one_of_several(count, spread, apart, seed):
    rng = np.random.default_rng(seed)
    groups = [np.sort(rng.integers(0, spread + 1, int(rng.integers(1, 100)))) for _ in range(count)]
    if apart:
        groups = [ticks + place * spread for place, ticks in enumerate(groups)]
    groups.sort(key=lambda ticks: ticks[-1])
    facts = profile.one_of(facts_of(groups), 0, count, 0)
    every = np.concatenate(groups)
    assert (facts[0, FIRST], facts[0, LAST], facts[0, ARRIVALS]) == (every.min(), every.max(), len(every))
    check(facts, 0)


def test_a_slice_made_of_a_stream_and_one_joined_of_its_pieces_tell_about_the_same():
    ticks = np.sort(np.random.default_rng(1).integers(0, 10**6, 8000) ** 2 // 10**6)
    whole, pieces = facts_of([ticks]), profile.one_of(facts_of(np.split(ticks, 16)), 0, 16, 0)
    moments = np.arange(0, 10**6, 1000)
    exact = np.searchsorted(ticks, moments, side="right") / len(ticks)
    for facts in (whole, pieces):
        assert np.abs(profile.shares(facts, 0, moments) - exact).max() < 0.03


@given(st.sampled_from(SHAPES), st.integers(1, 60), EPSILONS, st.sampled_from([0, 1, 10**3, 2**40]), SEEDS)
def test_joining_loses_nothing(shape, count, epsilon, newer, seed):
    facts = random_slices(np.random.default_rng(seed), shape, count)
    words = growth.joined(facts, newer, epsilon, epsilon)
    assert words[:, ARRIVALS].sum() == facts[:, ARRIVALS].sum()
    assert (words[0, LOW], words[-1, HIGH]) == (0, count)
    np.testing.assert_array_equal(words[1:, LOW], words[:-1, HIGH])
    assert (np.diff(words[:, LAST]) >= 0).all()
    check_knots(words)
    for row in words:
        parts = facts[row[LOW] : row[HIGH]]
        assert row[ARRIVALS] == parts[:, ARRIVALS].sum()
        assert (row[FIRST], row[LAST]) == (parts[:, FIRST].min(), parts[:, LAST].max())
        if len(parts) == 1:
            np.testing.assert_array_equal(row[:FACTS], parts[0])


@given(st.sampled_from(SHAPES), st.integers(1, 60), EPSILONS, st.sampled_from([0, 1, 10**3, 10**6, 2**40]), SEEDS)
def test_the_first_promise_what_is_joined_is_little_beside_what_is_newer(shape, count, epsilon, newer, seed):
    facts = random_slices(np.random.default_rng(seed), shape, count)
    words = growth.joined(facts, newer, epsilon, epsilon)
    came = newer
    for row in words[::-1]:
        assert row[HIGH] - row[LOW] == 1 or row[ARRIVALS] <= 2 * epsilon * (came + 1) * (1 + 1e-12)
        came += int(row[ARRIVALS])
    if (facts[1:, FIRST] >= facts[:-1, LAST]).all():  # and as much is joined as that allows
        assert len(growth.joined(words[:, :FACTS].copy(), newer, epsilon, epsilon)) == len(words)


def straddling(facts, newer, carried, ticks=(), weights=()):
    """The most that slices have at a moment which they straddle, as a share of what is allowed, beside some events."""
    worst = 0.0
    for moment in np.unique(facts[:, LAST] - 1):  # the worst: later fewer straddle, earlier more come after
        cut = facts[(facts[:, FIRST] <= moment) & (facts[:, LAST] > moment), ARRIVALS].sum()
        after = newer + facts[facts[:, FIRST] > moment, ARRIVALS].sum()
        after += sum(weight for tick, weight in zip(ticks, weights, strict=True) if tick > moment)
        worst = max(worst, cut / (2 * carried * (after + 1)))
    return worst


@pytest.mark.parametrize("shape", ["sites", "mixed", "made up"])
def test_the_second_promise_what_straddles_a_moment_is_little_beside_what_came_after(shape):
    rng = np.random.default_rng(SHAPES.index(shape))
    checked = joined = 0
    for _ in range(400):
        facts = random_slices(rng, shape, int(rng.integers(2, 50)))
        carried = float(rng.choice([0.01, 0.1, 0.4]))
        newer = int(facts[:, ARRIVALS].sum() * rng.uniform(0, 2) / carried / 2)
        if straddling(facts, newer, carried) <= 1:
            words = growth.joined(facts, newer, carried * float(rng.choice([1, 0.5])), carried)
            assert straddling(words, newer, carried) <= 1 + 1e-9
            checked += 1
            joined += len(words) < len(facts)
    assert checked > 100
    assert joined > 50


@given(st.booleans(), st.integers(1, 400), EPSILONS, st.sampled_from([0, 1, 50, 10**4]), st.booleans(), SEEDS)
def test_made_slices_are_as_large_as_allowed(weighted, events, epsilon, newest, limited, seed):
    rng = np.random.default_rng(seed)
    ticks, weights = random_events(rng, events, weighted)
    each = np.ones(events, np.int64) if weights is None else weights
    begin = int(rng.integers(0, events))
    most = float(rng.choice([0.5, 1, 7.5, 10**4])) if limited else np.inf
    total = newest + int(each[begin:].sum())
    made, stays = growth.made(ticks, weights, begin, events, total, epsilon, 0, most)
    if not limited:
        assert len(made) <= growth.most_made(events - begin, weighted, newest, epsilon)
    used = [np.arange(row[BEGIN], row[END]) for row in made]
    np.testing.assert_array_equal(np.sort(np.concatenate([stays, *used])), np.arange(begin, events))
    check_knots(made)

    def allowed(end):
        """How many arrivals a slice may have whose last event is the one before `end`."""
        return min(2 * epsilon * (newest + int(each[end:].sum()) + 1), most)

    for row in made:
        assert row[ARRIVALS] == each[row[BEGIN] : row[END]].sum() <= allowed(row[END])
        assert (row[FIRST], row[LAST]) == (ticks[row[BEGIN]], ticks[row[END] - 1])
        assert row[END] == events or row[ARRIVALS] + each[row[END]] > allowed(row[END] + 1)
    for event in stays:
        assert each[event] > allowed(event + 1)


@given(st.booleans(), st.integers(1, 12), st.sampled_from([0.02, 0.1, 0.5]), SEEDS)
def test_late_events_are_placed_and_none_is_lost(weighted, count, epsilon, seed):
    rng = np.random.default_rng(seed)
    facts, newest = sliced_stream(rng, count)
    low, high = int(facts[0, FIRST]) - 5, int(facts[-1, LAST])
    events = int(rng.integers(1, 300))
    ticks = np.sort(rng.integers(low, high + 3, events))
    weights = random_events(rng, events, weighted)[1]
    each = np.ones(events, np.int64) if weights is None else weights
    if ticks[0] >= high:
        return
    words = profile.as_words(facts, events)
    words, tail, stays, left_out = inside.placed(
        words, count, ticks, weights, 0, events, newest, epsilon, epsilon, 64, 0
    )
    assert tail == np.searchsorted(ticks, high)
    seen = [stays]
    for row in words:
        taken = np.arange(row[BEGIN], row[END])
        if row[HIGH] > row[LOW]:
            taken = np.setdiff1d(taken, left_out)
            assert row[ARRIVALS] == facts[row[LOW], ARRIVALS] + each[taken].sum()
            np.testing.assert_array_equal(np.delete(row[:FACTS], ARRIVALS), np.delete(facts[row[LOW]], ARRIVALS))
        else:
            assert row[ARRIVALS] == each[taken].sum()
            assert (row[FIRST], row[LAST]) == (ticks[taken[0]], ticks[taken[-1]])
        assert ((row[FIRST] <= ticks[taken]) & (ticks[taken] <= row[LAST])).all()
        seen.append(taken)
    np.testing.assert_array_equal(np.sort(np.concatenate(seen)), np.arange(tail))
    assert (np.diff(words[:, LAST]) >= 0).all()
    check_knots(words)
    newer = newest + int(each[tail:].sum())
    before = straddling(facts, newer, epsilon)
    assert straddling(words, newer, epsilon, ticks[stays], each[stays]) <= max(before, 1) + 1e-9


def test_a_flood_inside_a_full_slice_becomes_slices_beside_it():
    facts = facts_of([np.arange(1000), np.arange(1000, 1100)])
    ticks = np.sort(np.random.default_rng(2).integers(0, 999, 4000))
    words, tail, stays, left_out = inside.placed(
        profile.as_words(facts, 4000), 2, ticks, None, 0, 4000, 6000, 0.05, 0.05, 64, 0
    )
    assert tail == 4000
    beside = words[words[:, HIGH] == words[:, LOW]]
    assert len(beside) > 3
    assert (beside[:, END] - beside[:, BEGIN] >= 8).all()
    assert set(stays) < set(left_out)
    assert straddling(words, 6000, 0.05) <= max(straddling(facts, 6000, 0.05), 1)


@pytest.mark.parametrize(("last", "slices"), [(9, 1), (10, 1), (11, 0)])
def test_a_slice_that_ends_where_late_events_begin_is_not_beside_them(last, slices):
    facts = np.array([[0, last, 1000, *[0] * 7], [0, 50, 1, *[0] * 7]])
    made, stays = growth.beside(facts, np.arange(10, 40), None, np.arange(30), 0, 400, 0.1, 0.1, 64, 0)
    assert (len(made), len(stays)) == (slices, 30 - sum(made[:, ARRIVALS]))


@given(st.sampled_from(SHAPES), st.integers(2, 50), SEEDS)
def test_spare_arrivals_say_how_much_may_come_earlier(shape, count, seed):
    """If so many of the arrivals that surely came later straddled the moment before a slice ends, it were just full."""
    rng = np.random.default_rng(seed)
    facts, newer, carried = random_slices(rng, shape, count), int(rng.integers(0, 10**6)), 0.1
    spare = growth.spare(facts, newer, carried)
    if (facts[1:, FIRST] >= facts[:-1, LAST]).all():
        assert len(spare) == 0
        return
    for slot in range(count):
        moment = facts[slot, LAST] - 1
        cut = facts[(facts[:, FIRST] <= moment) & (facts[:, LAST] > moment), ARRIVALS].sum()
        after = newer + facts[facts[:, FIRST] > moment, ARRIVALS].sum()
        moved = spare[slot]
        assert cut + moved == pytest.approx(2 * carried * (after - moved + 1), rel=1e-9, abs=1e-3)


def test_doors_refuse_arrays_of_other_types():
    with pytest.raises(TypeError, match="contiguous array"):
        growth.made(np.arange(5.0), None, 0, 5, 5, 0.1, 0)
    with pytest.raises(ValueError, match="not C-contiguous"):
        growth.made(np.arange(10)[::2], None, 0, 5, 5, 0.1, 0)
