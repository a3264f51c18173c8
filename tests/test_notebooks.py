"""The notebooks of examples/ are committed clean, run from top to bottom, and show what their text says."""

from __future__ import annotations

import re

import numpy as np
import pytest

from notebook_runner import EXAMPLES, read_cells, run_notebook

NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def test_there_are_three_notebooks():
    names = [path.name for path in NOTEBOOKS]
    assert names == ["live_with_alarms.ipynb", "logs_on_spark.ipynb", "ten_minutes.ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_are_committed_without_outputs(path):
    cells = read_cells(path)
    assert cells[0]["cell_type"] == "markdown"
    assert cells[0]["source"][0].startswith("# ")
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert all(cell["metadata"] == {} for cell in cells)
    assert not re.search(r"/(home|work|tmp|Users)/", path.read_text())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_name_files_that_exist(path):
    named = re.findall(r"`((?:docs|examples)/[\w.]+)`", "".join(read_cells(path)[-1]["source"]))
    assert named
    assert [name for name in named if not (EXAMPLES.parent / name).exists()] == []


def test_the_sketch_in_ten_minutes(capsys):
    found = run_notebook("ten_minutes.ipynb")
    exact, day, hour = found["exact"], found["DAY"], found["HOUR"]
    assert found["total"].covers(found["total_exact"])
    assert found["evening"].covers(exact(3, 22 * hour, 23 * hour))
    assert found["certain"].confidence == 1
    assert found["merged"].covers(exact(3, day - 6 * hour))
    assert found["skew"].covers(found["skew_exact"])
    assert found["flooded"].item == 4321
    assert found["flooded"].change.lower > 10_000
    estimates = found["series"].estimates
    assert (estimates.lower <= found["hourly"]).all()
    assert (found["hourly"] <= estimates.upper).all()
    lower, _, upper = np.array(found["quantiles"]).T
    assert (lower <= found["quantiles_exact"]).all()
    assert (found["quantiles_exact"] <= upper).all()
    assert sum(map(len, found["blobs"])) < 16 * len(found["ticks"]) / 10
    assert found["pictures"] == 2
    assert "page 4321 changed by" in capsys.readouterr().out


def test_live_with_alarms(capsys):
    found = run_notebook("live_with_alarms.ipynb")
    alarm, calm, limit = found["alarm"], found["calm"], found["LIMIT"]
    assert alarm.item == calm.item == found["PAGE"]
    assert (alarm.region, calm.region) == (1, 0)
    truth = dict(zip(found["moments"].tolist(), found["truth"].tolist(), strict=True))
    for alert in (alarm, calm):
        assert alert.lower <= truth[alert.tick] <= alert.upper
    first = next(tick for tick, count in truth.items() if count >= limit)
    assert alarm.tick == first
    assert found["bytes_sent"] < 16 * len(found["ticks"]) / 100
    assert found["run"].missed == 0
    assert (found["above"] == found["known"]).all()
    assert found["above"].max() == 1
    assert found["pictures"] == 1
    assert f"ALARM: page {found['PAGE']}" in capsys.readouterr().out
