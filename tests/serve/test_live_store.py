"""A store that is followed: whatever happens to it, there is an answer or a clear sentence, and never a crash."""

from __future__ import annotations

import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from served import BEGIN, SITES, client, config, events, exact, read, sketch_of, write

import ecmsketch as ecm
from ecmsketch.errors import QueryError
from ecmsketch.serve import LiveStore
from ecmsketch.serve.shared_work import SharedWork
from ecmsketch.store import SketchRow, SketchStore
from ecmsketch.store.table_follower import TableFollower


@pytest.fixture
def path(tmp_path):
    write(tmp_path / "s", until=100)
    return tmp_path / "s"


@pytest.fixture(autouse=True)
def looks_closely(monkeypatch):
    """Every look at a store opens it afresh, so that tests need not wait."""
    monkeypatch.setattr(TableFollower.__init__, "__defaults__", (0.0,))


def total(live):
    return live.view().sketch().total().value


def test_a_store_that_appears_later(tmp_path):
    live = read(tmp_path / "s")
    assert "there is no store here yet" in live.problem
    assert live.view() is None
    write(tmp_path / "s")
    live.refresh()
    assert live.problem is None
    assert total(live) == exact().total()


def test_an_empty_store(tmp_path):
    SketchStore(tmp_path / "s", create=True)
    live = read(tmp_path / "s")
    assert live.problem == f"{tmp_path / 's'}: this store holds no sketches yet; they appear here once they are written"
    write(tmp_path / "s")
    live.refresh()
    assert live.problem is None


def test_a_deleted_store_stays_answered_and_says_so(path):
    live = read(path)
    shutil.rmtree(path)
    live.refresh()
    assert "there is no store here yet" in live.problem
    assert live.view().stale
    assert live.view().problem == live.problem
    assert total(live) == exact(written=100).total()  # nobody had asked before it was deleted
    answer = client(live).get("/api/v1/total").json()
    assert answer["as_of"]["stale"]
    assert answer["as_of"]["problem"] == live.problem
    assert client(live).get("/readyz").status_code == 503


def test_a_truncated_commit(path):
    live = read(path)
    write(path, batch=1, until=200)
    newest = sorted((path / "_delta_log").glob("*.json"))[-1]
    whole = newest.read_bytes()
    newest.write_bytes(whole[: len(whole) // 2])
    live.refresh()
    assert live.problem.startswith(f"{path}: it cannot be read")
    assert (live.view().version, live.view().stale) == (1, True)
    assert total(live) == exact(written=100).total()
    newest.write_bytes(whole)
    live.refresh()
    assert live.problem is None
    assert (live.view().version, live.view().stale) == (2, False)
    assert total(live) == exact(written=200).total()


def test_a_damaged_file(path):
    live = read(path)
    before = set(path.glob("*.parquet"))
    write(path, batch=1, until=200)
    (file,) = set(path.glob("*.parquet")) - before
    file.write_bytes(file.read_bytes()[:-100])
    live.refresh()
    assert str(path.name) in live.problem
    assert live.view().stale
    assert total(live) == exact(written=100).total()


def test_a_store_that_is_made_anew_with_another_config(path):
    live = read(path)
    assert total(live) == exact(written=100).total()
    shutil.rmtree(path)
    arrivals = events("berlin", 50)
    SketchStore(path).append([SketchRow("rome", sketch_of(arrivals, epsilon=0.1, heavy_hitters=False))])
    live.refresh()
    assert live.problem is None
    assert (live.view().sites, live.view().config.epsilon) == (("rome",), 0.1)
    assert total(live) == 50


def test_another_table_in_its_place(path):
    live = read(path)
    shutil.rmtree(path)
    write_deltalake(path, pa.table({"a": [1]}))
    live.refresh()
    assert "got another Delta table" in live.problem
    assert live.view().stale


def test_a_file_or_a_folder_of_others_in_its_place(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x.txt").write_text("x")
    for name in ("file", "folder"):
        live = read(tmp_path / name)
        assert str(tmp_path / name) in live.problem
        assert live.view() is None


def test_a_broken_config_is_a_problem(path):
    live = read(path)
    DeltaTable(path).alter.set_table_properties({"ecmsketch.config": "{}"}, raise_if_not_exists=False)
    live.refresh()
    assert "is not a config that this version knows" in live.problem


def test_each_new_version_is_seen_within_a_second(path):
    with LiveStore(path) as live:
        live.view().sketch()
        for batch in range(1, 4):
            write(path, batch=batch, until=100 + batch)
            written = time.monotonic()
            while live.view().version <= batch:
                assert time.monotonic() < written + 1
                time.sleep(0.01)
            assert total(live) == exact(written=100 + batch).total()


def test_unknown_sites_are_refused(path):
    with pytest.raises(QueryError, match="'nosuch'"):
        read(path).view().sketch(["nosuch"])


def test_rows_that_left_the_window_do_not_count_and_their_site_stays(tmp_path):
    store = SketchStore(tmp_path / "s")
    old, new = ecm.EcmSketch(config()), ecm.EcmSketch(config())
    old.update("a", BEGIN)
    new.update("a", BEGIN + 10_000)
    store.append([SketchRow("old", old), SketchRow("new", new)])
    view = read(tmp_path / "s").view()
    assert view.sites == ("new", "old")
    assert view.sketch().total().value == 1
    assert view.sketch(["old"]).total().value == 0
    assert view.sketch(["old"]).now == BEGIN + 10_000


def test_many_readers_cost_one_merge_for_each_version(path, monkeypatch):
    merges, counting = [], threading.Lock()
    from ecmsketch.serve import store_view

    def merge(parts, plain=store_view.merge):
        with counting:
            merges.append(len(parts))
        time.sleep(0.02)
        return plain(parts)

    monkeypatch.setattr(store_view, "merge", merge)
    seen, wrong = set(), []
    with LiveStore(path, every=0.05) as live, ThreadPoolExecutor(50) as readers:
        done = threading.Event()

        def ask():
            while not done.is_set():
                view = live.view()
                until = view.now - BEGIN
                seen.add(view.version)
                if view.sketch().total().value != exact(written=until).total():
                    wrong.append(view.version)

        asking = [readers.submit(ask) for _ in range(50)]
        for batch in range(1, 5):
            time.sleep(0.2)
            write(path, batch=batch, until=100 + batch)
        deadline = time.monotonic() + 20
        while live.view().version < 5 and time.monotonic() < deadline:
            time.sleep(0.05)
        done.set()
        for each in asking:
            each.result(20)
    assert wrong == []
    assert max(seen) == 5
    assert merges == [len(SITES)] * len(merges)
    assert len(merges) <= 5


def test_shared_results_are_made_once_and_bounded():
    shared = SharedWork(max_bytes=100)
    for key in range(5):
        assert shared.get(key, lambda key=key: key, lambda _: 40) == key
    assert (shared.made, shared.nbytes, shared.known()) == (5, 80, [3, 4])
    assert shared.get(3, lambda: 1 / 0, lambda _: 40) == 3
    with pytest.raises(ZeroDivisionError):
        shared.get(9, lambda: 1 / 0, lambda _: 40)
    assert shared.get(9, lambda: "again", lambda _: 40) == "again"
    assert shared.get("large", lambda: "large", lambda _: 1000) == "large"
    assert shared.known() == ["large"]


def test_what_old_versions_needed_is_dropped(path):
    live = read(path)
    for batch in range(1, 6):
        live.view().sketch()
        live.view().sketch(["berlin", "paris"])
        write(path, batch=batch, until=100 + batch, sites=("berlin",))
        live.refresh()
        merged = [("merged", ("berlin", "paris")), ("merged", live.view().sites)]
        assert sorted(live.view()._results.known()) == sorted(merged)  # prepared before anybody asked
        assert len(live._sites.known()) <= len(SITES) + 1  # and the site that changed, as it was before
