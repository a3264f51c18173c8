"""Questions about slices: answers are those of a plain computation, whatever is remembered, and bounds hold."""

from __future__ import annotations

import gc
import signal
import time
from threading import Thread

import numpy as np
import pytest
from plain_reading import PlainReading
from reading_cases import CONFIGS, Case, blocks_of_rows, items_of, made_case, made_up_case, ranges_of

from ecmsketch import SketchConfig
from ecmsketch.engines.slices.reading import SliceReading
from ecmsketch.engines.slices.stream import SliceStream
from ecmsketch.kernels import memory
from streams import zipf_items

CLOSE = {"rel": 1e-9, "abs": 1e-6}
CASES = [("fed", seed) for seed in range(4)] + [("made up", seed) for seed in range(5)]


def case_of(kind: str, name: str, seed: int) -> Case:
    if kind == "made up":
        return made_up_case(name, 7000 + 1000 * seed + len(name))
    return made_case(name, 50 * seed + len(name), [1, 3, 1, 9][seed], [30_000, None, 2000, 3000][seed])


def grown(seed: int = 0, events: int = 60_000, **changes) -> SliceStream:
    """A stream with many slices."""
    config = SketchConfig(**{"epsilon": 0.05, "delta": 0.05, "window": 30_000, **changes})
    stream, rng = SliceStream(config), np.random.default_rng(seed)
    stream.add(zipf_items(events, 3000, rng).astype(np.uint64), np.arange(1, events + 1))
    return stream


def columns(answers) -> list:
    return [answers.value.tolist(), answers.lower.tolist(), answers.upper.tolist(), answers.confidence]


@pytest.mark.parametrize(("kind", "seed"), CASES)
@pytest.mark.parametrize("name", CONFIGS)
def test_answers_are_those_of_a_plain_computation(kind, name, seed):
    rng = np.random.default_rng(seed)
    case = case_of(kind, name, seed)
    plain, reading, config = PlainReading(case.stream), SliceReading(case.stream), case.config
    for since, until in ranges_of(case, 12, rng):
        total = reading.total(since, until)
        assert total[:3] == pytest.approx(plain.total(since, until), **CLOSE)
        assert total.confidence == 1
        read = reading.cells(np.arange(config.cells), since, until)
        for found, wanted in zip(read, plain.cells(since, until), strict=True):
            np.testing.assert_allclose(found, wanted, 1e-9, 1e-6)
        for block, (begin, end, drop) in enumerate(blocks_of_rows(config)):
            keys, delta = items_of(config, 6, rng) >> np.uint64(drop), float(rng.choice([0.0, 0.01, 0.3]))
            found = reading.point(keys, config.rows.some(begin, end), block, since, until, delta)
            parts = reading.prefixes(block, keys, since, until)
            for i, key in enumerate(keys.tolist()):
                wanted = plain.point(key, block, drop, (begin, end), since, until, delta)
                assert (*found[i][:3], found.confidence if len(case.stream.facts()) else wanted[3]) == pytest.approx(
                    wanted, **CLOSE
                )
                wanted = plain.prefix(key, drop, (begin, end), since, until)
                assert [part[i] for part in parts] == pytest.approx(wanted, **CLOSE)


@pytest.mark.parametrize("kind", ["fed", "made up"])
@pytest.mark.parametrize("name", [name for name in CONFIGS if "bits" not in name])
def test_one_item_many_items_and_steps_agree(kind, name):
    rng = np.random.default_rng(1)
    case = case_of(kind, name, 0)
    reading, config = SliceReading(case.stream), case.config
    for since, until in ranges_of(case, 14, rng):
        keys, delta = items_of(config, 500, rng), float(rng.choice([0.0, 0.02, 0.4]))
        many = reading.point(keys, config.rows, 0, since, until, delta)
        for i in range(0, 500, 61):
            one = reading.one_point(int(keys[i]), since, until, delta)
            assert one == many[i]
            assert reading.point(keys[i : i + 1], config.rows, 0, since, until, delta)[0] == one
            assert type(one.value) is float
    newest = int(case.stream.events_columns()[1].max(initial=case.now))
    for steps, length in ((1, 100), (40, 331), (90, 7)):
        since, key = newest - steps * length, int(keys[0])
        series = reading.history(key, since, length, steps, 0.02)
        for i in range(steps):
            one = reading.one_point(key, since + i * length, since + (i + 1) * length, 0.02)
            assert series[i][:3] == pytest.approx(one[:3], **CLOSE)


@pytest.mark.parametrize("name", CONFIGS)
def test_answers_do_not_depend_on_what_is_remembered(name):
    """Questions in any order and number, of few and of many items; each is asked anew to compare."""
    rng = np.random.default_rng(2)
    case = made_case(name, 11, events=25_000)
    config, reading = case.config, SliceReading(case.stream)
    between, levels = ranges_of(case, 12, rng), blocks_of_rows(config)
    for _ in range(150):
        since, until = between[min(int(rng.geometric(0.3)), len(between)) - 1]
        block = int(rng.integers(len(levels)))
        begin, end, drop = levels[block]
        keys = items_of(config, int(rng.choice([1, 2, 30, 200, 2000])), rng) >> np.uint64(drop)
        delta = float(rng.choice([0.0, 0.01, 0.2]))
        asked = rng.integers(5 if len(levels) == 1 else 4)
        for _ in range(int(rng.choice([1, 1, 4, 100]) if len(keys) < 100 else 1)):
            rows = config.rows.some(begin, end)
            if asked == 0:
                found, fresh = (
                    columns(each.point(keys, rows, block, since, until, delta))
                    for each in (reading, SliceReading(case.stream))
                )
            elif asked == 1:
                found, fresh = (
                    each.prefixes(block, keys, since, until) for each in (reading, SliceReading(case.stream))
                )
            elif asked == 2:
                numbers = rng.integers(0, config.cells, len(keys))
                found, fresh = (each.cells(numbers, since, until) for each in (reading, SliceReading(case.stream)))
            elif asked == 3:
                found, fresh = (each.total(since, until) for each in (reading, SliceReading(case.stream)))
            else:
                found, fresh = (
                    columns(each.history(int(keys[0]), since, 1 + (until - since) // 9, 9, delta))
                    for each in (reading, SliceReading(case.stream))
                )
            for one, other in zip(found, fresh, strict=True):
                np.testing.assert_array_equal(one, other)
        assert 0 <= reading.nbytes <= reading.limit


def test_an_index_of_events_changes_nothing():
    """Many questions about the same range: from some on, events are found by an index."""
    rng = np.random.default_rng(3)
    stream = SliceStream(SketchConfig(epsilon=0.01, delta=0.1, window=10**6))
    items = rng.integers(0, 3000, 15_000).astype(np.uint64)
    stream.add(items, np.sort(rng.integers(0, 9000, 15_000)), rng.integers(1, 9, 15_000))
    reading, rows = SliceReading(stream), stream.config.rows
    keys, ticks, weights = stream.events_columns()
    since, until = int(ticks[100]), int(ticks[-200])
    exact = np.bincount(
        keys[(ticks > since) & (ticks <= until)].astype(int), weights[(ticks > since) & (ticks <= until)], 3000
    )
    facts = SliceReading(stream).total(since, until)
    assert facts.value == facts.upper == exact.sum()
    held = []
    for _ in range(12):
        found = reading.point(np.arange(3000, dtype=np.uint64), rows, 0, since, until)
        np.testing.assert_array_equal(found.value, exact)
        few = rng.integers(0, 3000, 100).astype(np.uint64)
        np.testing.assert_array_equal(reading.point(few, rows, 0, since, until).value, exact[few.astype(int)])
        assert reading.one_point(7, since, until, 0.1).value == exact[7]
        held.append(reading.nbytes)
    assert held[-1] - held[0] > 2500 * 16


class TestRemembered:
    """What is remembered stays within its limit, and can be dropped at any time."""

    @pytest.mark.parametrize(("epsilon", "resolution"), [(0.3, None), (0.1, None), (0.05, 0.5), (0.01, 0.2)])
    def test_no_more_than_the_state(self, epsilon, resolution):
        stream, rng = grown(epsilon=epsilon, resolution=resolution), np.random.default_rng(0)
        reading, most = SliceReading(stream), 0
        for _ in range(300):
            since, until = np.sort(60_000 - rng.integers(0, 30_000, 2)).tolist()
            reading.one_point(int(rng.integers(3000)), since, until, float(rng.choice([0.01, 0.1])))
            reading.point(rng.integers(0, 3000, 500).astype(np.uint64), stream.config.rows, 0, since, 60_000)
            reading.history(3, since, 50, 20, 0.1)
            most = max(most, reading.nbytes)
            assert reading.nbytes <= reading.limit == max(16384, stream.nbytes)
        assert most > reading.limit // 2
        reading.forget()
        assert reading.nbytes == 0

    def test_nothing_asked_is_nothing_remembered(self):
        assert SliceReading(SliceStream(SketchConfig(epsilon=0.1, delta=0.1, window=100))).nbytes == 0

    def test_forgetting_changes_no_answer(self):
        stream = grown()
        reading = SliceReading(stream)
        before = reading.one_point(5, 31_000, 60_000, 0.1)
        assert reading.nbytes
        reading.forget()
        assert reading.one_point(5, 31_000, 60_000, 0.1) == before

    def test_what_was_asked_is_answered_from_memory(self):
        """Repeating a question asks for no memory but that of its answer."""
        stream = grown(epsilon=0.02, resolution=0.3)
        reading = SliceReading(stream)
        reading.one_point(5, 31_000, 60_000, 0.1)
        before = memory.allocations()
        for key in range(20):
            reading.one_point(key, 31_000, 60_000, 0.1)
        assert memory.allocations() == before

    def test_a_newer_stream_with_the_same_slices(self):
        stream = grown()
        reading = SliceReading(stream)
        asked = [(since, 60_000) for since in (31_000, 40_123, 59_000)]
        for since, until in asked:
            reading.one_point(5, since, until, 0.1)
        held = reading.nbytes
        fork = stream.fork()
        fork.add(np.full(3, 5, np.uint64), np.full(3, 60_001))
        assert fork.slices_id == stream.slices_id
        newer = reading.follow(fork)
        assert 0 < newer.nbytes < held
        assert reading.nbytes == 0
        for since, until in [*asked, (31_000, 60_001)]:
            assert newer.one_point(5, since, until, 0.1) == SliceReading(fork).one_point(5, since, until, 0.1)
            assert reading.one_point(5, since, until, 0.1) == SliceReading(stream).one_point(5, since, until, 0.1)

    def test_a_newer_stream_with_other_slices(self):
        stream = grown()
        reading = SliceReading(stream)
        reading.one_point(5, 31_000, 60_000, 0.1)
        fork = stream.fork()
        fork.add(np.arange(20_000, dtype=np.uint64), np.arange(60_001, 80_001))
        newer = reading.follow(fork)
        assert newer.nbytes == 0
        assert newer.one_point(5, 51_000, 80_000, 0.1) == SliceReading(fork).one_point(5, 51_000, 80_000, 0.1)

    def test_another_config(self):
        """Estimators may be changed in a filled sketch; slices stay the same."""
        stream = grown()
        reading = SliceReading(stream)
        reading.one_point(5, 33_333, 60_000, 0.1)
        other = stream.with_config(stream.config.replace(estimator="half"))
        newer = reading.follow(other)
        assert newer.total(33_333, 60_000) == SliceReading(other).total(33_333, 60_000)
        assert newer.total(33_333, 60_000) != reading.total(33_333, 60_000)

    def test_nothing_leaks(self):
        stream = grown(epsilon=0.02, resolution=0.3)

        def ask():
            reading = SliceReading(stream)
            for since in range(30_000, 60_000, 997):
                reading.point(np.arange(300, dtype=np.uint64), stream.config.rows, 0, since, 60_000)
                reading.history(3, since, 10, 20, 0.1)

        ask()
        gc.collect()
        before = resident()
        for _ in range(15):
            ask()
        gc.collect()
        assert resident() - before < 8_000_000


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


class TestPromises:
    """What answers promise about the truth."""

    def test_while_there_are_only_events_all_is_exact(self):
        rng = np.random.default_rng(1)
        stream = SliceStream(SketchConfig(epsilon=0.05, delta=0.1, window=1000))
        items, ticks = rng.integers(0, 20, 300).astype(np.uint64), np.sort(rng.integers(0, 1000, 300))
        stream.add(items, ticks)
        reading = SliceReading(stream)
        for since, until in ((-1, 999), (100, 500), (800, 2000), (5, 5)):
            exact = np.bincount(items[(ticks > since) & (ticks <= until)].astype(int), minlength=20)
            found = reading.point(np.arange(20, dtype=np.uint64), stream.config.rows, 0, since, until)
            assert found.confidence == 1
            for part in (found.value, found.lower, found.upper):
                np.testing.assert_array_equal(part, exact)
            assert reading.total(since, until) == (exact.sum(), exact.sum(), exact.sum(), 1)
            keys, counts = reading.exact_counts(since, until)
            assert dict(zip(keys.tolist(), counts.tolist(), strict=True)) == {i: n for i, n in enumerate(exact) if n}
            assert reading.most_since(since, 2000) == (((ticks > since).sum(),) * 2)

    def test_values_are_centred_and_upper_bounds_hold(self):
        """Items that never came are counted as little more than nothing, and errors go either way."""
        rng = np.random.default_rng(0)
        items = zipf_items(100_000, 5000, rng, 1.0)
        exact, errors, covered = np.bincount(items, minlength=5000), [], []
        for seed in range(8):
            config = SketchConfig(epsilon=0.02, delta=0.1, window=10**6, resolution=0.2, seed=seed)
            stream = SliceStream(config)
            stream.add(items.astype(np.uint64), np.arange(100_000))
            found = SliceReading(stream).point(np.arange(5000, dtype=np.uint64), config.rows, 0, -1, 10**6)
            errors.append(found.value - exact)
            assert (found.upper >= exact).all()
            assert ((found.lower <= found.value) & (found.value <= found.upper)).all()
            covered.append((found.lower <= exact).mean())
        assert np.mean(covered) >= found.confidence - 0.01
        heavy = np.argsort(-exact)[:500]
        assert abs(np.mean(errors, axis=0)[heavy].mean()) <= 0.002 * 100_000 / 10
        assert 0.2 < np.mean(np.array(errors)[:, heavy] < 0) < 0.8

    @pytest.mark.parametrize("model", ["time", "count"])
    def test_certain_bounds_hold_in_every_range(self, model):
        rng = np.random.default_rng(5)
        config = SketchConfig(epsilon=0.1, delta=0.1, window=20_000, model=model)
        weights = rng.choice([1, 1, 1, 30], 20_000)
        items, ticks = zipf_items(20_000, 100, rng).astype(np.uint64), np.cumsum(weights)
        stream = SliceStream(config)
        stream.add(items, ticks, weights)
        reading, now = SliceReading(stream), int(ticks[-1])
        for _ in range(60):
            since, until = np.sort(now - rng.integers(0, 20_000, 2)).tolist()
            if model == "count":
                parts = np.maximum(np.minimum(ticks, until) - np.maximum(ticks - weights, since), 0)
            else:
                parts = np.where((ticks > since) & (ticks <= until), weights, 0)
            exact = np.bincount(items.astype(int), parts, 100)
            found = reading.point(np.arange(100, dtype=np.uint64), config.rows, 0, since, until, 0.0)
            assert (found.lower <= exact).all()
            assert (found.upper >= exact).all()
            total = reading.total(since, until)
            assert total.lower <= parts.sum() <= total.upper

    def test_rows_of_cells_add_up_to_all_arrivals(self):
        stream = grown()
        reading, config = SliceReading(stream), stream.config
        read, total = reading.cells(np.arange(config.cells), 37_000, 55_000), reading.total(37_000, 55_000)
        for part, whole in ((read.lower, total.lower), (read.upper, total.upper)):
            assert (part.reshape(config.depth, config.width).sum(axis=1) >= whole - 1e-6).all()
        assert (read.lower.reshape(config.depth, config.width).sum(axis=1) == total.lower).all()


def test_threads_may_share_a_reading():
    """Questions release the interpreter's lock; what one drops another may still be reading."""
    stream = grown(epsilon=0.02, resolution=0.3)
    rows, keys = stream.config.rows, np.arange(3000, dtype=np.uint64)
    asked = [(since, until) for since in range(30_000, 50_000, 4001) for until in (55_123, 60_000)]
    wanted = {between: columns(SliceReading(stream).point(keys, rows, 0, *between)) for between in asked}
    reading, wrong = SliceReading(stream), []

    def ask(seed):
        rng = np.random.default_rng(seed)
        for _ in range(150):
            between = asked[int(rng.integers(len(asked)))]
            if columns(reading.point(keys, rows, 0, *between)) != wanted[between]:
                wrong.append(between)
            reading.cells(np.arange(30), *between)
            reading.history(int(rng.integers(9)), between[0], 100, 20, 0.1)
            if reading.one_point(17, *between, 0.0).upper != wanted[between][2][17]:
                wrong.append(between)

    threads = [Thread(target=ask, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert 0 < reading.nbytes <= reading.limit


class TestTrouble:
    """Questions that cannot be answered, and those that are broken off."""

    def test_rows_of_another_block_are_refused(self):
        case = made_case("bits", 1, events=5000)
        reading, levels = SliceReading(case.stream), blocks_of_rows(case.config)
        keys = np.arange(3, dtype=np.uint64)
        rows = [case.config.rows.some(begin, end) for begin, end, _ in levels]
        for block in range(len(levels)):
            reading.point(keys, rows[block], block, 0, case.now)
            for other in set(range(len(levels))) - {block}:
                with pytest.raises(ValueError, match="rows"):
                    reading.point(keys, rows[other], block, 0, case.now)
        for block in (-1, len(levels)):
            with pytest.raises(IndexError, match="block"):
                reading.point(keys, rows[0], block, 0, case.now)
            with pytest.raises(IndexError, match="block"):
                reading.prefixes(block, keys, 0, case.now)

    def test_cells_that_are_not_there_are_refused(self):
        stream = grown()
        for numbers in ([stream.config.cells], [0, 2**32 - 1]):
            with pytest.raises(IndexError, match="cells below"):
                SliceReading(stream).cells(np.array(numbers, np.uint32), 0, 60_000)

    def test_no_items_and_no_cells(self):
        stream = grown()
        reading, none = SliceReading(stream), np.empty(0, np.uint64)
        assert len(reading.point(none, stream.config.rows, 0, 31_000, 60_000)) == 0
        assert [len(part) for part in reading.prefixes(0, none, 31_000, 60_000)] == [0] * 4
        assert [len(part) for part in reading.cells(none, 31_000, 60_000)] == [0] * 3

    @pytest.mark.parametrize("question", range(5))
    def test_without_memory(self, question):
        """Any allocation may fail: there is a MemoryError or the answer, and later answers are right."""
        stream = grown(epsilon=0.03, resolution=0.3)
        keys = np.arange(900, dtype=np.uint64)
        ask = [
            lambda reading: reading.one_point(3, 33_333, 60_000, 0.1),
            lambda reading: columns(reading.point(keys, stream.config.rows, 0, 33_333, 60_000)),
            lambda reading: columns(reading.history(3, 33_333, 100, 200, 0.1)),
            lambda reading: [part.tolist() for part in reading.cells(np.arange(stream.config.cells), 33_333, 60_000)],
            lambda reading: [part.tolist() for part in reading.prefixes(0, keys, 33_333, 60_000)],
        ][question]
        wanted, failures = ask(SliceReading(stream)), 0
        for allocations in range(500):
            reading = SliceReading(stream)
            memory.fail_after(allocations)
            try:
                assert ask(reading) == wanted
            except MemoryError:
                failures += 1
            finally:
                memory.fail_after(-1)
            assert ask(reading) == wanted
            assert reading.nbytes <= reading.limit
            if failures <= allocations - 40:
                break
        assert failures >= 3

    def test_a_signal_ends_a_long_question(self):
        stream = grown(epsilon=0.002, resolution=0.02, events=200_000, window=200_000)
        reading = SliceReading(stream)
        signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        begin = time.monotonic()

        def ask():
            while time.monotonic() < begin + 20:
                reading.forget()
                reading.history(3, 0, 200, 1000, 0.1)

        try:
            with pytest.raises(KeyboardInterrupt):
                ask()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        assert time.monotonic() < begin + 5
        fresh = SliceReading(stream).history(3, 0, 2000, 100, 0.1)
        assert columns(reading.history(3, 0, 2000, 100, 0.1)) == columns(fresh)
