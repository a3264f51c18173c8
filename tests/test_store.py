"""The store: what is written is read back, by whom and however many at once, and after whatever crash."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError
from hypothesis import given, settings
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.errors import MergeError, StoreError
from ecmsketch.sketch.merging import unite
from ecmsketch.store import READER_HOURS, SCHEMA, SketchRow, SketchStore, delta, row_reader
from ecmsketch.store.file_writer import FileWriter
from streams import cuts, ticks_of, zipf_items

WINDOW = 1000
SPAWN = multiprocessing.get_context("spawn")


def make(**changes):
    return ecm.SketchConfig(**{"epsilon": 0.1, "delta": 0.1, "window": WINDOW, "counter": "eh", **changes})


def piece(begin, end, events=50, seed=0, **changes):
    """A sketch of arrivals on the ticks begin .. end, both of them hit."""
    rng = np.random.default_rng([seed, begin, end])
    sketch = ecm.EcmSketch(make(**changes), site=str(seed))
    sketch.update_many(rng.integers(0, 5, events), np.sort(np.r_[begin, rng.integers(begin, end + 1, events - 2), end]))
    return sketch


@pytest.fixture
def store(tmp_path):
    return SketchStore(tmp_path / "sketches")


@pytest.fixture
def days(store):
    """One site, ten segments of a hundred ticks, one commit each."""
    segments = [piece(100 * day, 100 * day + 99, seed=1) for day in range(10)]
    for segment in segments:
        store.append([SketchRow("x", segment, events=50)])
    return segments


class TestUnite:
    @given(
        st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30), st.integers(2, 40)), min_size=1, max_size=6),
        st.randoms(use_true_random=False),
        st.sampled_from(["eh", "dw", "rw", "slices"]),
        st.booleans(),
    )
    @settings(max_examples=40)
    def test_the_order_of_the_pieces_does_not_matter(self, extents, random, counter, named):
        pieces = [
            piece(begin, begin + length, events, seed, counter=counter, heavy_hitters=named, window=50)
            for seed, (begin, length, events) in enumerate(extents)
        ]
        expected = unite(pieces)
        random.shuffle(pieces)
        assert unite(pieces) == expected

    @given(st.integers(0, 2**32), st.integers(1, 12), st.sampled_from(["steady", "bursts", "gaps", "crowded"]))
    @settings(max_examples=30)
    def test_pieces_that_follow_one_another_lose_nothing(self, seed, count, shape):
        rng = np.random.default_rng(seed)
        items, ticks = zipf_items(2000, 50, rng), ticks_of(shape, 2000, WINDOW, rng)
        pieces = []
        for cut in cuts(2000, count, rng):
            pieces.append(ecm.EcmSketch(make()))
            pieces[-1].update_many(items[cut], ticks[cut])
        rng.shuffle(pieces)
        united = unite(pieces)
        assert united.merge_levels == 0
        assert united.now == ticks[-1]
        inside = ticks > united.now - WINDOW
        for item in range(5):
            exact = int((items[inside] == item).sum())
            assert united.estimate(item).upper >= exact
        assert united.total().covers(int(inside.sum()))
        assert abs(united.total().value - inside.sum()) <= 0.1 * inside.sum() + 1e-9

    def test_overlapping_pieces_cost_a_level_and_only_once(self):
        overlapping = [piece(0, 50), piece(10, 60, seed=1), piece(20, 40, seed=2), piece(55, 90, seed=3)]
        united = unite([piece(90, 200, seed=4), *overlapping])
        assert united.merge_levels == 1
        assert united == ecm.concat([ecm.merge(overlapping), piece(90, 200, seed=4)])
        assert united.total().covers(250)

    def test_a_tick_may_be_cut_in_two(self):
        assert unite([piece(5, 9), piece(0, 5), piece(5, 5)]).merge_levels == 0

    def test_empty_pieces_move_the_clock_and_no_more(self):
        empty = ecm.EcmSketch(make())
        empty.advance(40)
        late = ecm.EcmSketch(make())
        late.advance(300)
        expected = piece(0, 99)
        assert unite([empty, expected, ecm.EcmSketch(make())]) == expected
        expected.advance(300)
        assert unite([late, empty, piece(0, 99)]) == expected
        assert unite([late, empty]).now == 300

    def test_count_based_pieces_are_joined_as_given(self):
        pieces = [ecm.EcmSketch(make(model="count")) for _ in range(3)]
        for item, sketch in enumerate(pieces):
            sketch.update_many(np.full(400, item))
        united = unite(pieces)
        assert united.now == 1200
        assert united.estimate(2, last=400).value == pytest.approx(400, rel=0.1)
        assert united.estimate(0).value == pytest.approx(200, rel=0.1)

    def test_the_pieces_stay_as_they_are(self):
        pieces = [piece(0, 50), piece(10, 60, seed=1)]
        before = [sketch.serialize() for sketch in pieces]
        unite(pieces).update("x", 100)
        assert [sketch.serialize() for sketch in pieces] == before

    @pytest.mark.parametrize("wrong", [[], [b"ECMS"], piece(0, 9), [piece(0, 9), piece(20, 30, seed=1, epsilon=0.2)]])
    def test_what_cannot_be_united(self, wrong):
        with pytest.raises(MergeError):
            unite(wrong)


class TestWritingAndReading:
    @pytest.mark.parametrize("as_bytes", [False, True])
    @pytest.mark.parametrize("changes", [{}, {"heavy_hitters": True}, {"counter": "dw"}, {"bits": 16}])
    def test_every_kind_comes_back_as_it_was(self, store, as_bytes, changes):
        if "bits" in changes:
            full, empty = (ecm.PrefixSketch(make(), **changes) for _ in range(2))
            full.update_many([20, 35, 900], [1, 2, 3])
        else:
            full, empty = piece(0, 99, **changes), ecm.EcmSketch(make(**changes))
        given = {"full": full, 'it\'s \\ a "s\u00eete"\n': empty, "z": full}
        store.append(SketchRow(site, s.serialize() if as_bytes else s, 7) for site, s in given.items())
        assert store.latest() == given
        assert store.sites() == sorted(given)
        for site, sketch in given.items():
            assert store.latest(site) == {site: sketch}
            assert store.read(site) == sketch
        if "heavy_hitters" in changes:
            assert store.latest("full")["full"].top(1) == full.top(1)
        assert DeltaTable(store.path).version() == 1

    def test_columns_are_as_documented(self, store):
        before = datetime.now(UTC)
        store.append_once([SketchRow("x", piece(3, 99), 50)], "job", 4)
        store.append([SketchRow("z", piece(0, 9)), SketchRow("y", ecm.EcmSketch(make()), part="snapshot")])
        table = DeltaTable(store.path).to_pyarrow_table()
        assert table.schema.equals(SCHEMA)
        x, y, z = table.sort_by("site").to_pylist()
        size = len(piece(3, 99).serialize())
        expected = ("EcmSketch", "segment", 3, 99, 50, size, "job", 1, 4, 1, 0)
        names = (
            "kind", "part", "first_tick", "last_tick", "events", "bytes", "writer", "generation", "batch", "version",
            "position",
        )  # fmt: skip
        assert tuple(x[name] for name in names) == expected
        assert before <= x["written"] <= y["written"] <= datetime.now(UTC)
        assert [y[name] for name in ("part", "first_tick", "last_tick", "events", "writer", "generation", "batch")] == [
            "snapshot", None, None, None, None, None, None,
        ]  # fmt: skip
        assert [(row["version"], row["position"]) for row in (z, y)] == [(2, 0), (2, 1)]
        assert [len(row["fingerprints"] or b"") for row in (x, y, z)] == [8, 0, 8]

    def test_segments_in_any_order_become_one_sketch(self, store):
        segments = [piece(100 * i, 100 * i + 99) for i in range(5)]
        for i in (3, 0, 4, 1, 2):
            store.append([SketchRow("x", segments[i], 50)])
        latest = store.latest()["x"]
        assert latest == ecm.concat(segments)
        assert latest.merge_levels == 0
        assert [row.first_tick for row in store.history("x")] == [0, 100, 200, 300, 400]
        assert all(row.events == 50 and row.bytes == len(s.serialize()) for row, s in zip(
            store.history("x"), segments, strict=True))  # fmt: skip

    def test_overlapping_segments_are_merged(self, store):
        store.append([SketchRow("x", piece(0, 100)), SketchRow("x", piece(50, 150, seed=1))])
        assert store.latest()["x"] == ecm.merge([piece(0, 100), piece(50, 150, seed=1)])

    def test_a_range_reads_only_what_it_touches(self, store, days, monkeypatch):
        assert store.read("x", since=299, until=500) == ecm.concat(days[3:6])
        assert store.read("x", until=99) == days[0]
        assert store.read("x", since=898) == ecm.concat(days[8:])
        (store.read("x", 150, 160)).estimate(1, between=(150, 160))
        with pytest.raises(StoreError, match=r"nothing is in the ticks \(2000, 3000\]"):
            store.read("x", 2000, 3000)

    def test_what_has_left_the_window_is_not_read(self, store, days, monkeypatch):
        store.append([SketchRow("x", piece(1500, 1550))])
        read = []
        monkeypatch.setattr(row_reader, "decode_row", lambda row, data: read.append(row) or ecm.load(data))
        latest = store.latest()["x"]
        assert sorted(row.first_tick for row in read) == [500, 600, 700, 800, 900, 1500]
        everything = ecm.concat([*days, piece(1500, 1550)])
        for last in (10, 600, WINDOW):
            assert latest.estimate(1, last=last).value == everything.estimate(1, last=last).value

    def test_many_sites_in_few_files(self, store):
        for begin in (0, 100):
            store.append(SketchRow(f"site {i}", piece(begin + i % 7, begin + 50 + i % 9, seed=i)) for i in range(200))
        latest = store.latest()
        assert len(latest) == 200
        for i in (0, 1, 63, 64, 65, 128, 199):
            pieces = [piece(begin + i % 7, begin + 50 + i % 9, seed=i) for begin in (0, 100)]
            assert latest[f"site {i}"] == unite(pieces) == store.read(f"site {i}")

    def test_count_based_rows_are_joined_in_the_order_written(self, store):
        sketches = [ecm.EcmSketch(make(model="count")) for _ in range(3)]
        for item, sketch in enumerate(sketches):
            sketch.update_many(np.full(400 - 100 * item, item))
            store.append([SketchRow("x", sketch)])
        before = store.latest()["x"]
        assert before == ecm.concat(sketches)
        with pytest.raises(StoreError, match="without a range"):
            store.read("x", until=100)
        assert store.compact(before_tick=1000).rows_after == 3
        assert store.compact().rows_after == 1
        assert store.latest()["x"] == before

    def test_nothing_to_write_writes_nothing(self, store):
        store.append([])
        with pytest.raises(StoreError, match="no Delta table"):
            store.sites()


class TestSnapshots:
    def test_the_newest_replaces_what_was_before_and_later_segments_add_to_it(self, store):
        store.append([SketchRow("x", piece(0, 99))])
        store.append([SketchRow("x", piece(0, 150, seed=2), part="snapshot")])
        store.append([SketchRow("x", piece(0, 199, seed=3), part="snapshot"), SketchRow("y", piece(0, 9))])
        store.append([SketchRow("x", piece(200, 250, seed=4))])
        expected = ecm.concat([piece(0, 199, seed=3), piece(200, 250, seed=4)])
        assert store.latest() == {"x": expected, "y": piece(0, 9)}
        assert store.read("x", since=210) == piece(200, 250, seed=4)
        assert len(store.history("x")) == 4
        assert store.compact().rows_after == 3
        assert store.latest()["x"] == expected

    def test_order_in_one_commit_counts(self, store):
        segment, snapshot = SketchRow("x", piece(0, 50)), SketchRow("x", piece(0, 99, seed=1), part="snapshot")
        store.append([segment, snapshot])
        assert store.latest()["x"] == piece(0, 99, seed=1)
        store.append([snapshot, SketchRow("x", piece(99, 120))])
        assert store.latest()["x"] == ecm.concat([piece(0, 99, seed=1), piece(99, 120)])

    def test_what_a_snapshot_cannot_know_stays(self, store):
        store.append([SketchRow("x", piece(200, 250))])
        store.append([SketchRow("x", piece(0, 199), part="snapshot")])
        assert store.latest()["x"] == ecm.concat([piece(0, 199), piece(200, 250)])


class TestOnce:
    def test_the_same_or_an_older_batch_is_not_written_again(self, store):
        assert store.append_once([SketchRow("x", piece(0, 99))], "job", 3)
        for batch in (3, 2, 0):
            assert not store.append_once([SketchRow("x", piece(100, 199))], "job", batch)
        assert store.append_once([SketchRow("x", piece(100, 199))], "other job", 0)
        assert store.append_once([SketchRow("x", piece(200, 299))], "job", np.int64(4))
        assert [(row.writer, row.batch) for row in store.history("x")] == [("job", 3), ("other job", 0), ("job", 4)]

    def test_an_empty_batch_commits_nothing(self, store):
        """It need not be remembered: done again, it is empty again, or brings what is not there."""
        assert store.append_once([], "job", 0)
        assert store.latest() == {}
        store.append_once([SketchRow("x", piece(0, 9))], "job", 1)
        before = DeltaTable(store.path).version()
        assert all(store.append_once([], "job", batch) for batch in range(2, 12))
        assert not store.append_once([], "job", 1)
        assert DeltaTable(store.path).version() == before
        assert store.append_once([SketchRow("x", piece(10, 19))], "job", 2)
        assert not store.append_once([SketchRow("x", piece(10, 19))], "job", 2)

    def test_it_is_remembered_after_compacting_and_checkpoints(self, store):
        for batch in range(4):
            store.append_once([SketchRow("x", piece(10 * batch, 10 * batch + 9))], "job", batch)
        store.compact()
        DeltaTable(store.path).create_checkpoint()
        assert not store.append_once([SketchRow("x", piece(0, 9))], "job", 3)

    def test_a_crash_before_the_commit_leaves_nothing_and_after_it_all(self, store, monkeypatch):
        store.append_once([SketchRow("x", piece(0, 9))], "job", 0)
        real = write_deltalake

        class PowerCut(BaseException):
            pass

        def crash(after):
            def write(*args, **options):
                if after:
                    real(*args, **options)
                raise PowerCut

            return write

        for after in (False, True):
            monkeypatch.setattr(delta, "write_deltalake", crash(after))
            with pytest.raises(PowerCut):
                store.append_once([SketchRow("x", piece(10, 19))], "job", 1)
            monkeypatch.setattr(delta, "write_deltalake", real)
            assert len(store.history("x")) == (2 if after else 1)
        assert not store.append_once([SketchRow("x", piece(10, 19))], "job", 1)
        assert store.append_once([SketchRow("x", piece(20, 29))], "job", 2)

    def test_of_two_that_race_one_writes(self, store, monkeypatch):
        """The second looks, then the first commits, then the second does."""
        store.append([SketchRow("x", piece(0, 9))])
        real = write_deltalake
        rival = SketchStore(store.path)

        def overtaken(*args, **options):
            monkeypatch.setattr(delta, "write_deltalake", real)
            assert rival.append_once([SketchRow("x", piece(10, 19))], "job", 1)
            real(*args, **options)

        monkeypatch.setattr(delta, "write_deltalake", overtaken)
        assert not store.append_once([SketchRow("x", piece(10, 19))], "job", 1)
        assert [row.batch for row in store.history("x")] == [None, 1]

    def test_of_many_threads_one_writes(self, store):
        wrote = []
        rows = [SketchRow("x", piece(0, 9))]

        def work():
            for batch in range(4):
                wrote.append((SketchStore(store.path).append_once(rows, "job", batch), batch))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        done = [batch for written, batch in wrote if written]
        assert len(done) == len(set(done)) == len(store.history("x"))
        assert 3 in done


class TestCompacting:
    def test_segments_become_one_row_and_answers_stay(self, store, days):
        before = store.latest()["x"]
        report = store.compact(span=WINDOW)
        assert (report.rows_before, report.rows_after) == (10, 1)
        assert report.bytes_after == len(before.serialize()) < report.bytes_before
        assert store.latest()["x"].serialize() == before.serialize()
        (row,) = store.history("x")
        assert (row.first_tick, row.last_tick, row.events, row.part) == (0, 999, 500, "segment")
        version = DeltaTable(store.path).version()
        assert store.compact(span=WINDOW).rows_after == 1
        assert DeltaTable(store.path).version() == version

    def test_half_a_window_can_be_read_wherever_it_ends(self, store, days):
        for begin in range(1000, 2500, 100):
            store.append([SketchRow("x", piece(begin, begin + 99, seed=1))])
        ticks = [(until - 500, until) for until in range(700, 2500, 333)]
        before = [store.read("x", *between).total(between=between) for between in ticks]
        latest = store.latest()["x"]
        assert store.compact().rows_after == 5
        for between, was in zip(ticks, before, strict=True):
            found = store.read("x", *between)
            assert found.merge_levels == 0
            now = found.total(between=between)
            assert max(now.lower, was.lower) <= min(now.upper, was.upper)
        for last in (100, WINDOW):
            now, was = store.latest()["x"].total(last=last), latest.total(last=last)
            assert max(now.lower, was.lower) <= min(now.upper, was.upper)

    def test_only_what_is_old(self, store, days):
        before = store.latest()["x"]
        assert store.compact(before_tick=299).rows_after == 8
        assert [row.last_tick for row in store.history("x")][:2] == [299, 399]
        assert store.latest()["x"].total().covers(500)
        assert before.total().covers(500)

    def test_overlapping_segments_stay(self, store, days):
        store.append([SketchRow("x", piece(250, 350, seed=7)), SketchRow("y", piece(0, 9))])
        before = store.latest()
        assert store.compact().rows_after == 7  # 0-299 but for the one overlapped, two and the odd one, 400-899, 900, y
        assert [(row.first_tick, row.last_tick) for row in store.history("x")] == [
            (0, 199), (200, 299), (250, 350), (300, 399), (400, 899), (900, 999),
        ]  # fmt: skip
        after = store.latest()
        assert after["y"] == before["y"]
        assert after["x"].merge_levels == before["x"].merge_levels == 1
        assert after["x"].total().covers(550)

    def test_rows_appended_meanwhile_stay(self, store, days, monkeypatch):
        real = FileWriter.commit
        rival = SketchStore(store.path)

        def overtaken(*args, **options):
            monkeypatch.setattr(FileWriter, "commit", real)
            rival.append([SketchRow("x", piece(1000, 1099, seed=1), 50), SketchRow("new", piece(0, 9))])
            real(*args, **options)

        monkeypatch.setattr(FileWriter, "commit", overtaken)
        store.compact(span=WINDOW)
        assert sorted(row.first_tick for row in store.history("x")) == [0, 1000]
        assert store.latest()["x"].now == 1099
        assert store.latest()["new"] == piece(0, 9)

    def test_two_at_once_do_not_double_anything(self, store, days, monkeypatch):
        real = FileWriter.commit
        rival = SketchStore(store.path)
        before = store.latest()["x"]

        def overtaken(*args, **options):
            monkeypatch.setattr(FileWriter, "commit", real)
            rival.compact(span=WINDOW)
            real(*args, **options)

        monkeypatch.setattr(FileWriter, "commit", overtaken)
        assert store.compact(span=WINDOW).rows_before == 1
        assert store.latest()["x"] == before

    def test_it_gives_up_in_the_end(self, store, days, monkeypatch):
        def never(*args, **options):
            raise CommitFailedError("someone was faster")

        monkeypatch.setattr(FileWriter, "commit", never)
        monkeypatch.setattr(delta, "_ATTEMPTS", 3)
        with pytest.raises(StoreError, match=r"3 attempts.*someone was faster"):
            store.compact()

    def test_vacuum_deletes_what_nothing_refers_to_but_only_when_old(self, store, days, tmp_path):
        before = store.latest()["x"]
        store.compact(span=WINDOW)
        assert store.vacuum() == []
        with pytest.raises(StoreError, match="24 or more, got 0"):
            store.vacuum(0)
        orphan = tmp_path / "sketches" / "part-of-a-writer-that-died.parquet"
        orphan.write_bytes(b"PAR1")
        assert len(store.vacuum(0, force=True)) == 11
        assert not orphan.exists()
        assert store.latest()["x"] == before

    def test_who_opened_the_store_within_a_day_reads_on_after_a_vacuum(self, store, days, tmp_path):
        folder = tmp_path / "sketches"
        hour = 3600
        for file in folder.glob("*.parquet"):  # written long ago: only when a file was replaced may matter
            os.utime(file, (time.time() - 1000 * hour,) * 2)
        before = store.latest()["x"]
        reader = row_reader.RowReader(DeltaTable(folder), "x")
        store.compact(span=WINDOW)
        (replaced,) = (path for path in folder.glob("_delta_log/*.json") if '"remove"' in path.read_text())
        for hours, left in ((0, True), (READER_HOURS - 1, True), (READER_HOURS + 1, False)):
            _say_removed(replaced, time.time() - hours * hour)
            assert bool(store.vacuum(keep_hours=READER_HOURS)) is not left
            if left:
                assert unite(list(reader.sketches(reader.all).values())) == before
        with pytest.raises(StoreError, match="cannot be read"):
            reader.load(reader.all)
        assert store.latest()["x"] == before


def _say_removed(commit, when):
    """Let a commit say that it replaced its files at another time."""
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    for action in actions:
        if "remove" in action:
            action["remove"]["deletionTimestamp"] = int(1000 * when)
    commit.write_text("\n".join(map(json.dumps, actions)))


def write_commits(path, name, commits):
    """Commits of three rows each, in a process of its own."""
    store = SketchStore(path)
    for batch in range(commits):
        store.append(SketchRow(f"{name}-{i}", piece(10 * batch, 10 * batch + 9).serialize(), batch) for i in range(3))


def write_until_killed(path, name, blob, begun):
    store = SketchStore(path)
    for batch in range(10_000):
        store.append_once([SketchRow(f"{name}-{i}", blob, batch) for i in range(3)], name, batch)
        begun.set()


class TestManyWriters:
    def test_nothing_is_lost_or_doubled_while_others_write_and_compact(self, store):
        """All begin with no table there, so that they also race to create it."""
        writers = [SPAWN.Process(target=write_commits, args=(store.path, f"w{i}", 10)) for i in range(4)]
        for writer in writers:
            writer.start()
        while any(writer.is_alive() for writer in writers):
            if DeltaTable.is_deltatable(store.path):
                store.compact(before_tick=49)
            time.sleep(0.05)
        assert [writer.exitcode for writer in writers] == [0] * 4
        assert store.compact().rows_after == 12
        latest = store.latest()
        assert sorted(latest) == [f"w{w}-{i}" for w in range(4) for i in range(3)]
        for site in latest:
            assert sum(row.events for row in store.history(site)) == sum(range(10))
            assert latest[site].total().covers(500)
            assert latest[site].merge_levels == 0
        assert sum(entry["operation"] == "CREATE TABLE" for entry in DeltaTable(store.path).history()) == 1

    def test_a_table_begins_once_however_many_create_it(self, tmp_path):
        together = threading.Barrier(8)

        def create(path):
            together.wait()
            SketchStore(path, create=True)

        for attempt in range(10):
            path = tmp_path / str(attempt)
            threads = [threading.Thread(target=create, args=(path,)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert DeltaTable(path).version() == 0
            assert SketchStore(path).latest() == {}

    def test_killed_writers_leave_whole_commits(self, store):
        rng = np.random.default_rng(5)
        blob = piece(0, 99_999, 100_000, epsilon=0.01, window=100_000).serialize()
        begun = [SPAWN.Event() for _ in range(4)]
        writers = [
            SPAWN.Process(target=write_until_killed, args=(store.path, f"w{i}", blob, event))
            for i, event in enumerate(begun)
        ]
        for writer in writers:
            writer.start()
        assert all(event.wait(60) for event in begun)
        for writer in writers:
            time.sleep(float(rng.random()) * 0.1)
            os.kill(writer.pid, signal.SIGKILL)
            writer.join()
        batches = {}
        for site in store.sites():
            rows = store.history(site)
            assert sorted(row.batch for row in rows) == list(range(len(rows)))
            batches.setdefault(site.split("-")[0], set()).add(len(rows))
        assert len(batches) == 4
        assert all(len(counts) == 1 for counts in batches.values()), "a commit was written in part"
        assert len(store.latest()) == 12
        for writer, (count,) in batches.items():
            assert not store.append_once([SketchRow("z", blob)], writer, count - 1)
            assert store.append_once([SketchRow("z", blob)], writer, count)
        store.compact()
        store.vacuum(0, force=True)
        assert len(store.latest()) == 13


class TestWhatIsRefused:
    def test_a_path_without_a_store(self, store, tmp_path):
        (tmp_path / "file").write_text("x")
        for path in (store.path, tmp_path, tmp_path / "file"):
            for ask in (SketchStore.latest, SketchStore.sites, SketchStore.compact, SketchStore.vacuum):
                with pytest.raises(StoreError):
                    ask(SketchStore(path))
        with pytest.raises(StoreError, match=r"expected a store of sketches, got no Delta table.*append to it first"):
            store.latest()
        with pytest.raises(StoreError, match="file"):
            SketchStore(tmp_path / "file", create=True)
        assert not os.path.exists(store.path)

    def test_an_empty_store_is_one(self, store):
        made = SketchStore(store.path, create=True)
        assert SketchStore(store.path, create=True).latest() == made.latest() == {}
        assert made.sites() == []
        assert made.compact() == (0, 0, 0, 0)
        with pytest.raises(StoreError, match="sites\\(\\) lists them"):
            made.latest("x")

    @pytest.mark.parametrize(
        "other",
        [
            pa.table({"a": [1]}),
            SCHEMA.set(6, pa.field("events", pa.float64())).empty_table(),
            SCHEMA.append(pa.field("extra", pa.string())).empty_table(),
            SCHEMA.remove(2).empty_table(),
        ],
    )
    def test_another_delta_table(self, store, other):
        write_deltalake(store.path, other)
        for ask in (store.latest, store.compact, lambda: store.append([SketchRow("x", piece(0, 9))])):
            with pytest.raises(StoreError, match="another Delta table: its columns"):
                ask()
        assert DeltaTable(store.path).version() == 0

    def test_hostile_bytes_before_anything_is_written(self, store):
        good = piece(0, 99).serialize()
        store.append([SketchRow("x", good)])
        broken = bytearray(good)
        broken[60] ^= 1
        for wrong in (b"", b"ECMS", good[:-1], good + b"x", bytes(broken), os.urandom(500), None, 5, "text", [1]):
            with pytest.raises(StoreError, match=r"rows\[1\]: .*nothing was written"):
                store.append([SketchRow("y", good), SketchRow("z", wrong)])
        assert store.sites() == ["x"]
        assert DeltaTable(store.path).version() == 1

    @pytest.mark.parametrize(
        "row",
        [
            SketchRow("", piece(0, 9)),
            SketchRow(5, piece(0, 9)),
            SketchRow("x", piece(0, 9), -1),
            SketchRow("x", piece(0, 9), 1.5),
            SketchRow("x", piece(0, 9), True),
            SketchRow("x", piece(0, 9), part="whole"),
            piece(0, 9),
            "xy",
            ("x",),
        ],
    )
    def test_wrong_rows(self, store, row):
        with pytest.raises(StoreError, match=r"rows\[0\]: .*expected"):
            store.append([row])
        assert not os.path.exists(store.path)

    def test_wrong_calls(self, store):
        row = SketchRow("x", piece(0, 9))
        for rows in (5, None, "x", piece(0, 9), row):
            with pytest.raises(StoreError):
                store.append(rows)
        for writer, batch in (("", 0), (None, 0), ("w", -1), ("w", 2**63), ("w", "0"), ("w", True)):
            with pytest.raises(StoreError, match=r"writer|batch"):
                store.append_once([row], writer, batch)
        with pytest.raises(StoreError, match=r"generation: expected a name or '', got 5"):
            store.append_once([row], "w", 0, generation=5)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"sketch": b"ECMS" + bytes(200)},
            {"sketch": None},
            {"part": "whole"},
            {"written": None},
            {"version": None},
            {"bytes": None},
        ],
    )
    def test_a_corrupt_row_is_named(self, store, wrong):
        store.append([SketchRow("good", piece(0, 9)), SketchRow("bad", piece(0, 9))])
        (row,) = DeltaTable(store.path).to_pyarrow_table(filters=[("site", "=", "bad")]).to_pylist()
        write_deltalake(store.path, pa.Table.from_pylist([{**row, "first_tick": 50, **wrong}], SCHEMA), mode="append")
        for ask in (store.latest, lambda: store.read("bad"), store.compact):
            with pytest.raises(StoreError, match=r"site 'bad', row 0 of part-.*parquet: .*delete the row"):
                ask()
        assert store.latest("good") == {"good": piece(0, 9)}

    def test_a_corrupt_file_is_named(self, store, tmp_path):
        store.append([SketchRow("x", piece(0, 9))])
        (file,) = (tmp_path / "sketches").glob("*.parquet")
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(StoreError, match=file.name):
            store.latest()
        file.unlink()
        with pytest.raises(StoreError, match=file.name):
            store.latest()
        (log,) = (tmp_path / "sketches" / "_delta_log").glob("*0.json")
        log.write_text("garbage")
        with pytest.raises(StoreError, match="sketches"):
            store.latest()

    def test_rows_of_a_site_that_do_not_go_together(self, store, tmp_path):
        """They can only come from elsewhere: the store itself does not write them."""
        other = SketchStore(tmp_path / "other")
        other.append([SketchRow("x", piece(20, 29, epsilon=0.2))])
        store.append([SketchRow("x", piece(0, 9))])
        write_deltalake(store.path, DeltaTable(other.path).to_pyarrow_table(), mode="append")
        with pytest.raises(StoreError, match=r"site 'x': its rows cannot be united: .*epsilon"):
            store.latest()

    def test_errors_cross_processes(self, store):
        with pytest.raises(StoreError) as caught:
            store.latest()
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_without_deltalake_the_library_works_and_the_store_says_what_to_install():
    code = (
        "import sys; sys.modules['deltalake'] = None\n"
        "import ecmsketch; ecmsketch.EcmSketch; import ecmsketch.sketch.merging\n"
        "assert 'pyarrow' not in sys.modules\n"
        "try:\n    import ecmsketch.store\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'ecmsketch[store]'" in done.stdout
