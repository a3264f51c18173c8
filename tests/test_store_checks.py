"""What a store refuses to take: sketches of another config, and segments that it has."""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest
from deltalake import DeltaTable, write_deltalake

import ecmsketch as ecm
from ecmsketch.errors import StoreError
from ecmsketch.sketch.merging import unite
from ecmsketch.store import SketchRow, SketchStore, delta
from ecmsketch.store.fingerprints import fingerprint, split
from ecmsketch.store.store_config import PROPERTY, StoreConfig

SETTINGS = {"epsilon": 0.1, "delta": 0.1, "window": 1000}


def make(items=(1, 2, 1), ticks=(1, 5, 9), **changes):
    sketch = ecm.EcmSketch(ecm.SketchConfig(**{**SETTINGS, **changes}), site="x")
    sketch.update_many(list(items), list(ticks))
    return sketch


def make_prefix(bits):
    sketch = ecm.PrefixSketch(ecm.SketchConfig(**SETTINGS), bits=bits)
    sketch.update_many([1, 2, 1], [1, 5, 9])
    return sketch


@pytest.fixture
def store(tmp_path):
    return SketchStore(tmp_path / "sketches")


OTHERS = [
    (make(epsilon=0.2), "epsilon=0.2", "epsilon=0.1"),
    (make(unit="s"), "unit='s'", "unit=None"),
    (make(seed=7, window=500), "window=500, seed=7", "window=1000, seed=0"),
    (make(heavy_hitters=True), "heavy_hitters=True", "heavy_hitters=False"),
    (make_prefix(8), "kind='PrefixSketch'", "kind='EcmSketch'"),
]


class TestAnotherConfig:
    @pytest.mark.parametrize(("other", "got", "has"), OTHERS)
    @pytest.mark.parametrize("write", ["append", "once", "another site"])
    def test_it_is_refused_by_name(self, store, other, got, has, write):
        store.append([SketchRow("x", make())])
        before = DeltaTable(store.path).version()
        says = (
            rf"sketches have {re.escape(got)}, but those in the store .*/sketches have {re.escape(has)}.* of their own"
        )
        attempts = {
            "append": lambda: store.append([SketchRow("x", other.serialize())]),
            "once": lambda: store.append_once([SketchRow("x", other, part="snapshot")], "web", 0),
            "another site": lambda: store.append([SketchRow("y", other)]),
        }
        with pytest.raises(StoreError, match=says):
            attempts[write]()
        assert DeltaTable(store.path).version() == before
        assert store.append_once([SketchRow("x", make(), part="snapshot")], "web", 0)  # nothing was noted
        store.compact()
        with pytest.raises(StoreError, match=says):
            store.append([SketchRow("z", other)])

    def test_of_one_append(self, store):
        with pytest.raises(StoreError, match=r"rows\[1\]: .*expected epsilon=0\.1 as in rows\[0\], got epsilon=0\.2"):
            store.append([SketchRow("x", make()), SketchRow("y", make(epsilon=0.2))])

    def test_prefix_sketches_of_another_domain(self, store):
        store.append([SketchRow("x", make_prefix(16))])
        with pytest.raises(StoreError, match=r"have bits=8, but .* have bits=16"):
            store.append([SketchRow("y", make_prefix(8))])

    def test_how_a_sketch_is_read_does_not_matter(self, store):
        store.append([SketchRow("x", make())])
        store.append([SketchRow("y", make(estimator="half", late="side", lateness=5))])
        assert sorted(store.latest()) == ["x", "y"]

    def test_an_empty_store_takes_any(self, tmp_path):
        for number, other in enumerate((make(), make(epsilon=0.2))):
            store = SketchStore(tmp_path / str(number), create=True)
            assert store.append_once([], "web", 0)
            store.append([SketchRow("x", other)])
            assert store.latest()["x"] == other
            assert StoreConfig.parse(properties(store)[PROPERTY], "").config == other.config
            with pytest.raises(StoreError, match="epsilon"):
                store.append([SketchRow("x", make(epsilon=0.3))])

    def test_a_writer_that_died_before_its_rows_were_there_decides_nothing(self, store, monkeypatch):
        SketchStore(store.path, create=True)
        monkeypatch.setattr(delta, "write_deltalake", lambda *args, **options: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.append([SketchRow("x", make())])
        monkeypatch.undo()
        assert '"epsilon": 0.1' in properties(store)[PROPERTY]
        store.append([SketchRow("x", make(epsilon=0.2))])
        with pytest.raises(StoreError, match=r"have epsilon=0\.1, but .* have epsilon=0\.2"):
            store.append([SketchRow("x", make())])

    @pytest.mark.parametrize("create", [False, True])
    def test_of_two_first_writers_one_decides(self, store, create, monkeypatch):
        """The second has noted its config, then the first commits: a config without rows binds nobody."""
        if create:
            SketchStore(store.path, create=True)
        real = write_deltalake

        def overtaken(*args, **options):
            monkeypatch.setattr(delta, "write_deltalake", real)
            SketchStore(store.path).append([SketchRow("x", make())])
            real(*args, **options)

        monkeypatch.setattr(delta, "write_deltalake", overtaken)
        with pytest.raises(StoreError, match="epsilon"):
            store.append([SketchRow("x", make(epsilon=0.2))])
        assert store.latest()["x"] == make()

    @pytest.mark.parametrize("create", [False, True])
    def test_threads_that_begin_a_store_with_different_configs(self, tmp_path, create):
        together = threading.Barrier(6)
        refused = []

        def write(store, epsilon):
            together.wait()
            try:
                store.append([SketchRow(f"{epsilon}", make(epsilon=epsilon))])
            except StoreError as error:
                refused.append(str(error))

        for attempt in range(3):
            refused.clear()
            store = SketchStore(tmp_path / str(attempt), create=create)
            threads = [threading.Thread(target=write, args=(store, 0.1 + 0.1 * (i % 2))) for i in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(refused) >= 3
            assert len(store.latest()) == 1

    def test_a_config_that_is_not_known(self, store):
        store.append([SketchRow("x", make())])
        for wrong in ('{"kind": "EcmSketch", "epsilon": 0.1, "colour": 3}', '{"kind": "Other"}', "{}", "no JSON", "5"):
            DeltaTable(store.path).alter.set_table_properties({PROPERTY: wrong}, raise_if_not_exists=False)
            with pytest.raises(StoreError, match=r"ecmsketch\.config is not a config that this version knows"):
                store.append([SketchRow("y", make())])
        assert store.latest()["x"] == make()


def properties(store):
    return DeltaTable(store.path).metadata().configuration


class TestTheSameSegment:
    def test_it_is_refused_unless_asked_for(self, store):
        store.append([SketchRow("x", make(), 3), SketchRow("y", make(), 3)])
        before = DeltaTable(store.path).version()
        for again in (make(), make().serialize()):
            with pytest.raises(StoreError, match=r"site 'x': the segment from tick 1 to 9 .*again=True"):
                store.append([SketchRow("new", make()), SketchRow("x", again)])
        assert DeltaTable(store.path).version() == before
        store.append([SketchRow("x", make(), 3)], again=True)
        assert store.latest()["x"].total().value == 6

    def test_in_one_append(self, store):
        with pytest.raises(StoreError, match="site 'x': the segment from tick 1 to 9"):
            store.append([SketchRow("x", make()), SketchRow("x", make())])

    def test_once_it_is_joined_with_others_or_replaced(self, store):
        segments = [make(ticks=range(i, i + 3)) for i in range(0, 40, 10)]
        for segment in segments:
            store.append([SketchRow("x", segment)])
        assert store.compact().rows_after == 1
        assert len(split(store.history("x")[0].fingerprints)) == 4
        store.append([SketchRow("x", make(ticks=range(50, 53)))])
        assert store.compact().rows_after == 1
        for segment in segments:
            with pytest.raises(StoreError, match=f"from tick {segment.now - 2} to {segment.now} "):
                store.append([SketchRow("x", segment)])
        for _ in range(2):
            store.append([SketchRow("x", make(ticks=range(200, 203)), part="snapshot")])
            assert store.compact().rows_after == 1
            with pytest.raises(StoreError, match="from tick 0 to 2 "):
                store.append([SketchRow("x", segments[0])])
        assert store.latest()["x"].total().value == 3

    def test_what_is_not_the_same(self, store):
        store.append([SketchRow("x", make(), 3)])
        store.append([SketchRow("x", make(items=(1, 2, 3)), 3)])
        store.append([SketchRow("x", make(ticks=(1, 5, 8)), 3)])
        store.append([SketchRow("y", make(), 3)])
        for _ in range(2):
            store.append([SketchRow("x", ecm.EcmSketch(make().config))])
            store.append([SketchRow("z", make(), part="snapshot")])
        for batch in range(2):  # its number says that it is another one
            assert store.append_once([SketchRow("x", make(), 3)], "job", batch)
        assert not store.append_once([SketchRow("x", make(), 3)], "job", 1)
        assert store.latest()["x"].total().value == 15
        assert store.latest()["z"].total().value == 3

    def test_of_two_that_append_it_at_once_one_does(self, store, monkeypatch):
        store.append([SketchRow("y", make())])
        real = write_deltalake

        def overtaken(*args, **options):
            monkeypatch.setattr(delta, "write_deltalake", real)
            SketchStore(store.path).append([SketchRow("x", make())])
            real(*args, **options)

        monkeypatch.setattr(delta, "write_deltalake", overtaken)
        with pytest.raises(StoreError, match="counted twice"):
            store.append([SketchRow("x", make())])
        assert store.latest()["x"].total().value == 3

    def test_files_of_other_times_are_not_opened(self, store, tmp_path):
        for i in range(5):
            store.append([SketchRow("x", make(ticks=range(100 * i, 100 * i + 3)))])
        for path in (tmp_path / "sketches").glob("*.parquet"):
            path.unlink()
        store.append([SketchRow("x", make(ticks=range(900, 903)))])


class TestFingerprints:
    @pytest.mark.parametrize("counter", ["eh", "dw", "slices"])
    def test_the_same_events_built_in_other_parts_have_the_same(self, counter):
        rng = np.random.default_rng(5)
        items, ticks = rng.integers(0, 50, 3000), np.sort(rng.integers(0, 900, 3000))

        def build(*parts):
            return unite([make(items[part], ticks[part], counter=counter) for part in parts])

        whole = build(slice(None))
        cut = build(slice(0, 1000), slice(1000, 3000))
        mixed = build(slice(0, None, 2), slice(1, None, 2))
        other = build(slice(0, 2999))
        assert len({made.serialize() for made in (whole, cut, mixed)}) == 3
        assert len({mark(made) for made in (whole, cut, mixed)}) == 1
        assert mark(other) != mark(whole)

    def test_late_events_count_too(self):
        late = make(late="side")
        late.update(3, 4)
        assert mark(late) != mark(make(late="side"))
        assert mark(late) == mark(make(items=(1, 3, 2, 1), ticks=(1, 4, 5, 9)))

    @pytest.mark.parametrize("changes", [{"window": 5}, {"counter": "rw", "epsilon": 0.3}])
    def test_where_counts_are_not_exact_the_bytes_decide(self, changes):
        many = {"items": [1] * 5000, "ticks": sorted([*range(1000)] * 5), **changes}
        assert mark(make(**many)) == mark(make(**many))
        assert mark(make(**many)) != mark(make(**{**many, "items": [1] * 4999 + [2]}))


def mark(sketch):
    found = fingerprint(sketch, sketch.serialize())
    assert len(found) == 8
    return found
