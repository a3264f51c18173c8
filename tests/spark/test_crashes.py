"""A stream that is killed, again and again, and started again: nothing lost, nothing counted twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ecmsketch as ecm
from ecmsketch.store import SketchStore

JOB = Path(__file__).parent / "scripts" / "stream_job.py"
CONFIG = {"epsilon": 0.05, "delta": 0.05, "window": 20_000, "unit": "s", "late": "side", "heavy_hitters": True}
SITES = ("athens", "berlin", "cairo")


class Job:
    """The job in a process group of its own."""

    def __init__(self, log, folder, step):
        self.offsets = Path(folder) / "checkpoint" / "offsets"
        places = {"log": str(log), "store": f"{folder}/store", "checkpoint": f"{folder}/checkpoint"}
        self.process = subprocess.Popen(
            [sys.executable, str(JOB), json.dumps({**places, "config": CONFIG, "step": step})],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def begun(self):
        """How many triggers have begun, in all lives of the job."""
        return sum(path.name.isdigit() for path in self.offsets.glob("*")) if self.offsets.exists() else 0

    def wait_for(self, trigger):
        """Until so many triggers have begun."""
        until = time.monotonic() + 120
        while self.begun() < trigger:
            assert self.process.poll() is None, "the job ended before it could be killed"
            assert time.monotonic() < until, "the job does not go on"
            time.sleep(0.01)

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def kill_a_worker(self, chance):
        """One of the Python processes that do the work: a child of Spark's Python daemon. False if there is none."""
        group = subprocess.run(["ps", "-eo", "pid,ppid,pgid,args"], capture_output=True, text=True, check=True).stdout
        rows = [line.split(None, 3) for line in group.splitlines()[1:]]
        daemons = {row[0] for row in rows if "pyspark.daemon" in row[3] or "pyspark/daemon" in row[3]}
        workers = [row[0] for row in rows if row[1] in daemons and self._is_mine(row[0])]
        if workers:
            os.kill(int(chance.choice(workers)), signal.SIGKILL)
        return bool(workers)

    def _is_mine(self, pid):
        try:
            return os.getsid(int(pid)) == self.process.pid
        except ProcessLookupError:
            return False

    def finish(self):
        try:
            out, err = self.process.communicate(timeout=120)
        finally:
            if self.process.poll() is None:
                self.kill()
        assert self.process.returncode == 0, err[-3000:]
        return json.loads(out.splitlines()[-1])


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
    """Kill them in turn, each a trigger or two on, some way into one; in the end it is as if nothing had been."""
    chance = random.Random(seed)
    step = 20_000 // (2 + 2 * len(victims))
    job, at = Job(recorded, folder, step), 0
    try:
        for victim in victims:
            at = max(at, job.begun()) + chance.randint(1, 2)
            job.wait_for(at)
            time.sleep(chance.uniform(0, 1.5))
            if victim == "worker":
                assert job.kill_a_worker(chance)
            else:
                job.kill()
                job = Job(recorded, folder, step)
        job.finish()
    finally:
        job.kill()
    found = SketchStore(folder / "store").latest()
    assert sorted(found) == list(SITES)
    for site, expected in undisturbed.items():
        now = max(found[site].now, expected.now)  # an idle site is moved on by the others
        for sketch in (found[site], expected):
            sketch.advance(now)
        assert found[site].serialize() == expected.serialize()


def test_killed_and_started_again(recorded, undisturbed, tmp_path):
    crash(recorded, tmp_path, undisturbed, ["worker", "driver", "worker"], seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(7))
def test_killed_at_very_many_points(recorded, undisturbed, tmp_path, seed):
    """28 points in all: three times the driver, once a worker, in any order."""
    victims = ["driver", "driver", "driver", "worker"]
    random.Random(seed).shuffle(victims)
    crash(recorded, tmp_path, undisturbed, victims, seed=100 + seed)
