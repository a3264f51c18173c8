"""Runs `make live` for tests, and checks that Ctrl-C ends all of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import closing, contextmanager, suppress
from pathlib import Path

FLOODED = "4242"
"""The page that the example floods."""
EXAMPLE = Path(__file__).parents[1] / "examples" / "live.py"


def ask(address):
    with suppress(OSError), urllib.request.urlopen(address, timeout=5) as answer:
        return json.load(answer)
    return None


def wait_for(question, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        answer = question()
        if answer:
            return answer
        time.sleep(1)
    raise AssertionError("no answer in time")


@contextmanager
def playing(tmp_path, *options):
    """The example as a terminal runs it: its address, and what it says. Afterwards nothing that it started is left."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path / "live.log"
    with log.open("w") as output:
        command = [sys.executable, str(EXAMPLE), "--port", str(port), *options]
        live = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        yield f"http://127.0.0.1:{port}", log.read_text
    finally:
        os.killpg(live.pid, signal.SIGINT)  # a terminal sends it to all of them
        began = time.monotonic()
        code = live.wait(timeout=60)
    assert code == 0, log.read_text()
    assert time.monotonic() < began + 20
    assert "Traceback" not in log.read_text()
    assert "nothing is left behind" in log.read_text()
    wait_for(lambda: not session(live.pid), 10)  # the JVM ends when it notices that Python has ended
    assert ask(f"http://127.0.0.1:{port}/api/v1/sites") is None


def session(leader):
    """The processes that were started from one, and from those, unless they left its session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, group, *_ = stat.read_text().rpartition(")")[2].split()
            if int(group) == leader and state != "Z":  # what has ended may wait for init to take note
                found.append((stat.parent / "cmdline").read_text()[:80])
    return found
