"""The engine of cells: late arrivals, changes that happen as a whole or not at all, memory, and bytes."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch.engines.cells import late as late_module
from ecmsketch.engines.cells.arrivals import counts_by_cell, hashed, placed
from ecmsketch.engines.cells.counters import MOST_NUMBERED
from ecmsketch.engines.cells.engine import CellsEngine
from ecmsketch.engines.cells.registry import counter_class
from ecmsketch.errors import FormatError, InputError, MergeError
from ecmsketch.inputs.batches import Batch
from ecmsketch.kernels.memory import fail_after

COUNTERS = ["eh", "dw", "rw"]


def make(counter="eh", **changes):
    settings = {"epsilon": 0.1, "delta": 0.1, "window": 1000, "counter": counter, "wave_constant": 2.0, **changes}
    return CellsEngine(ecm.SketchConfig(**settings), 7)


def batch(items, ticks, weights=None):
    weights = None if weights is None else np.array(weights, np.int64)
    return Batch(np.array(items, np.uint64), np.array(ticks, np.int64), weights).sort()


def add(engine, items, ticks, weights=None):
    return engine.prepare(batch(items, ticks, weights)).commit()


def snapshot(engine):
    """Everything that an engine holds."""
    held = [column.tobytes() for column in engine.held]
    return (
        engine.sections(), held, engine.now, engine.origin, engine.levels, engine.frontier, engine.late_counted,
        engine.late_dropped, engine.state_nbytes, engine.bucket_count,
    )  # fmt: skip


def count_of(engine, key, last):
    return engine.one_point(key, engine.now - last, engine.now, 0.0)


def restored(engine, most=2**40, **changes):
    counters, settled = engine.sections()
    values = {
        "config": engine.config, "key": engine.key, "now": engine.now, "origin": engine.origin, "levels": engine.levels,
        "frontier": engine.frontier, "late_counted": engine.late_counted, "late_dropped": engine.late_dropped,
        "held": engine.held, "counters": counters, "settled": settled, "most": most, **changes,
    }  # fmt: skip
    return CellsEngine.restored(*values.values())


def full_engine(counter, rng, late="side", window=1000):
    """An engine with everything there is: frozen buckets, levels of merging, held and settled late arrivals."""
    config = {"late": late, "window": window}
    parts = []
    for _ in range(2):
        engine = make(counter, **config)
        ticks = np.sort(rng.integers(0, 500, 300))
        parts.append(add(engine, rng.integers(0, 50, 300), ticks))
    parts[1] = CellsEngine.restored(
        parts[1].config, 8, parts[1].now, parts[1].origin, 0, parts[1].frontier, 0, 0, parts[1].held, None, None, 2**40
    )
    parts[1].now = parts[1].origin = None
    parts[1] = add(parts[1], rng.integers(0, 50, 300), np.sort(rng.integers(0, 500, 300)))
    now = max(part.now for part in parts)
    merged = parts[0] if counter == "rw" else CellsEngine.merge(parts, now)
    newer = CellsEngine(merged.config, 9)
    newer = add(newer, rng.integers(0, 50, 300), 600 + np.sort(rng.integers(0, 500, 300)))
    joined = CellsEngine.concat([merged, newer], newer.now)
    late = joined.now - np.sort(rng.integers(1, 900, 60))[::-1]
    joined = add(joined, rng.integers(0, 50, 60), np.sort(late), rng.integers(1, 9, 60))
    return joined.prepare_advance(joined.now + 400).commit()


class TestLateArrivals:
    def test_drop_counts_what_it_drops(self):
        engine = make(late="drop")
        engine = add(engine, [1] * 3, [100, 100, 100])
        engine = add(engine, [1] * 3, [99, 100, 101])
        engine = add(engine, [1], [50])
        assert (engine.late_dropped, engine.late_counted, count_of(engine, 1, 1000).value) == (2, 0, 5)

    def test_side_counts_in_the_right_place_and_drops_what_is_too_late(self):
        engine = add(make(late="side", lateness=100), [1], [1000])
        engine = add(engine, [1, 1, 1, 2], [950, 901, 900, 500])
        assert (engine.late_counted, engine.late_dropped) == (2, 2)
        assert engine.one_point(1, 940, 960, 0.0).value == 1
        assert count_of(engine, 1, 60).value == 2
        assert count_of(engine, 1, 1000).value == 3
        engine = engine.prepare_advance(1200).commit()
        assert count_of(engine, 1, 300).value == 3
        assert len(engine.held.ticks) == 0, "their order is final, so they are settled"
        assert engine.frontier == 950
        engine = engine.prepare_advance(2001).commit()
        assert count_of(engine, 1, 1000).value == 0

    @pytest.mark.parametrize("counter", COUNTERS)
    def test_what_is_settled_is_said_once(self, counter):
        """Names of late arrivals are summarised by what a change says."""
        rng = np.random.default_rng(1)
        engine, settled = make(counter, late="side", lateness=50), []
        late = 0
        for step in range(1, 60):
            change = engine.prepare(batch(rng.integers(0, 9, 5), 10 * step + np.sort(rng.integers(-40, 10, 5))))
            settled += [] if change.late is None else change.late.ticks.tolist()
            engine = change.commit()
            late = engine.late_counted
        change = engine.prepare_advance(2000)
        settled += change.late.ticks.tolist()
        engine = change.commit()
        assert late == len(settled) > 20
        assert settled == sorted(settled)

    def test_many_late_arrivals_stay_bounded_in_memory_and_are_all_accounted_for(self, monkeypatch):
        monkeypatch.setattr(late_module, "HELD_LIMIT", 100)
        rng = np.random.default_rng(4)
        engine, counted, came_late = make(late="side"), [np.full(50, 0)], 0
        engine = add(engine, np.zeros(50), counted[0])
        for step in range(1, 200):
            on_time, late = np.full(50, 10 * step), 10 * (step - 1) - rng.integers(1, 900, 20)
            engine = add(engine, np.zeros(50), on_time)
            counted.append(on_time)
            came_late += len(late)
            for tick in late.tolist():
                before = engine.late_counted
                engine = add(engine, [0], [tick])
                counted.append(np.full(engine.late_counted - before, tick))
            assert len(engine.held.ticks) <= 100
            assert engine.late_counted + engine.late_dropped == came_late
        assert engine.late_dropped > 100
        assert engine.late_counted > 100
        for last in (100, 500, 1000):
            exact = int((np.concatenate(counted) > engine.now - last).sum())
            assert engine.total(engine.now - last, engine.now).covers(exact)

    def test_a_late_first_arrival_moves_the_origin(self):
        engine = make(late="side").prepare_advance(500).commit()
        engine = add(engine, [1], [400])
        assert engine.origin == 400
        assert engine.total(-500, 500) == ecm.Estimate(1, 1, 1, 1.0)
        assert engine.total(450, 500).value == 0

    def test_concatenation_knows_which_late_arrivals_are_settled(self):
        first = add(make(late="side", lateness=50, window=100), [7] * 3, [50, 60, 100])
        first = add(first, [7] * 5, [95] * 5)
        last = CellsEngine(first.config, 8)
        last.now = 100
        joined = add(CellsEngine.concat([first, last], 100), [7] * 50, [90] * 50)
        assert joined.late_dropped == 50, "95 is settled, so 90 comes too late"
        joined = joined.prepare_advance(150).commit()
        assert joined.total(92, 150).value == 6
        assert len(first.held.ticks) == 5, "what is concatenated stays as it is"


@pytest.mark.parametrize("counter", COUNTERS)
class TestWholeOrNotAtAll:
    def changes(self, engine, rng):
        """Batches that need all parts of a change: on time and late, with levels, moved bases, larger arenas."""
        now, items = engine.now, rng.integers(0, 200, 500)
        yield batch(items, np.sort(now + rng.integers(-900, 300, 500)))
        yield batch(items, np.sort(now + rng.integers(-900, 300, 500)), rng.integers(1, 2**30, 500))
        yield batch(items, now + 2**32 + np.arange(500))
        yield batch(items, now + np.zeros(500))

    def test_a_change_that_is_not_committed_cannot_be_seen(self, counter):
        rng = np.random.default_rng(2)
        engine = full_engine(counter, rng)
        before = snapshot(engine)
        for given in self.changes(engine, rng):
            engine.prepare(given)
            assert snapshot(engine) == before

    def test_without_memory_nothing_happens(self, counter):
        rng = np.random.default_rng(3)
        engine = full_engine(counter, rng)
        assert engine.levels == (0 if counter == "rw" else 1)
        assert len(engine.held.ticks)
        before = snapshot(engine)
        for given in self.changes(engine, rng):
            expected = snapshot(engine.copy().prepare(given).commit())
            fails = 0
            while True:
                changed = engine.copy()
                fail_after(fails)
                try:
                    changed.prepare(given).commit()
                except MemoryError:
                    fails += 1
                    fail_after(-1)
                    assert snapshot(changed) == before
                    assert snapshot(changed.prepare(given).commit()) == expected
                    continue
                finally:
                    fail_after(-1)
                break
            assert fails >= 3
            assert snapshot(changed) == expected

    def test_a_signal_leaves_the_state_before_or_after(self, counter):
        class Alarm(Exception):  # noqa: N818
            pass

        def ring(number, frame):
            raise Alarm

        rng = np.random.default_rng(4)
        engine = add(make(counter, wave_constant=1.0, epsilon=0.3), [1], [1])
        large = batch(rng.integers(0, 5, 300_000), np.sort(rng.integers(1, 2000, 300_000)))
        before, after = snapshot(engine)[:8], snapshot(engine.copy().prepare(large).commit())[:8]
        seen, previous = set(), signal.signal(signal.SIGALRM, ring)
        try:
            for attempt in range(25):
                changed = engine.copy()
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.0002 + 0.0004 * attempt)
                    changed.prepare(large).commit()
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except Alarm:
                    pass
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                found = snapshot(changed)[:8]
                assert found in (before, after)
                seen.add(found == after)
        finally:
            signal.signal(signal.SIGALRM, previous)
        assert False in seen

    def test_of_two_changes_of_one_state_the_second_is_refused(self, counter):
        engine = add(make(counter), [1], [1])
        one, other = engine.prepare(batch([2], [5])), engine.prepare(batch([3], [6]))
        one.commit()
        before = snapshot(engine)
        with pytest.raises(RuntimeError, match="changed since"):
            other.commit()
        with pytest.raises(RuntimeError, match="changed since"):
            one.commit()
        assert snapshot(engine) == before

    def test_blocks_do_not_matter(self, counter):
        """A batch is one change, however many blocks it is hashed in."""
        rng = np.random.default_rng(5)
        for model in ("time", "count"):
            config = make(counter, model=model, epsilon=0.05).config
            items = rng.integers(0, 60, 3000).astype(np.uint64)
            for weights in (None, rng.choice([1, 2, 70], 3000)):
                steps = np.ones(3000, np.int64) if weights is None else weights
                ticks = np.cumsum(steps) if model == "count" else np.cumsum(rng.integers(0, 3, 3000))
                oldest, now, states = (1 if model == "count" else int(ticks[0])), int(ticks[-1]), []
                for block in (0, 1, 7, 1024, 2999, 3000):
                    counters = counter_class(config).new(config, 7)
                    counters.reserve(hashed(items, config.rows, ticks, weights, block), oldest, now).commit()
                    states.append(counters.encode(now))
                assert all(state == states[0] for state in states)

    def test_numbers_beyond_2_59_are_refused(self, counter):
        """Whatever passes through a window: a counter numbers its arrivals for ever."""
        engine, passed, now = make(counter, window=100, epsilon=0.5), 0, 0
        while passed < MOST_NUMBERED - 2**53:
            now += 101
            engine = add(engine, [1], [now], [2**53])
            passed += 2**53
        before, now = snapshot(engine), now + 101
        with pytest.raises(InputError, match=r"2\*\*59"):
            add(engine, [1], [now], [2**53])
        assert snapshot(engine) == before
        engine = add(engine, [1], [now], [2**53 - 1])
        total = engine.total(now - 100, now)
        assert 0.5 * 2**53 <= total.upper <= 2 * 2**53
        again = restored(engine)
        assert again.sections() == engine.sections()


@pytest.mark.parametrize("counter", COUNTERS)
class TestTheWhole:
    def test_bytes_hold_everything(self, counter):
        rng = np.random.default_rng(6)
        engine = full_engine(counter, rng)
        again = restored(engine)
        more = batch(rng.integers(0, 50, 200), np.sort(engine.now + rng.integers(-500, 500, 200)))
        for one in (engine, again):
            one.prepare(more).commit()
        assert engine.sections() == again.sections()
        assert snapshot(engine)[1:8] == snapshot(again)[1:8]
        for since in (engine.now - 1000, engine.now - 300):
            assert engine.one_point(3, since, engine.now, 0.1) == again.one_point(3, since, engine.now, 0.1)

    def test_spoilt_bytes_are_refused_or_read(self, counter):
        rng = np.random.default_rng(7)
        engine = full_engine(counter, rng)
        refused = 0
        for _ in range(400):
            sections = [bytearray(section) for section in engine.sections()]
            for _ in range(rng.integers(1, 4)):
                section = sections[rng.integers(0, 2)]
                change = rng.integers(0, 3)
                at = int(rng.integers(0, len(section)))
                if change == 0:
                    section[at] = int(rng.integers(0, 256))
                elif change == 1:
                    del section[at : at + int(rng.integers(1, 30))]
                else:
                    section[at:at] = rng.bytes(int(rng.integers(1, 12)))
            try:
                read = restored(engine, counters=bytes(sections[0]), settled=bytes(sections[1]))
            except FormatError:
                refused += 1
                continue
            total = read.total(engine.now - 1000, engine.now)
            assert total.lower <= total.upper
            add(read, [1, 2], [engine.now, engine.now + 5])
            read.copy().shifted(100)
            CellsEngine.merge([read, engine.copy()], read.now) if counter != "rw" else None
        assert refused > 100

    def test_settled_arrivals_after_the_frontier_are_refused(self, counter):
        engine = add(make(counter, late="side", lateness=50), [1] * 3, [1000, 1100, 1200])
        engine = add(engine, [1] * 3, [1155, 1160, 1170]).prepare_advance(1215).commit()
        assert engine.frontier == 1160
        assert restored(engine).sections() == engine.sections()
        with pytest.raises(FormatError, match="after their frontier"):
            restored(engine, frontier=1159)

    def test_a_copy_is_independent(self, counter):
        engine = full_engine(counter, np.random.default_rng(9))
        before = snapshot(engine)
        other = engine.copy(engine.config.replace(lateness=5))
        assert snapshot(other) == before
        add(other, [1, 2], [other.now - 3, other.now + 2000])
        other.counters.shift(5)
        assert snapshot(engine) == before
        assert other.config.lateness == 5
        assert engine.config.lateness is None

    def test_shifted_arrivals_answer_as_before(self, counter):
        engine = full_engine(counter, np.random.default_rng(10))
        later = engine.shifted(12_345)
        assert (later.now, later.origin) == (engine.now + 12_345, engine.origin + 12_345)
        for since, until in ((0, 400), (engine.now - 700, engine.now), (500, 900)):
            one = engine.point(np.arange(9, dtype=np.uint64), 0, since, until, 0.1)
            other = later.point(np.arange(9, dtype=np.uint64), 0, since + 12_345, until + 12_345, 0.1)
            np.testing.assert_array_equal(one.value, other.value)
            np.testing.assert_array_equal(one.lower, other.lower)
        assert restored(later).sections() == later.sections()

    def test_an_empty_engine_answers(self, counter):
        engine = make(counter)
        assert engine.total(0, 10).upper == 0
        assert engine.one_point(1, 0, 10, 0.1) == (0, 0, 0, engine.one_point(1, 0, 10, 0.1).confidence)
        assert engine.most_since(0) == (0, 0)
        assert engine.sections() == (None, None)
        assert engine.settled() == (engine, None)
        assert CellsEngine.merge([engine, make(counter)], 5).now == 5
        assert CellsEngine.concat([engine, make(counter)], 5).now == 5

    def test_what_is_remembered_is_bounded_counted_and_forgotten(self, counter):
        engine = full_engine(counter, np.random.default_rng(11))
        assert engine.nbytes == engine.state_nbytes
        keys = np.arange(20, dtype=np.uint64)
        for begin in range(300):
            engine.point(keys, 0, begin, begin + 20, 0.01)
            engine.one_point(3, begin, begin + 500, 0.2)
            assert engine.state_nbytes < engine.nbytes <= engine.state_nbytes + max(engine.state_nbytes, 16_384)
        engine.forget()
        assert engine.nbytes == engine.state_nbytes
        engine.one_point(3, 0, 50, 0.2)
        engine = engine.prepare_advance(engine.now + 1).commit()
        assert engine.nbytes == engine.state_nbytes

    def test_answers_are_the_same_whether_remembered_or_not(self, counter):
        engine = full_engine(counter, np.random.default_rng(12))
        keys = np.arange(20, dtype=np.uint64)
        ranges = [(begin, begin + 100) for begin in range(0, 1000, 100)] + [(engine.now - 500, engine.now)]
        first = [engine.point(keys, 0, *ends, 0.1) for ends in ranges]
        again = []
        for ends in reversed(ranges):
            engine.forget()
            again.append(engine.point(keys, 0, *ends, 0.1))
            one = engine.one_point(4, *ends, 0.1)
            assert one == again[-1][4]
        for one, other in zip(first, reversed(again), strict=True):
            np.testing.assert_array_equal(one.value, other.value)
            np.testing.assert_array_equal(one.lower, other.lower)


def test_too_many_levels_of_merging_are_refused():
    engine = add(make(), [1], [1])
    engine.levels = 64
    with pytest.raises(MergeError, match="level 65"):
        CellsEngine.merge([engine, engine.copy()], 1)


def test_cells_beyond_the_last_one_are_refused():
    """A wrong number must not write to memory of others."""
    engine = add(make(), [1], [1])
    beyond = engine.config.cells
    with pytest.raises(IndexError):
        engine.counters.add(np.full((1, 2), beyond, np.uint32), np.array([2, 3]), None, 2, 3)
    with pytest.raises(IndexError):
        engine.counters.read(np.array([beyond], np.uint32), 0, 1, 0)
    with pytest.raises(ValueError, match="weights"):
        placed(np.zeros((1, 2), np.uint32), np.array([2, 3]), np.array([1]))
    with pytest.raises(ValueError, match="shape"):
        placed(np.zeros((1, 3), np.uint32), np.array([2, 3]), None)
    with pytest.raises(ValueError, match="items"):
        hashed(np.zeros(3, np.uint64), engine.config.rows, np.array([2, 3]), None)


def test_arrivals_are_counted_by_cell_and_block():
    config = make().config
    rng = np.random.default_rng(13)
    items, weights = rng.integers(0, 99, 1000).astype(np.uint64), rng.integers(1, 9, 1000)
    ticks = np.arange(1000)
    for block in (0, 1, 333, 1000):
        counts = counts_by_cell(hashed(items, config.rows, ticks, weights, block), config.cells)
        assert counts.reshape(config.depth, config.width).sum(axis=1).tolist() == [weights.sum()] * config.depth
