"""A store that is missing, empty, damaged or another one: what the API and the page say, before and after a good one.

Locked stores have a file of their own (test_locked_stores.py).
"""

from __future__ import annotations

import shutil

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from served import SITES, client, exact, read, write

from ecmsketch.serve.page.choice import Range
from ecmsketch.serve.page.freshness import notice, status
from ecmsketch.serve.page.page_model import PageModel
from ecmsketch.store import SketchStore


def delete(path):
    shutil.rmtree(path)


def empty(path):
    shutil.rmtree(path)
    SketchStore(path, create=True)


def cut_log(path):
    newest = sorted((path / "_delta_log").glob("*.json"))[-1]
    newest.write_bytes(newest.read_bytes()[:40])


def cut_log_to_nothing(path):
    for commit in (path / "_delta_log").glob("*.json"):
        commit.write_bytes(b"")


def cut_sketches(path):
    for file in path.glob("*.parquet"):
        file.write_bytes(file.read_bytes()[:100])


def replace_by_other_table(path):
    shutil.rmtree(path)
    write_deltalake(path, pa.table({"a": [1]}))


def break_config(path):
    DeltaTable(path).alter.set_table_properties({"ecmsketch.config": "{}"}, raise_if_not_exists=False)


TROUBLES = {
    delete: "there is no store here yet; run `ecmsketch build` or `stream` to write one",
    empty: "this store holds no sketches yet; they appear here once they are written",
    cut_log: "it cannot be read",
    cut_log_to_nothing: "No table metadata or protocol found",
    cut_sketches: "cannot be read",
    replace_by_other_table: "got another Delta table",
    break_config: "is not a config that this version knows",
}
QUESTIONS = ("total", "sites", "top?k=3", "estimate?item=/1", "history?item=/1", "alerts", "rejected", "self_join")


@pytest.fixture
def path(tmp_path):
    write(tmp_path / "s")
    return tmp_path / "s"


@pytest.fixture(params=TROUBLES, ids=lambda trouble: trouble.__name__)
def trouble(request):
    return request.param


def says(trouble, path, words):
    assert str(path) in words or path.name in words
    assert TROUBLES[trouble] in words
    assert "Traceback" not in words
    assert "\n" not in words


def test_from_the_beginning(path, trouble):
    trouble(path)
    live = read(path)
    asking = client(live)
    for question in QUESTIONS:
        answer = asking.get(f"/api/v1/{question}")
        assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json"), question
        says(trouble, path, answer.json()["detail"])
    assert asking.get("/healthz").status_code == 200
    assert asking.get("/readyz").status_code == 503
    assert "ecmsketch_store_up 0.0" in asking.get("/metrics").text
    shown = notice(live.view(), live.problem)
    assert shown["title"] == "There is nothing to show yet"
    says(trouble, path, shown["words"])


def test_later(path, trouble):
    if trouble is cut_sketches:
        pytest.skip("files of a version that was read are not read again; test_live_store.py has those of a new one")
    live = read(path)
    trouble(path)
    live._follower._opened = -1e9  # it is opened afresh every two seconds
    live.refresh()
    asking = client(live)
    answer = asking.get("/api/v1/total").json()
    assert (answer["value"], answer["as_of"]["stale"]) == (exact().total(), True)
    says(trouble, path, answer["as_of"]["problem"])
    for question in QUESTIONS:
        assert asking.get(f"/api/v1/{question}").status_code == 200
    assert status(live.view(), live.problem)["word"] == "Stale"
    shown = notice(live.view(), live.problem)
    assert shown["title"] == "The store cannot be read at the moment"
    assert "the last that could be read" in shown["advice"]
    assert PageModel(live).screen(live.view(), Range(60)).busiest.rows
    shutil.rmtree(path, ignore_errors=True)
    write(path, sites=SITES[:1])
    live._follower._opened = -1e9
    live.refresh()
    assert (live.problem, live.view().sites) == (None, SITES[:1])
