"""A monitor on Spark that is killed and started again raises the alarms of one that is left alone, each once."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from killed_jobs import Job, run_and_kill

from ecmsketch.alerts import AlertStore

NAMES = ["a", "<script>alert(1)</script>", "../../etc", "caf\u00e9 \u2603", "'; drop table x; --"]
"""Sites whose names would harm whoever takes them for more than text."""


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Five sites with hostile names and two without one; from 800 to 1200 they send to one address."""
    rng = np.random.default_rng(9)
    usual, many = 5000, 2000
    sites = np.array(NAMES, object)[rng.integers(0, len(NAMES), usual + many)]
    addresses = np.concatenate([rng.integers(0, 300, usual).astype(str).astype(object), np.full(many, "victim")])
    ticks = np.concatenate([rng.integers(0, 2500, usual), rng.integers(800, 1200, many)])
    sites[:40], sites[40:70] = "", None
    order = np.argsort(ticks, kind="stable")
    folder = tmp_path_factory.mktemp("log")
    table = pa.table({"site": pa.array(sites[order]), "address": pa.array(addresses[order]), "tick": ticks[order]})
    pq.write_table(table, folder / "log.parquet")
    return folder, usual + many - 70


def watched(log, folder, victims, seed, any_item):
    """Alarms, and what the monitor says in the end. Its folder is given as a URL."""

    def start():
        return Job(
            "monitor_job.py", folder / "watching" / "checkpoint", log=str(log), alerts=str(folder / "alerts"),
            folder=(folder / "watching").as_uri(), step=250, any_item=any_item,
        )  # fmt: skip

    said = run_and_kill(start, victims, seed)
    rows = AlertStore(folder / "alerts").read("flood")
    kept = ("region", "tick", "value", "item", "lower", "upper", "sites")
    return [{name: row[name] for name in kept} for row in rows], said


def compare(log, tmp_path, victims, seed, any_item):
    folder, events = log
    alone = watched(folder, tmp_path / "alone", [], seed, any_item)
    killed = watched(folder, tmp_path / "killed", victims, seed, any_item)
    assert killed == alone
    alarms, said = alone
    assert [alarm["region"] for alarm in alarms] == ([1, 0] if any_item else [0, 1, 0])
    assert {alarm["item"] for alarm in alarms} == ({"victim"} if any_item else {None})
    assert (said["events"], said["sites"]) == (events, len(NAMES))
    assert said["reasons"] == {"empty site": 40, "null site": 30}


def test_the_same_alarms_after_kills(log, tmp_path):
    compare(log, tmp_path, ["worker", "driver"], seed=2, any_item=True)


@pytest.mark.slow
@pytest.mark.parametrize("any_item", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_same_alarms_after_many_kills(log, tmp_path, seed, any_item):
    victims = ["driver", "driver", "worker"]
    random.Random(seed).shuffle(victims)
    compare(log, tmp_path, victims, 50 + seed, any_item)
