"""Jobs in processes of their own that tests kill: the driver with all of Spark, or one of its Python workers."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

SCRIPTS = Path(__file__).parent / "scripts"


class Job:
    """A script in a process group of its own, with a streaming query whose checkpoint is known."""

    def __init__(self, script, checkpoint, /, **given):
        self.offsets = Path(checkpoint) / "offsets"
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPTS / script), json.dumps(given)],
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


def run_and_kill(start, victims, seed):
    """Kill them in turn, each a trigger or two on, some way into one. Returns what the job says in the end."""
    chance = random.Random(seed)
    job, at = start(), 0
    try:
        for victim in victims:
            at = max(at, job.begun()) + chance.randint(1, 2)
            job.wait_for(at)
            time.sleep(chance.uniform(0, 1.5))
            if victim == "worker":
                assert job.kill_a_worker(chance)
            else:
                job.kill()
                job = start()
        return job.finish()
    finally:
        job.kill()
