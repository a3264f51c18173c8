"""Following a store that is not there yet, is empty, or cannot be read for a while."""

from __future__ import annotations

import json

import pytest

import ecmsketch as ecm
from ecmsketch.cli import following
from ecmsketch.cli.sketches import load_sketch
from ecmsketch.errors import QueryError, StoreError
from ecmsketch.store import SketchRow, SketchStore


class StopHereError(Exception):
    """The end of a test's patience."""


@pytest.fixture
def steps(monkeypatch):
    """What happens between one question and the next, and how a test ends."""
    waiting = []

    def sleep(seconds):
        if not waiting:
            raise StopHereError
        waiting.pop(0)()

    monkeypatch.setattr(following, "sleep", sleep)  # not time.sleep: threads of other libraries wait by it
    return waiting


def put(path, *items):
    sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.1, delta=0.1, window=100))
    sketch.update_many(list(items), range(len(items)))
    SketchStore(path).append([SketchRow("one", sketch, len(items), "snapshot")])


def test_it_waits_for_a_store_and_for_sketches_in_it(tmp_path, steps, capsys):
    def ask():
        return [{"value": load_sketch(str(tmp_path / "live"), None).estimate("a").value}], "a note"

    steps += [
        lambda: (tmp_path / "live").mkdir(),
        lambda: SketchStore(tmp_path / "live", create=True),
        lambda: None,
        lambda: put(tmp_path / "live", "a"),
        lambda: put(tmp_path / "live", "a", "a"),
    ]
    with pytest.raises(StopHereError):
        following.follow(ask, True, 1)
    said = capsys.readouterr()
    assert [json.loads(line) for line in said.out.splitlines()] == [[{"value": 1.0}], [{"value": 2.0}]]
    lines = said.err.splitlines()
    assert "there is no such store" in lines[0]
    assert "no Delta table" in lines[1]
    assert "this store holds no sketches" in lines[2]
    assert all(line.startswith("waiting: ") for line in lines)
    assert len(lines) == 3  # each wait is said once


def test_it_survives_a_store_that_cannot_be_read_for_a_while(steps, capsys):
    answers = [([{"n": 1}], ""), StoreError("live: a file is gone\x1b"), StoreError("other"), ([{"n": 2}], "")]

    def ask():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    steps += [lambda: None] * 3
    with pytest.raises(StopHereError):
        following.follow(ask, True, 1)
    said = capsys.readouterr()
    assert said.out.splitlines() == ['[{"n": 1}]', '[{"n": 2}]']
    assert said.err.splitlines() == [r"waiting: live: a file is gone\x1b", "waiting: other"]


def test_a_wrong_question_ends_it(steps):
    def ask():
        raise QueryError("last: expected 0 to 100")

    with pytest.raises(QueryError):
        following.follow(ask, True, 1)


def test_the_answer_before_stays_in_view(steps, capsys, monkeypatch):
    shown = []
    monkeypatch.setattr(following.sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(following, "changing_table", lambda as_json: _recorded(shown))
    answers = iter([([{"n": 1}], "a note"), StoreError("gone")])

    def ask():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    steps += [lambda: None]
    with pytest.raises(StopHereError):
        following.follow(ask, False, 1)
    assert shown == [([{"n": 1}], "a note"), ([{"n": 1}], "waiting: gone")]


class _recorded:  # noqa: N801 - a context manager
    def __init__(self, shown):
        self.shown = shown

    def __enter__(self):
        return lambda rows, note: self.shown.append((rows, note))

    def __exit__(self, *error):
        return None
