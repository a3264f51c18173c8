"""`ecmsketch stream --kafka` in a process group of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Machines that live for a minute gain nothing from compiling well."""
ENVIRONMENT = {
    **os.environ, "COLUMNS": "160", "ECMSKETCH_QUIET": "1", "NO_COLOR": "1", "SPARK_LOCAL_IP": "127.0.0.1",
    "JDK_JAVA_OPTIONS": QUICK_START,
}  # fmt: skip
PATIENCE = 600
"""Seconds until a command that does nothing is given up."""


class Command:
    """A running command, which can be waited for and killed."""

    def __init__(self, broker, topic, folder, *more):
        self._offsets = Path(folder) / "checkpoint" / "offsets"
        words = {
            "kafka": broker.address, "topic": topic, "item": "url", "tick": "ts", "site": "server",
            "store": folder / "store", "checkpoint": folder / "checkpoint", "master": "local[2]",
            "epsilon": "0.05", "delta": "0.05", "window": "20000", "lateness": "600", "merge-depth": "0",
        }  # fmt: skip
        given = [str(word) for name, value in words.items() for word in (f"--{name}", value)]
        self._said = Path(folder) / f"said-{time.monotonic_ns()}"
        with self._said.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "ecmsketch.cli", "stream", *given, *more],
                stdout=said, stderr=said, env=ENVIRONMENT, start_new_session=True,
            )  # fmt: skip

    def said(self):
        """What it has printed so far."""
        return self._said.read_text()

    def begun(self):
        """How many triggers have begun, in all lives of the query."""
        numbers = [int(path.name) for path in self._offsets.glob("*") if path.name.isdigit()]
        return max(numbers, default=-1) + 1

    def wait_for(self, trigger):
        """Until so many triggers have begun."""
        until = time.monotonic() + PATIENCE
        while self.begun() < trigger:
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < until, self.said()
            time.sleep(0.01)

    def kill(self):
        """kill -9, with all that it has started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def finish(self, code=0):
        """Wait for its end, and return what it printed."""
        try:
            assert self.process.wait(PATIENCE) == code, self.said()
        finally:
            self.kill()
        return self.said()
