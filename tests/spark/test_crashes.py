"""A stream that is killed, again and again, and started again: nothing lost, nothing counted twice."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from killed_jobs import Job, run_and_kill

import ecmsketch as ecm
from ecmsketch.store import SketchStore

CONFIG = {"epsilon": 0.05, "delta": 0.05, "window": 20_000, "unit": "s", "late": "side", "heavy_hitters": True}
SITES = ("athens", "berlin", "cairo")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, stream):
    folder = tmp_path_factory.mktemp("recorded")
    table = pa.table({name: stream[name] for name in ("site", "page", "tick")})
    for i in range(3):
        pq.write_table(table.slice(i * 20_000, 20_000), folder / f"{i}.parquet")
    return folder


@pytest.fixture(scope="module")
def undisturbed(stream):
    """The sketches of one process."""
    sketches = {}
    for site in SITES:
        mine = stream["site"] == site
        sketches[site] = ecm.EcmSketch(ecm.SketchConfig(**CONFIG))
        sketches[site].update_many(stream["page"][mine], stream["tick"][mine])
    return sketches


def crash(recorded, folder, undisturbed, victims, seed):
    """Kill them in turn; in the end it is as if nothing had been."""
    step = 20_000 // (2 + 2 * len(victims))
    places = {"log": str(recorded), "store": f"{folder}/store", "checkpoint": f"{folder}/checkpoint"}
    run_and_kill(lambda: Job("stream_job.py", folder / "checkpoint", **places, config=CONFIG, step=step), victims, seed)
    found = SketchStore(folder / "store").latest()
    assert sorted(found) == list(SITES)
    for site, expected in undisturbed.items():
        now = max(found[site].now, expected.now)  # an idle site is moved on by the others
        for sketch in (found[site], expected):
            sketch.advance(now)
        assert found[site].serialize() == expected.serialize()


def test_killed_and_started_again(recorded, undisturbed, tmp_path):
    crash(recorded, tmp_path, undisturbed, ["worker", "driver"], seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(7))
def test_killed_at_very_many_points(recorded, undisturbed, tmp_path, seed):
    """28 points in all: three times the driver, once a worker, in any order."""
    victims = ["driver", "driver", "driver", "worker"]
    random.Random(seed).shuffle(victims)
    crash(recorded, tmp_path, undisturbed, victims, seed=100 + seed)
