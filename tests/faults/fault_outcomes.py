"""Runs fault_child.py, and again for what is left after it has crashed or hung."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

from fault_operations import operations

CHILD = Path(__file__).with_name("fault_child.py")
PATIENCE = 120
"""Seconds after which an operation is taken to hang."""


def names_of(counter: str) -> list[str]:
    return list(operations(counter))


@cache
def outcomes(counter: str, fault: str, points: int, seed: int = 0, patience: float = PATIENCE) -> dict[str, dict]:
    """What became of every operation: how many points were hit, what was wrong, or how the process ended."""
    left, found = names_of(counter), {}
    while left:
        before = len(left)
        for name, outcome in _run(counter, fault, points, seed, left, patience):
            found[name] = outcome
        left = [name for name in left if name not in found]
        if len(left) == before:
            raise RuntimeError(f"fault_child.py did not begin with {left}")
    return found


def _run(counter, fault, points, seed, names, patience):
    child = subprocess.Popen(
        [sys.executable, str(CHILD), counter, fault, str(points), str(seed), *names],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, env={**os.environ, "ECMSKETCH_QUIET": "1"},
    )  # fmt: skip
    current, said = None, b""
    try:
        for line in _lines(child, patience):
            message = json.loads(line)
            if "begins" in message:
                current = message["begins"]
            else:
                yield message.pop("ends"), message
                current = None
        code = child.wait()
        said = child.stderr.read()[-600:]
    except TimeoutError:
        child.kill()
        child.wait()
        yield current, {"hit": 1, "wrong": 1, "examples": [f"no end within {patience} s"]}
        return
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
        child.stderr.close()
    if current is not None:
        how = signal.Signals(-code).name if code < 0 else f"code {code}"
        yield (
            current,
            {"hit": 1, "wrong": 1, "examples": [f"the process ended: {how}\n{said.decode(errors='replace')}"]},
        )


def _lines(child, patience):
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        left = b""
        until = time.monotonic() + patience
        while True:
            while b"\n" in left:
                line, _, left = left.partition(b"\n")
                yield line
                until = time.monotonic() + patience
            if not selector.select(max(until - time.monotonic(), 0)):
                raise TimeoutError
            some = child.stdout.read(1 << 16)
            if not some:
                return
            left += some
