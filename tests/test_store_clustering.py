"""Many commits: a site is in few files, rows stay the same, and the log stays short."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from deltalake import DeltaTable

import ecmsketch as ecm
from ecmsketch.store import SketchRow, SketchStore, clustering, row_facts
from ecmsketch.store.clustering import MOST, depth
from ecmsketch.store.file_writer import FileWriter
from ecmsketch.store.table_files import TableFile, TableFiles

CONFIG = ecm.SketchConfig(epsilon=0.2, delta=0.2, window=10_000)


def sketch(tick, item=1):
    made = ecm.EcmSketch(CONFIG)
    made.update_many([item, 2], [tick, tick + 3])
    return made


@pytest.fixture
def store(tmp_path):
    return SketchStore(tmp_path / "sketches")


def files(store):
    return TableFiles(DeltaTable(store.path)).all


def facts_of(store):
    """What history says of every site, but where it lies."""
    return {site: [row._replace(file="", number=0) for row in store.history(site)] for site in store.sites()}


def write(store, batches, sites=40, seed=0):
    rng = np.random.default_rng(seed)
    for batch in batches:
        chosen = rng.choice(sites, sites // 2, replace=False)
        rows = [SketchRow(f"site {i:03}", sketch(10 * batch, i % 7), 2, "snapshot") for i in chosen]
        store.append_once(rows, "web", batch)


class TestClustering:
    def test_rows_stay_and_files_are_few(self, store, monkeypatch):
        monkeypatch.setattr(clustering, "MOST", 1000)
        plain = SketchStore(f"{store.path}-plain")
        write(plain, range(3 * MOST + 5))
        monkeypatch.setattr(clustering, "MOST", MOST)
        write(store, range(3 * MOST + 5))
        assert len(files(plain)) == 3 * MOST + 5
        assert depth(files(store)) <= MOST + 3
        strip = {"version": 0, "written": None}
        expected = {site: [row._replace(**strip) for row in rows] for site, rows in facts_of(plain).items()}
        assert {site: [row._replace(**strip) for row in rows] for site, rows in facts_of(store).items()} == expected
        assert store.latest() == plain.latest()
        assert store.compact().rows_after == 40
        assert store.latest() == plain.latest()

    def test_runs_are_put_together_too(self, store, monkeypatch):
        monkeypatch.setattr(clustering, "MOST", 3)
        deepest = 0
        for batch in range(40):
            write(store, [batch], seed=batch)
            deepest = max(deepest, depth(files(store)))
        assert deepest <= 2 * 3
        assert sum(len(rows) for rows in facts_of(store).values()) == 40 * 20

    def test_a_stream_that_reads_the_table_sees_nothing(self, store):
        write(store, range(MOST))
        (newest,) = DeltaTable(store.path).history(1)
        assert newest["version"] == MOST + 1
        log = (Path(store.path) / "_delta_log" / f"{MOST + 1:020}.json").read_text()
        assert log.count('"dataChange":false') == MOST + 1
        assert '"dataChange":true' not in log

    def test_what_is_appended_meanwhile_stays(self, store, monkeypatch):
        write(store, range(MOST - 1))
        real = FileWriter.commit

        def overtaken(*args, **options):
            monkeypatch.setattr(FileWriter, "commit", real)
            SketchStore(store.path).append([SketchRow("new", sketch(5))])
            real(*args, **options)

        monkeypatch.setattr(FileWriter, "commit", overtaken)
        write(store, [MOST - 1])
        assert store.latest("new")["new"] == sketch(5)
        assert sum(len(rows) for rows in facts_of(store).values()) == MOST * 20 + 1

    @pytest.mark.parametrize("rival", ["cluster", "compact", "forget"])
    def test_rows_that_another_has_rewritten_are_not_there_twice(self, store, monkeypatch, rival):
        write(store, range(MOST - 1))
        store.append_once([SketchRow("site 001", sketch(1))], "mail", 0)  # with this one it clusters
        expected = SketchStore(store.path).latest()
        write(store, range(MOST - 1, 2 * MOST - 2))
        real = FileWriter.commit

        def overtaken(*args, **options):
            monkeypatch.setattr(FileWriter, "commit", real)
            other = SketchStore(store.path)
            {"cluster": other._put_together, "compact": other.compact, "forget": lambda: other.forget("mail")}[rival]()
            real(*args, **options)

        monkeypatch.setattr(FileWriter, "commit", overtaken)
        monkeypatch.setattr(clustering, "_chosen", lambda files: files if len(files) > 1 else [])
        store._put_together()
        monkeypatch.undo()
        rows = [row for given in facts_of(store).values() for row in given]
        assert len(rows) == len({row.order for row in rows})
        assert sorted(store.latest()) == sorted(expected)
        assert any(row.writer == "mail" for row in rows) is (rival != "forget")

    def test_many_writers_at_once(self, store):
        def work(name):
            for batch in range(12):
                store.append_once([SketchRow(f"{name} {i}", sketch(batch), 1) for i in range(3)], name, batch)

        threads = [threading.Thread(target=work, args=(f"w{i}",)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for site in store.sites():
            assert [row.batch for row in store.history(site)] == list(range(12))
        assert len(store.sites()) == 12


class TestOneSite:
    def test_only_row_groups_that_may_hold_it_are_read(self, store, monkeypatch):
        store.append([SketchRow(f"site {i:04}", sketch(i)) for i in range(3000)])
        store.append([SketchRow(f"other {i:04}", sketch(i)) for i in range(10)])
        (whole, _) = sorted(files(store), key=lambda file: -(file.rows or 0))
        assert whole.rows == 3000
        held = []
        real = row_facts._may_hold
        monkeypatch.setattr(row_facts, "_may_hold", lambda *args: held.append(real(*args)) or held[-1])
        assert store.latest("site 1234") == {"site 1234": sketch(1234)}
        assert (len(held), sum(held)) == (3, 1)  # of the three row groups of one file

    def test_names_in_any_language_and_of_any_length(self, store):
        names = ["é" * 400, "z" * 1000, "\U0001f600", "a\x00b", " ", "日本", "ä", "a", "~" * 70 + "1", "~" * 70 + "2"]
        for i in range(MOST + 1):
            store.append_once([SketchRow(name, sketch(i), part="snapshot") for name in names], "web", i)
        assert store.sites() == sorted(names)
        for name in names:
            assert store.latest(name) == {name: sketch(MOST)}


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ([], 0),
        (["ab"], 1),
        (["ab", "cd"], 1),
        (["ab", "bc"], 2),
        (["az", "bc", "de", "ee"], 3),
        (["a?", "cd", "??"], 3),
    ],
)
def test_depth(ranges, expected):
    made = [TableFile("", 0, 1, *(None if end == "?" else end for end in given), 1, 1) for given in ranges]
    assert depth(made) == expected


class TestTheLog:
    def test_checkpoints_are_made_and_old_commits_deleted(self, tmp_path):
        """Commits that are older than a day go, as files do that nothing refers to."""
        store = SketchStore(tmp_path / "sketches")
        write(store, range(25), sites=4)
        log = tmp_path / "sketches" / "_delta_log"
        (checkpoint,) = log.glob("*.checkpoint.parquet")
        assert int(checkpoint.name[:20]) == 19
        assert (log / f"{0:020}.json").exists()
        for file in log.iterdir():
            os.utime(file, (time.time() - 25 * 3600,) * 2)
        write(store, range(25, 45), sites=4)
        left = sorted(int(file.name[:20]) for file in log.glob("*.json"))
        assert left[0] >= 19
        assert left[-1] == store.version()
        assert not store.append_once([SketchRow("x", sketch(1))], "web", 3)  # what was written is still known
        assert len(store.latest()) == 4
        assert store.latest() == dict(store.latest_each())
