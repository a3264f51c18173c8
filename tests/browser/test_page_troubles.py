"""The page of a store that is locked, empty, of another config or another table: it says so, and goes on by itself."""

from __future__ import annotations

import ctypes
import shutil

import pyarrow as pa
from deltalake import write_deltalake
from known_stores import CONFIG, NOW, known_sketches, write
from page_reading import rows, wait_for_first

import ecmsketch as ecm
from ecmsketch.store import SketchStore

_DROP_FROM_BOUNDING_SET, _MAY_READ_ALL = 24, (1, 2)


def without_rights():
    """Root may read everything. A process that has lost these capabilities may not, though it is root's."""
    for capability in _MAY_READ_ALL:
        ctypes.CDLL(None).prctl(_DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)


def says(page, *texts):
    for text in texts:
        page.wait_for_selector(f".ecm-notice:has-text('{text}')", timeout=40_000)


def test_a_locked_store(open_page, serve, tmp_path):
    store = tmp_path / "store"
    write(store, known_sketches())
    store.chmod(0)
    try:
        page = open_page(serve(store, tmp_path / "alerts", preexec_fn=without_rights).address)
        says(page, "There is nothing to show yet", "Permission denied", store.name)
        store.chmod(0o755)
        wait_for_first(page, "/index")
        page.wait_for_selector(".ecm-notice", state="hidden")
        store.chmod(0)
        says(page, "The store cannot be read at the moment", "Permission denied", "the last that could be read")
        assert rows(page)[0][0] == "/index", "the last good answers stay"
        assert "Stale" in page.locator(".ecm-status").inner_text()
    finally:
        store.chmod(0o755)


def test_an_empty_store_another_table_and_another_config(open_page, serve, tmp_path):
    store = tmp_path / "store"
    SketchStore(store, create=True)
    page = open_page(serve(store, tmp_path / "alerts").address)
    says(page, "There is nothing to show yet", "this store holds no sketches yet")
    write(store, known_sketches())
    wait_for_first(page, "/index")

    shutil.rmtree(store)
    write_deltalake(store, pa.table({"a": [1]}))
    says(page, "The store cannot be read at the moment", "got another Delta table")

    shutil.rmtree(store)
    other = ecm.EcmSketch(CONFIG.replace(epsilon=0.1, window=3600))
    other.update_many(["/other"] * 7, [NOW] * 7)
    write(store, {"rome": other})
    wait_for_first(page, "/other")
    page.wait_for_selector(".ecm-notice", state="hidden")
    assert rows(page) == [("/other", 7)]
    assert "1 site" in page.locator(".ecm-status").inner_text()
