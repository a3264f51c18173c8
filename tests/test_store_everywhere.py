"""One sketch for all sites: always what merging the sites gives, whatever was kept, by whom, and in whichever state."""

from __future__ import annotations

import shutil
from collections import Counter
from itertools import count
from pathlib import Path

import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.errors import EmptyStoreError, StoreError
from ecmsketch.store import SketchRow, SketchStore, everywhere, neighbour_groups
from ecmsketch.store.kept_groups import FOLDER, KeptGroups

CONFIG = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=100_000)


def sketch(*pairs):
    made = ecm.EcmSketch(CONFIG)
    made.update_many([item for item, _ in pairs], [tick for _, tick in pairs])
    return made


def snapshot(site, *pairs):
    return SketchRow(site, sketch(*pairs), part="snapshot")


@pytest.fixture
def store(tmp_path):
    return SketchStore(tmp_path / "sketches")


@pytest.fixture
def small(monkeypatch):
    """Groups of three sites, kept from three sites on."""
    monkeypatch.setattr(neighbour_groups, "SITES", 3)
    monkeypatch.setattr(neighbour_groups, "SMALL", 0)


@pytest.fixture
def ten(small, store):
    store.append([snapshot(f"site {i}", (i % 4, 10 * i)) for i in range(10)])
    return store


def counts(sketch):
    return {item: int(sketch.estimate(item).value) for item in range(4)}


def merged_sites(store, monkeypatch):
    """The sites that are read and merged when all are asked about."""
    merged = []
    real = everywhere.merge_group

    def merge(rows, group, config):
        merged.append(group.sites)
        return real(rows, group, config)

    with monkeypatch.context() as patch:
        patch.setattr(everywhere, "merge_group", merge)
        answer = store.everywhere()
    return sum(merged), answer


class TestWhatIsKept:
    def test_nothing_is_merged_twice(self, ten, monkeypatch):
        assert merged_sites(ten, monkeypatch)[0] == 10
        assert merged_sites(ten, monkeypatch)[0] == 0
        ten.append_once([snapshot("site 4", (0, 500), (0, 501))], "web", 0)
        found, answer = merged_sites(ten, monkeypatch)
        assert found == 3
        assert answer.total().value == 12
        assert answer.now == 501
        assert merged_sites(SketchStore(ten.path), monkeypatch)[0] == 0

    def test_an_answer_without_changes_reads_no_row_of_the_store(self, ten):
        before = ten.everywhere()
        for file in Path(ten.path).glob("*.parquet"):
            file.unlink()
        assert ten.everywhere() == before

    def test_it_stays_after_compacting_and_a_vacuum(self, ten, monkeypatch):
        for batch in range(3):
            ten.append_once([snapshot("site 4", (1, 100 + batch))], "web", batch)
        before = merged_sites(ten, monkeypatch)[1]
        assert ten.compact().rows_after == 11
        ten.vacuum(0, force=True)
        found, answer = merged_sites(ten, monkeypatch)
        assert (found, answer) == (0, before)
        assert merged_sites(ten, monkeypatch)[0] == 0

    def test_new_sites_change_the_groups_they_fall_into(self, ten, monkeypatch):
        ten.everywhere()
        ten.append([snapshot("site 45", (0, 1))])
        assert merged_sites(ten, monkeypatch)[0] == 4
        ten.append([snapshot(f"site 4{i}", (0, 1)) for i in range(4)])  # eight now: they are cut anew
        found, answer = merged_sites(ten, monkeypatch)
        assert found == 8
        assert answer.total().value == 15

    def test_few_sites_are_not_kept(self, store, tmp_path):
        store.append([snapshot(f"site {i}", (i % 4, i)) for i in range(20)])
        assert store.everywhere() == ecm.merge(store.latest().values())  # one step, as by hand
        assert not (tmp_path / "sketches" / FOLDER).exists()

    def test_a_reader_may_leave_the_store_alone(self, ten, tmp_path):
        assert ten.everywhere(keep=False).total().value == 10
        assert not (tmp_path / "sketches" / FOLDER).exists()

    def test_it_knows_how_many_levels_of_merging_are_behind_it(self, small, tmp_path):
        config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=100_000, counter="eh")
        store = SketchStore(tmp_path / "eh")
        for i in range(10):
            made = ecm.EcmSketch(config)
            made.update_many([1, 2], [i, 10 + i])
            store.append([SketchRow(f"site {i}", made)])
        found = store.everywhere()
        assert found.merge_levels == 2
        assert found.epsilon > ecm.merge(store.latest().values()).epsilon
        assert store.everywhere() == found

    def test_sites_of_a_forgotten_writer_are_gone(self, ten):
        ten.append_once([snapshot("site 4", (0, 500)), snapshot("new", (0, 1))], "web", 0)
        assert ten.everywhere().total().value == 12
        ten.forget("web")
        assert ten.everywhere().total().value == 10

    def test_another_store_at_the_same_path(self, ten, tmp_path):
        ten.everywhere()
        for path in Path(ten.path).iterdir():
            if path.name != FOLDER:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        ten.append([snapshot("site 1", (0, 1))])
        assert ten.everywhere().total().value == 1


class TestDamage:
    def spoil(self, store, how):
        folder = Path(store.path) / FOLDER
        (file,) = folder.glob("*.parquet")
        if how == "truncated":
            file.write_bytes(file.read_bytes()[:100])
        elif how == "missing file":
            file.unlink()
        elif how == "no log":
            (folder / "_delta_log" / "00000000000000000000.json").write_text("garbage")
        elif how == "missing":
            shutil.rmtree(folder)
        else:
            kept = KeptGroups(store.path, None).read()
            wrong = {
                "no sketch": b"ECMS" + bytes(90),
                "another": ecm.EcmSketch(ecm.SketchConfig(epsilon=0.2, delta=0.2, window=9)).serialize(),
            }[how]
            groups = [group._replace(sketch=wrong) for group in kept.groups]
            top = kept.everywhere._replace(sketch=b"ECMS", mark=b"")
            assert KeptGroups(store.path, None).write(kept._replace(everywhere=top, groups=groups))

    @pytest.mark.parametrize("changed", [False, True])
    @pytest.mark.parametrize("how", ["truncated", "missing file", "no log", "missing", "no sketch", "another"])
    def test_sites_are_merged_instead_and_it_says_so(self, ten, how, changed):
        before = ten.everywhere()
        self.spoil(ten, how)
        if changed:
            ten.append([snapshot("site 4", (1, 3))])
            before = SketchStore(ten.path).everywhere(keep=False)
        said = []
        assert ten.everywhere(say=said.append) == before
        assert before.total().value == sum(made.total().value for made in ten.latest().values())
        assert any("merged 10 of 10 sites" in line or "cannot be" in line for line in said)
        if how not in ("no log",):
            assert ten.everywhere() == before

    def test_where_nothing_can_be_kept_it_answers_all_the_same(self, ten, tmp_path):
        (tmp_path / "sketches" / FOLDER).write_text("a file")
        said = []
        assert ten.everywhere(say=said.append).total().value == 10
        assert any("cannot be kept" in line for line in said)

    def test_no_sketches_at_all(self, store):
        with pytest.raises(StoreError, match="no Delta table"):
            store.everywhere()
        with pytest.raises(EmptyStoreError, match="holds no sketches"):
            SketchStore(store.path, create=True).everywhere()


def test_the_version_rises_with_every_commit_and_only_then(store):
    store.append([snapshot("x", (0, 1))])
    first = store.version()
    store.everywhere()
    assert store.version() == first
    store.append_once([], "web", 0)
    assert store.version() == first
    store.append_once([snapshot("x", (0, 2))], "web", 0)
    assert store.version() > first


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["segment", "snapshot", "snapshot", "snapshot", "anew", "compact", "forget", "cluster", "vacuum"]
        ),
        st.sampled_from([None, "a", "b"]),
        st.lists(st.integers(0, 11), min_size=1, max_size=4, unique=True),
        st.integers(0, 3),
    ),
    min_size=3,
    max_size=9,
)


@given(STEPS)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_history_at_every_step(tmp_path_factory, steps):
    """Against merging what `latest` gives, and against plain counts of it; groups have three sites."""
    store = SketchStore(tmp_path_factory.mktemp("store") / "sketches")
    batches, ticks, generations = count(), count(0, 10), Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbour_groups, "SITES", 3)
        patch.setattr(neighbour_groups, "SMALL", 0)
        for kind, writer, sites, item in steps:
            if kind in ("segment", "snapshot"):
                rows = [SketchRow(f"site {i}", sketch((item, next(ticks))), part=kind) for i in sites]
                if writer is None:
                    store.append(rows, again=True)
                else:
                    store.append_once(rows, writer, next(batches), generation=str(generations[writer]))
            elif not DeltaTable.is_deltatable(store.path):
                continue
            elif kind == "anew":
                generations[writer] += 1
            elif kind == "forget" and writer is not None:
                store.forget(writer)
            elif kind == "cluster":
                patch.setattr("ecmsketch.store.clustering.MOST", 2)
                store._put_together()
            elif kind == "compact":
                store.compact()
            elif kind == "vacuum":
                store.vacuum(0, force=True)
            latest = store.latest()
            if not latest:
                with pytest.raises(EmptyStoreError):
                    store.everywhere()
                continue
            expected = ecm.merge(latest.values())
            for _ in range(2):  # merged, then as it was kept
                found = SketchStore(store.path).everywhere()
                assert counts(found) == counts(expected)
                assert found.now == expected.now
                assert found.total() == expected.total()
                assert found.total().value == sum(made.total().value for made in latest.values())
