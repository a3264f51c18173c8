"""Every error of the API is a problem that says what to do, and none is a 500."""

from __future__ import annotations

import threading
import time

import pytest
from served import BEGIN, client, config, read

import ecmsketch as ecm
from ecmsketch.serve.work_pool import WorkPool
from ecmsketch.store import SketchRow, SketchStore


def problem(response, status):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert (body["status"], body["type"]) == (status, "about:blank")
    return body["detail"]


@pytest.mark.parametrize(
    ("question", "status", "says"),
    [
        ("nosuch", 404, "/api/v1/openapi.json lists what there is"),
        ("total?site=nosuch", 404, "there is no site 'nosuch' in the store; /api/v1/sites lists them"),
        ("total?last=2h", 422, "last: expected 0 to 3600 (the window), got 7200"),
        ("total?last=soon", 422, "last: expected a length such as 300, 5m, 1h or 7d, got 'soon'"),
        ("total?last=1ms", 422, "last: '1ms' is not a whole number of ticks of s"),
        ("total?last=-5", 422, "last: expected a length"),
        ("total?last=" + "9" * 30, 422, "last: expected 0 to 3600"),
        ("total?last=" + "9" * 90, 422, "last: string should have at most 40 characters"),
        ("total?last=5&between=1,2", 422, "give last= or between=, not both"),
        ("total?between=1", 422, "between: expected two ticks"),
        ("total?between=a,b", 422, "a number or a time such as 2026-06-01T12:00:00Z"),
        ("total?between=1,2", 422, "lies before the window"),
        (f"total?between={BEGIN + 9},{BEGIN}", 422, "from <= to"),
        ("total?between=9999999999999999999,9999999999999999999", 422, "between: expected two ticks"),
        ("estimate", 422, "item: this parameter is needed; add ?item="),
        ("estimate?" + "&".join(["item=a"] * 101), 422, "item: list should have at most 100 items"),
        ("estimate?item=" + "x" * 16_385, 422, "string should have at most 16384 characters"),
        ("estimate?item=a&confidence=2", 422, "confidence: input should be less than or equal to 1"),
        ("estimate?item=a&confidence=nan", 422, "confidence:"),
        ("top?k=0", 422, "k: input should be greater than or equal to 1, got '0'"),
        ("top?k=1001", 422, "k: input should be less than or equal to 1000"),
        ("top?k=many", 422, "k: input should be a valid integer"),
        ("heavy_hitters", 422, "phi: this parameter is needed"),
        ("heavy_hitters?phi=0", 422, "phi: input should be greater than 0"),
        ("heavy_hitters?phi=nan", 422, "phi:"),
        ("heavy_changes", 422, "last: this parameter is needed"),
        ("heavy_changes?last=1h&before=1h", 422, "fit into the window"),
        ("heavy_changes?last=1h&before=x", 422, "before: expected a length"),
        ("heavy_changes?last=5&by=size", 422, "by: input should be 'change', 'rise' or 'fall'"),
        ("history?item=/1&step=1", 422, "step: expected at most 1000 steps, got 3600"),
        ("history?item=/1&step=0", 422, "history: expected a step from 1 to 3600"),
        ("history?item=/1&steps=2000", 422, "steps: input should be less than or equal to 1000"),
        ("history?item=/1&last=0", 422, "at least one tick"),
        ("quantile?q=0.5", 422, "build a store with --bits"),
        ("quantile?q=2", 422, "q.0: input should be less than or equal to 1"),
        ("alerts?limit=0", 422, "limit: input should be greater than or equal to 1"),
    ],
)
def test_wrong_questions(api, question, status, says):
    assert says in problem(api.get(f"/api/v1/{question}"), status)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_only_get_is_allowed(api, method):
    assert f"{method} is not allowed here; use GET" in problem(api.request(method, "/api/v1/total"), 405)


@pytest.mark.parametrize(
    ("items", "asked", "says"),
    [
        ([1, 2], "x", "item: expected integer, as the sketch counts, got 'x'"),
        ([("a", 1)], "a", "write a row as a JSON list such as"),
    ],
)
def test_an_item_of_the_wrong_kind(tmp_path, items, asked, says):
    sketch = ecm.EcmSketch(config())
    for item in items:
        sketch.update(item, BEGIN)
    SketchStore(tmp_path / "s").append([SketchRow("x", sketch)])
    api = client(read(tmp_path / "s"))
    for question in ("estimate", "history"):
        assert says in problem(api.get(f"/api/v1/{question}", params={"item": asked}), 422)


def test_names_that_were_not_kept(tmp_path):
    sketch = ecm.EcmSketch(config(heavy_hitters=False))
    sketch.update("a", BEGIN)
    SketchStore(tmp_path / "s").append([SketchRow("x", sketch)])
    api = client(read(tmp_path / "s"))
    assert "build it with heavy_hitters=True" in problem(api.get("/api/v1/top"), 422)


@pytest.mark.parametrize("question", ["sites", "total", "top", "estimate?item=a", "alerts"])
def test_a_store_that_is_not_there(tmp_path, question):
    api = client(read(tmp_path / "nosuch"))
    response = api.get(f"/api/v1/{question}")
    assert "there is no store here yet; run `ecmsketch build` or `stream`" in problem(response, 503)
    assert response.headers["retry-after"] == "1"


def wait_until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_too_many_questions_at_once_are_refused_and_slow_ones_end(known_store):
    live, release, answers = read(known_store), threading.Event(), []
    pool = WorkPool(threads=1, waiting=1, seconds=0.5)
    view = live.view()
    shared = view.shared
    object.__setattr__(view, "shared", lambda *given: release.wait(5) and shared(*given))
    with client(live, pool=pool) as api:
        held = threading.Thread(target=lambda: answers.append(api.get("/api/v1/total")))
        held.start()
        wait_until(lambda: pool._running)
        assert "too many questions" in problem(api.get("/api/v1/top"), 503)
        held.join(10)
        assert "took longer than 0.5 s" in problem(answers[0], 503)
        release.set()
        wait_until(lambda: not pool._running)
        assert api.get("/api/v1/total").status_code == 200
