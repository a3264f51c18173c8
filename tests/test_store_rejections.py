"""What was not counted is noted beside the store: once, by reason, and found without reading a sketch."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.errors import StoreError
from ecmsketch.store import Rejected, SketchRow, SketchStore
from ecmsketch.store.rejections import _MOST, FOLDER

CONFIG = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000)
NULLS = Rejected({"null item": 2, "null tick": 1}, late_counted=5, late_dropped=4)


@pytest.fixture
def store(tmp_path):
    return SketchStore(tmp_path / "store")


def row(site="x", tick=1, part="snapshot"):
    sketch = ecm.EcmSketch(CONFIG)
    sketch.update("a", tick)
    return SketchRow(site, sketch, part=part)


def test_a_store_of_before_has_nothing_noted(store):
    store.append([row()])
    store.append_once([row()], "w", 0)
    assert store.rejected() == Rejected()
    assert not (Path(store.path) / FOLDER).exists()


def test_builds_and_writers_are_added_up(store):
    store.append([row(part="segment")], rejected=NULLS)
    store.append([], rejected=Rejected({"null item": 10}))
    store.append_once([row()], "w", 0, rejected=NULLS)
    found = store.rejected()
    assert found == Rejected({"null item": 14, "null tick": 2}, 10, 8)
    assert found.rows == 16


def test_a_refused_build_notes_nothing(store):
    store.append([row(part="segment")])
    with pytest.raises(StoreError, match="appended to"):
        store.append([row(part="segment")], rejected=NULLS)
    assert store.rejected() == Rejected()


def test_a_batch_is_noted_once_also_if_its_writer_died_after_its_rows(store):
    store.append_once([row()], "w", 0)  # it died before it noted what was rejected
    assert not store.append_once([row()], "w", 0, rejected=NULLS)
    assert not store.append_once([row()], "w", 0, rejected=NULLS)
    assert store.rejected() == NULLS


def test_a_batch_without_sketches_is_noted(store):
    store.append_once([], "w", 0, rejected=NULLS)
    store.append_once([], "w", 0, rejected=NULLS)
    assert store.rejected() == NULLS


def test_a_new_generation_counts_from_zero(store):
    store.append_once([row()], "w", 0, generation="old", rejected=NULLS)
    store.append_once([row()], "other", 0, rejected=Rejected({"null site": 1}))
    store.append_once([row()], "w", 0, generation="new")
    assert store.rejected() == Rejected({"null site": 1})
    with pytest.raises(StoreError, match="may not write"):
        store.append_once([row()], "w", 1, generation="old", rejected=NULLS)
    assert store.rejected() == Rejected({"null site": 1})


def test_a_forgotten_writer_is_forgotten_here_too(store):
    store.append_once([row()], "w'", 0, rejected=NULLS)
    store.append_once([row()], "v", 0, rejected=Rejected(late_dropped=1))
    store.forget("w'")
    assert store.rejected() == Rejected(late_dropped=1)


@settings(max_examples=5, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("vw"), st.sampled_from("ab"), st.integers(1, 9)), min_size=_MOST + 1))
def test_many_commits_are_added_up_and_stay_few_files(tmp_path_factory, commits):
    path = tmp_path_factory.mktemp("store")
    store, expected = SketchStore(path), Counter()
    for batch, (writer, reason, rows) in enumerate(commits):
        store.append_once([], writer, batch, rejected=Rejected({reason: rows}))
        expected[reason] += rows
    store.vacuum(0, force=True)
    assert store.rejected().reasons == dict(expected)
    folder = path / FOLDER
    assert SketchStore(path)._rejections._folder.open().get_add_actions().num_rows < _MOST
    shutil.rmtree(folder)
    assert store.rejected() == Rejected()
