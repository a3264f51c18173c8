"""What is wrong with files and options is said before Spark starts; a build that counts nothing is an error."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from datetime import datetime
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_commands import run_here

from ecmsketch import EcmSketch, SketchConfig
from ecmsketch.store import SketchStore

COLUMNS = {
    "page": ["/a", "/b"],
    "n": [1, 2],
    "when": [datetime(2026, 6, 1), None],
    "real": [0.5, 1.5],
    "site": ["x", "y"],
}


@pytest.fixture
def log(tmp_path):
    pq.write_table(pa.table(COLUMNS), tmp_path / "log.parquet")
    (tmp_path / "log.csv").write_text("page,n\n/a,1\n/b,2\n")
    (tmp_path / "file").write_text("")
    return tmp_path


def words(command, log, **options):
    """A command that would be right, with some options changed; None leaves one out."""
    given = {
        "build": {"store": log / "s", "item": "page", "tick": "n"},
        "stream": {"store": log / "s", "checkpoint": log / "c", "item": "page", "tick": "when", "site": "site"},
        "monitor": {
            "folder": log / "f", "function": "total", "above": 5, "last": "1m", "item": "page", "tick": "when",
            "site": "site",
        },
    }[command]  # fmt: skip
    path = options.pop("path", log / "log.parquet")
    flags = [f"--{flag}" for flag in options.pop("flags", ())]
    pairs = [(f"--{name}", str(value)) for name, value in {**given, **options}.items() if value is not None]
    return [command, *([] if path is None else [str(path)]), *(word for pair in pairs for word in pair), *flags]


class SparkStartedError(Exception):
    """A command got as far as starting Spark."""


def run_without_spark(arguments):
    with mock.patch("ecmsketch.cli.session.spark_session", side_effect=SparkStartedError):
        return run_here(arguments)


@pytest.mark.parametrize("command", ["build", "stream", "monitor"])
def test_what_is_right_gets_as_far_as_spark(log, command):
    with (
        mock.patch("ecmsketch.cli.session.spark_session", side_effect=SparkStartedError),
        pytest.raises(SparkStartedError),
    ):
        run_here(words(command, log))


@pytest.mark.parametrize(
    ("command", "options", "code", "says"),
    [
        *(
            (command, options, code, says)
            for command in ("build", "stream", "monitor")
            for options, code, says in (
                ({"path": "nosuch"}, 1, "nosuch: there is no such file or folder"),
                ({"item": "nosuch"}, 1, "there is no column 'nosuch'; the columns are n, page, real"),
                ({"tick": "nosuch"}, 1, "tick: there is no column 'nosuch'"),
                ({"site": "nosuch"}, 1, "site: there is no column 'nosuch'"),
                ({"weight": "nosuch"}, 1, "weight: there is no column 'nosuch'"),
                ({"tick": "page"}, 1, "tick: expected a column of integers, timestamps or dates, got 'page' of string"),
                ({"tick": "real"}, 1, "tick: expected a column of integers, timestamps or dates, got 'real' of double"),
                ({"item": "real"}, 1, "item: expected a column of"),
                ({"weight": "page"}, 1, "weight: expected a column of integers, got 'page'"),
                ({"unit": "parsec"}, 2, "--unit"),
                ({"epsilon": "nan"}, 1, "epsilon: expected"),
            )
        ),
        ("build", {"store": "FILE"}, 1, "--store: expected a folder, got the file"),
        ("build", {"bits": 99}, 1, "bits: expected an integer from 1 to 64"),
        ("build", {"bits": 8}, 1, "item: expected a column of integers"),
        ("build", {"radix": 3, "bits": 8}, 1, "radix: expected"),
        ("build", {"until": 2**63}, 1, "tick: expected a value"),
        ("build", {"format": "xml"}, 1, "format: expected one of parquet, csv, json, orc, arrow, delta, worldcup98"),
        ("build", {"path": "CSV", "tick": "page"}, 1, "with texts such as '/a'"),
        ("stream", {"path": "CSV"}, 1, "format: expected parquet or worldcup98, got csv"),
        ("stream", {"unit": "none", "lateness": "600", "window": "1000"}, 2, "--unit"),
        ("stream", {"speed": "nan"}, 2, "--speed"),
        ("stream", {"every": "inf"}, 2, "--every"),
        ("stream", {"flags": ["watch"], "tick": "page"}, 1, "tick: expected a column"),
        ("stream", {"path": None, "item": "nosuch", "tick": None, "site": None, "rate": 5}, 1, "no column 'nosuch'"),
        ("stream", {"path": None, "item": None, "tick": None, "site": None, "rate": 5, "unit": "ms"}, 2, "--unit"),
        ("monitor", {"stream": "nosuch", "function": "inner:a,b"}, 1, "there is no column 'nosuch'"),
        ("monitor", {"above": "nan"}, 1, "tau"),
        ("monitor", {"last": "soon"}, 2, "--last: expected a length such as"),
        ("monitor", {"within": 5}, 2, "exactly one of --above, --between and --within"),
        ("monitor", {"site": None}, 2, "give the column of the site"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_spark_starts(log, command, options, code, says):
    places = {"FILE": log / "file", "CSV": log / "log.csv"}
    options = {name: places.get(value, value) if isinstance(value, str) else value for name, value in options.items()}
    done = run_without_spark(words(command, log, **options))
    assert done.returncode == code, done.stderr
    assert says in " ".join(done.stderr.replace("│", " ").split())
    assert not (log / "s").exists()


@contextmanager
def built(rows):
    """Spark that builds these rows."""
    frame = mock.Mock()
    frame.collect.return_value = rows
    with (
        mock.patch("ecmsketch.cli.session.spark_session", return_value=nullcontext(mock.Mock())),
        mock.patch("ecmsketch.cli.session.spark_progress", return_value=nullcontext()),
        mock.patch("ecmsketch.spark.build_sketches_from_files", return_value=frame),
    ):
        yield


def row(events, reasons):
    sketch = EcmSketch(SketchConfig(epsilon=0.1, delta=0.1, window=100))
    sketch.update_many(range(events), range(events))
    return {"site": "x", "sketch": sketch.serialize(), "events": events, "reasons": reasons}


def test_a_build_that_rejects_every_row_is_an_error_and_stores_nothing(log):
    with built([row(0, {"null tick": 1000, "null item": 2})]):
        done = run_here(words("build", log))
    assert done.returncode == 1
    assert "all rows were rejected, 2 with null item, 1,000 with null tick; nothing was stored" in done.stderr
    assert not (log / "s").exists()


def test_a_build_that_rejects_some_rows_says_so(log):
    with built([row(5, {"null tick": 1000})]):
        done = run_here(words("build", log))
    assert done.returncode == 0
    assert "rejected: 1,000 rows, null tick" in done.stderr
    assert SketchStore(log / "s").sites() == ["x"]


def test_a_build_of_no_rows_says_so(log):
    with built([]):
        done = run_here(words("build", log))
    assert done.returncode == 0
    assert "there are no rows in the files: nothing was stored" in done.stderr
