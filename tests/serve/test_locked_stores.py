"""A store that may not be read: a clear message in the API, answers from the last good version, and no crash."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from served import client, read, write

NOBODY = 65_534


@contextmanager
def without_rights():
    """Root may read everything, so be somebody else for a moment."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def path():
    folder = Path(tempfile.mkdtemp())  # pytest's own folders are closed to others
    folder.chmod(0o755)
    write(folder / "store")
    yield folder / "store"
    for closed in (folder / "store", folder / "store" / "_delta_log"):
        closed.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("closed", [".", "_delta_log"])
def test_a_store_that_is_locked_from_the_beginning(path, closed):
    (path / closed).chmod(0)
    with without_rights():
        live = read(path)
        answer = client(live).get("/api/v1/total")
    assert live.view() is None
    assert answer.status_code == 503
    assert str(path) in answer.json()["detail"]
    assert "ermission denied" in answer.json()["detail"]
    (path / closed).chmod(0o755)
    live.refresh()
    assert live.problem is None


@pytest.mark.parametrize("closed", [".", "_delta_log"])
def test_a_store_that_is_locked_later_answers_from_its_last_version(path, closed):
    live = read(path)
    live._follower._opened = -1e9  # it is opened afresh every two seconds
    (path / closed).chmod(0)
    with without_rights():
        live.refresh()
    answer = client(live).get("/api/v1/total").json()
    assert answer["as_of"]["stale"]
    assert "ermission denied" in answer["as_of"]["problem"]
    assert answer["value"] > 0


def test_a_new_version_whose_file_is_locked(path):
    live = read(path)
    before = {file.name for file in path.glob("*.parquet")}
    write(path, batch=1, until=700)
    for file in path.glob("*.parquet"):
        if file.name not in before:
            file.chmod(0)
    with without_rights():
        live.refresh()
    assert live.view().version == 1
    assert "ermission denied" in live.problem
    assert client(live).get("/readyz").status_code == 503
