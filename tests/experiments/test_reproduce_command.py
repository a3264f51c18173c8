"""The command, as a user runs it, without Spark."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from ecmsketch.cli.reproduce import reproduce
from ecmsketch.errors import InputError


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("log") / "visits.parquet"
    table = {
        "page": rng.zipf(1.5, 3000) % 40,
        "at": np.sort(rng.integers(0, 5000, 3000)),
        "host": rng.integers(0, 3, 3000),
    }
    pq.write_table(pa.table(table), path)
    return path


def run(log, out, *more):
    app = typer.Typer()
    app.command()(reproduce)
    arguments = [
        "--data",
        log,
        "--item",
        "page",
        "--tick",
        "at",
        "--site",
        "host",
        "--out",
        out,
        "--no-spark",
        "--json",
    ]
    done = CliRunner().invoke(app, [*map(str, (*more, *arguments))], catch_exceptions=False)
    assert done.exit_code == 0
    return json.loads(done.stdout)


def test_runs_what_is_asked_for_once_and_writes_a_report(log, tmp_path):
    (first,) = run(log, tmp_path / "out", "heaviest", "--events", 2000)
    assert (first["experiment"], first["data"], first["label"], first["state"]) == ("heaviest", "visits", "real", "run")
    (again,) = run(log, tmp_path / "out", "heaviest", "--events", 2000, "--docs", tmp_path)
    assert again["state"] == "there already"
    assert "visits" in (tmp_path / "out" / "report.md").read_text()
    assert (tmp_path / "out" / "report.html").exists()
    assert (tmp_path / "results.md").exists()


def test_says_which_experiments_there_are(log, tmp_path):
    with pytest.raises(InputError, match="got 'table9', expected one of all, table2, table3"):
        run(log, tmp_path, "table9")
