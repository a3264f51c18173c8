"""One wrong clock decides nothing; a pause of a stream is not taken for one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ecmsketch.inputs.ticks import MAX_TICK, MIN_TICK
from ecmsketch.spark.clocks import MANY, Clock, judge, main_cluster, newest_of_most

AHEAD = 100
ticks_of = st.lists(st.integers(MIN_TICK, MAX_TICK), min_size=1, max_size=40).map(lambda x: np.sort(np.array(x)))
maybe = st.none() | st.integers(MIN_TICK, MAX_TICK)
clocks = st.builds(Clock, maybe, st.booleans(), maybe, maybe, maybe)


def believed(ticks, own=None, wall=None, clock=Clock(), ahead=AHEAD):  # noqa: B008
    count, after = judge(np.sort(np.array(ticks, np.int64)), own, wall, ahead, clock)
    return np.sort(ticks)[:count].tolist(), after


@given(ticks_of, maybe, maybe, clocks, st.integers(0, 2**62))
def test_only_the_newest_are_refused_and_none_beyond_the_wall_clock(ticks, own, wall, clock, ahead):
    count, after = judge(ticks, own, wall, ahead, clock)
    assert 0 <= count <= len(ticks)
    if wall is not None:
        assert (ticks[:count] <= wall + ahead).all()
    reference = max((tick for tick in (own, clock.others) if tick is not None), default=None)
    if reference is not None:
        fine = ticks <= reference + ahead if wall is None else ticks <= min(reference, wall) + ahead
        assert fine[:count].sum() == fine.sum()  # what is not ahead is never refused
    assert judge(ticks, own, wall, ahead, clock) == (count, after)
    assert judge(ticks, own, wall, None, clock)[0] == len(ticks)


@given(st.lists(st.integers(0, AHEAD), min_size=1, max_size=60), st.integers(-(2**60), 2**60))
def test_a_stream_without_gaps_is_believed_however_long_it_is(steps, start):
    ticks = start + np.cumsum(steps)
    assert judge(ticks, start, None, AHEAD, Clock())[0] == len(ticks)
    assert judge(ticks, None, None, AHEAD, Clock())[0] == len(ticks)


@given(
    st.lists(st.integers(0, 1000), min_size=3, max_size=50),
    st.integers(2001, 2**60),
    st.booleans(),
    st.integers(1, 2),
)
def test_few_rows_far_ahead_are_refused_and_change_nothing_for_the_next_trigger(usual, far, known, count):
    wrong = [far] * count
    found, after = believed([*usual, *wrong], 900 if known else None, ahead=1000)
    assert found == sorted(usual)
    assert after.suspect is None
    assert believed([950, 960, *wrong], 1000, clock=after, ahead=1000)[0] == [950, 960]


def test_one_row_alone_far_ahead_is_refused_until_the_next_trigger_agrees():
    found, clock = believed([5000], own=1000)
    assert found == []
    assert clock.suspect == 5000
    assert believed([1010], own=1000, clock=clock) == ([1010], Clock())
    found, clock = believed([5060, 5100], own=1000, clock=clock)
    assert found == [5060, 5100]
    assert clock.suspect is None


def test_a_row_of_an_unset_clock_decides_nothing():
    found, _ = believed([0, 5000, 5001, 5002, 90_000])
    assert found == [0, 5000, 5001, 5002]  # the row at 0 is old, which harms nobody


def test_a_pause_of_a_busy_stream_is_believed_at_once():
    after = [9000 + i % 50 for i in range(MANY)]
    assert believed([1001, 1002, *after], own=1000)[0] == sorted([1001, 1002, *after])
    assert believed([*([1001] * MANY), 1002, *after], own=1000)[0] == [1001] * MANY + [1002]
    assert believed([1001, *after, 10**9], own=1000)[0] == sorted([1001, *after])


def test_live_events_after_a_pause_are_believed_and_replayed_ones_near_the_wall_clock_are_not():
    wall = 10**6
    _, live = believed([wall - 5000], own=None, wall=wall - 5000)
    assert live.live
    assert believed([wall - 10], own=wall - 5000, wall=wall, clock=live)[0] == [wall - 10]
    _, replayed = believed([2000], own=None, wall=wall - 5000)
    assert not replayed.live
    assert believed([2001, 2002, wall - 10], own=2000, wall=wall, clock=replayed)[0] == [2001, 2002]
    assert believed([wall - 10, wall + 101], own=wall - 20, wall=wall, clock=live)[0] == [wall - 10]


def test_the_clocks_of_the_others_count_as_ones_own():
    clock = Clock().hear(4950, 1000, 10_000)
    assert believed([5000], own=1000, clock=clock)[0] == [5000]


def test_a_jump_of_the_others_is_believed_once_they_move_on():
    clock = Clock().hear(1000, 900, AHEAD)
    assert clock.others == 1000
    jumped = clock.hear(9000, 900, AHEAD)
    assert (jumped.others, jumped.jumped) == (1000, 9000)
    assert jumped.hear(9000, 900, AHEAD) == jumped  # pinned by one row: nothing moves
    assert jumped.hear(9001, 900, AHEAD).others == 9001
    assert jumped.hear(9000, 8950, AHEAD).others == 9000  # the site is there itself
    assert clock.hear(9000, 900, None).others == 9000
    assert clock.hear(None, 900, AHEAD) == clock


@given(ticks_of, st.integers(0, 2**62), st.randoms(use_true_random=False))
def test_the_largest_cluster_is_the_same_in_any_order(ticks, ahead, chance):
    begin, end = main_cluster(ticks, ahead)
    shuffled = ticks.tolist()
    chance.shuffle(shuffled)
    assert newest_of_most(np.array(shuffled), ahead) == (ticks[end - 1], end - begin)
    assert (np.diff(ticks[begin:end]) <= ahead).all()
    assert newest_of_most(ticks, None) == (ticks[-1], len(ticks))
