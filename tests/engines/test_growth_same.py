"""How slices grow, compared with the numba code bit for bit. It goes when that goes; test_growth.py stays."""

from __future__ import annotations

import numpy as np
import pytest
from slice_cases import ARRIVALS, BEGIN, END, FACTS, FIRST, HIGH, KNOT, LAST, LOW, SHAPES, random_events, random_slices

from ecmsketch.engines.slices import growth, inside, profile
from ecmsketch.kernels.hashing import row_hashes
from ecmsketch.slices import crowding, joining, making, settling, table_pool
from ecmsketch.slices import profile as old_profile

WIDE = table_pool.FACTS
NONE = np.empty(0, np.int64)


def widened(facts, more=0):
    """Rows as the old code has them: each with a table, its own number, and no events."""
    wide = np.zeros((len(facts) + more, WIDE), np.int64)
    wide[: len(facts), :FACTS] = facts
    wide[: len(facts), table_pool.TABLE] = np.arange(len(facts))
    return wide


def chains(wide, where, count):
    """The tables of each slice, sorted; and its events."""
    found = []
    for slot in range(count):
        number, some = int(wide[slot, table_pool.TABLE]), []
        while number >= 0:
            some.append(number)
            number = int(where[number, table_pool.NEXT])
        found.append((sorted(some), int(wide[slot, table_pool.BEGIN]), int(wide[slot, table_pool.END])))
    return found


def ranges(words):
    return [
        (list(range(row[LOW], row[HIGH])), int(row[BEGIN]), int(row[END])) if row[END] > row[BEGIN] else
        (list(range(row[LOW], row[HIGH])), 0, 0)
        for row in words
    ]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_joined(shape):
    rng = np.random.default_rng(SHAPES.index(shape))
    some = 0
    for _ in range(700):
        count = int(rng.choice([1, 2, 3, 8, 30, 80]))
        facts = random_slices(rng, shape, count)
        newer = int(rng.choice([0, 1, 50, 10**4, facts[:, ARRIVALS].sum(), 4 * facts[:, ARRIVALS].sum()]))
        epsilon, levels = float(rng.choice([0.001, 0.01, 0.1, 0.3, 0.9])), int(rng.integers(0, 3))
        carried = (1 + epsilon) ** (levels + 1) - 1
        wide, where, used = widened(facts), np.full((count, 8), -1, np.int32), np.array([count, 0, 0, 0, 0])
        joining.join_slices(wide, where, used, newer, epsilon, carried)
        words = growth.joined(facts, newer, epsilon, carried)
        assert len(words) == used[0]
        np.testing.assert_array_equal(words[:, :FACTS], wide[: used[0], :FACTS])
        assert ranges(words) == chains(wide, where, used[0])
        some += len(words) < count
    assert some > 100


@pytest.mark.parametrize("shape", SHAPES)
def test_one_of_any_neighbours(shape):
    rng = np.random.default_rng(SHAPES.index(shape))
    for _ in range(700):
        count = int(rng.integers(1, 12))
        facts = random_slices(rng, shape, count)
        begin, end = np.sort(rng.choice(count + 1, 2, replace=False))
        target = int(rng.integers(0, begin + 1))
        wide = widened(facts)
        old_profile.join_facts(wide, begin, end, target)
        np.testing.assert_array_equal(profile.one_of(facts, begin, end, target)[:, :FACTS], wide[:, :FACTS])


@pytest.mark.parametrize("shape", SHAPES)
def test_spare_and_shares(shape):
    rng = np.random.default_rng(SHAPES.index(shape))
    for _ in range(700):
        count = int(rng.integers(1, 60))
        facts = random_slices(rng, shape, count)
        newer, carried = int(rng.integers(0, 10**6)), float(rng.choice([0.01, 0.3, 1.7]))
        np.testing.assert_array_equal(
            growth.spare(facts, newer, carried), joining.spare_arrivals(widened(facts), count, newer, carried)
        )
        slot = int(rng.integers(0, count))
        low, high = int(facts[slot, FIRST]) - 3, int(facts[slot, LAST]) + 3
        ticks = np.concatenate([rng.integers(low, high + 1, 20), facts[slot, KNOT:], facts[slot, :2]])
        expected = [old_profile.share_until(facts, slot, tick) for tick in ticks]
        np.testing.assert_array_equal(profile.shares(facts, slot, ticks), expected)
        some = rng.random(20)
        expected = [old_profile.tick_of_share(widened(facts), slot, share) for share in some]
        np.testing.assert_array_equal(profile.ticks_of_shares(facts, slot, some), expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("counted", [0, 1])
def test_filled_and_made(weighted, counted):
    rng = np.random.default_rng(weighted + 2 * counted)
    stayed = 0
    for _ in range(1500):
        events = int(rng.integers(1, 400))
        ticks, weights = random_events(rng, events, weighted)
        given = NONE if weights is None else weights
        begin, end = np.sort(rng.choice(events + 1, 2, replace=False))
        wide = np.zeros((1, WIDE), np.int64)
        old_profile.fill_facts(ticks, given, begin, end, counted, wide, 0)
        words = profile.filled(ticks, weights, begin, end, counted)
        np.testing.assert_array_equal(words[:, :FACTS], wide[:, :FACTS])
        assert words[0, 10:].tolist() == [0, 0, 0, begin, end]
        newest, epsilon = int(rng.choice([0, 1, 30, 1000, 10**6])), float(rng.choice([0.001, 0.05, 0.3, 0.9]))
        after = newest + settling.weigh(given, begin, end)
        most = float(rng.choice([np.inf, 0.0, 0.7, 1.0, 5.5, 1e9]))
        place, known = int(rng.integers(0, 3)), 2
        wide, used = widened(random_slices(rng, "apart", known), end - begin), np.array([known, 0, 0, 0, 0])
        place, stays = min(place, known), np.empty(end - begin, np.int64)
        kept = making.make_slices(wide, used, place, ticks, given, begin, end, stays, 0, after, epsilon, counted, most)
        made, left = growth.made(ticks, weights, begin, end, after, epsilon, counted, most)
        assert len(made) == used[0] - known
        np.testing.assert_array_equal(left, stays[:kept])
        np.testing.assert_array_equal(made[:, :FACTS], wide[place : place + len(made), :FACTS])
        np.testing.assert_array_equal(made[:, [BEGIN, END]], wide[place : place + len(made), [11, 12]])
        assert not made[:, [10, LOW, HIGH]].any()
        expected = making.most_slices(end - begin, weighted, newest, epsilon)
        assert growth.most_made(end - begin, weighted, newest, epsilon) == expected
        stayed += kept
    assert stayed


def random_plan(rng, epsilon, carried, cells, counted):
    return making.Plan(10, 10, 10**6, counted, epsilon, carried, cells)


def a_pool(facts, more, cells):
    """A pool of the old code whose slices have empty tables."""
    pool = table_pool.new_pool(cells)
    wide, where = widened(facts, more), np.full((len(facts), 8), -1, np.int32)
    where[:, 1:4] = 0
    return pool._replace(facts=wide, where=where, used=np.array([len(facts), 0, 0, 0, 0]))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_beside(shape, weighted):
    rng = np.random.default_rng(SHAPES.index(shape))
    some = 0
    for _ in range(300):
        facts = random_slices(rng, shape, int(rng.integers(1, 20)))
        low, high = int(facts[:, FIRST].min()), int(facts[:, LAST].max())
        events = int(rng.integers(1, 300))
        ticks = np.sort(rng.integers(low, high + 1, events))
        weights = random_events(rng, events, weighted)[1]
        stays = np.flatnonzero(rng.random(events) < rng.choice([0.5, 0.97, 1]))
        known = int(rng.integers(0, len(stays) // 4 + 1))
        cells, newer = int(rng.choice([10, 500, 2000])), int(rng.choice([0, 100, 10**5, 10**9]))
        epsilon = float(rng.choice([0.01, 0.1, 0.5]))
        carried, counted = epsilon * float(rng.choice([1, 1.5])), int(rng.integers(0, 2))
        plan = random_plan(rng, epsilon, carried, cells, counted)
        place, left = int(rng.integers(0, len(facts))), stays.copy()
        work, kept = crowding.make_beside(
            a_pool(facts, events, cells), place, ticks, NONE if weights is None else weights, left, known, len(stays),
            newer, plan,
        )  # fmt: skip
        made, still = growth.beside(facts, ticks, weights, stays, known, newer, epsilon, carried, cells, counted)
        assert len(made) == work.used[0] - len(facts)
        np.testing.assert_array_equal(still, left[:kept])
        expected = work.facts[place : place + len(made)]
        np.testing.assert_array_equal(made[:, :FACTS], expected[:, :FACTS])
        np.testing.assert_array_equal(made[:, [BEGIN, END]], expected[:, [11, 12]])
        some += len(made)
    assert some


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_placed(shape, weighted):
    """Late events go where the old code counts them: slices, what stays, and the tables' content alike."""
    rng = np.random.default_rng(SHAPES.index(shape))
    new = taken = stayed = 0
    for _ in range(60):
        cells = 64
        rows = row_hashes(1, 1, cells)
        memory = settling.scratch(cells)
        facts = random_slices(rng, shape, int(rng.integers(1, 25)))
        low, high = int(facts[:, FIRST].min()) - 20, int(facts[:, LAST].max())
        events = int(rng.integers(1, 300))
        if rng.random() < 0.5:
            ticks = np.sort(rng.integers(low, high + 10, events))
        else:  # in bursts, so that slices are full
            ticks = np.sort(rng.choice(rng.integers(low, high + 10, 6), events) + rng.integers(0, 3, events))
        weights = random_events(rng, events, weighted)[1]
        if ticks[0] >= high:
            continue
        newest = int(rng.choice([0, 20, 1000, 10**5]))
        epsilon = float(rng.choice([0.01, 0.1, 0.5]))
        carried, counted = epsilon * float(rng.choice([1, 1.5])), int(rng.integers(0, 2))
        plan = random_plan(rng, epsilon, carried, cells, counted)
        items, given = rng.integers(0, 2**60, events).astype(np.uint64), NONE if weights is None else weights
        stays = np.empty(events, np.int64)
        work, tail, kept = making.make_inside(
            a_pool(facts, 0, cells), items, ticks, given, 0, events, stays, newest, plan, rows, memory
        )
        words, later, left, out = inside.placed(
            profile.as_words(facts, events), len(facts), ticks, weights, 0, events, newest, epsilon, carried, cells,
            counted,
        )  # fmt: skip
        count = work.used[0]
        assert (later, len(words)) == (tail, count)
        np.testing.assert_array_equal(left, stays[:kept])
        np.testing.assert_array_equal(words[:, :FACTS], work.facts[:count, :FACTS])
        assert (np.diff(out) > 0).all()
        work = settling.settle(work, items, given, rows, memory)
        hashed = np.zeros(cells, np.int64)
        for slot in range(count):
            counted_events = np.arange(words[slot, BEGIN], words[slot, END])
            if words[slot, HIGH] > words[slot, LOW]:
                counted_events = np.setdiff1d(counted_events, out)
                taken += len(counted_events)
            else:
                new += 1
            hashed[:] = 0
            each = np.ones(events, np.int64) if weights is None else weights
            for event in counted_events:
                one = np.zeros(cells, np.int32)
                settling._count_events(items, NONE, event, event + 1, rows, one)
                hashed += one * each[event]
            old = np.zeros(cells, np.int64)
            settling.add_tables(work, slot, old)
            np.testing.assert_array_equal(hashed, old)
        stayed += len(left)
    assert new or shape == "huge"
    assert taken or shape == "one tick"
    assert stayed or shape == "one tick"
