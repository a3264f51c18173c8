"""`ecmsketch serve` under load on loopback: 33 sites at epsilon 0.01, 200 requests a second of mixed questions.

Requests are sent when their time has come, whether or not earlier ones are answered, and are timed from that moment:
a server that stalls is charged for all who wait. It stops by itself, also if the server does not.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import NamedTuple

import numpy as np

import ecmsketch as ecm
from benchmarks.table import Row, show
from ecmsketch.store import SketchRow, SketchStore

SITES, EVENTS, RATE = 33, 30_000, 200
SECONDS = float(os.environ.get("ECMSKETCH_LOAD_SECONDS", "60"))
WRITTEN = {"3 sites written every 5 s: ": (3, 5.0), "all sites written every 2 s: ": (SITES, 2.0)}
"""How many sites get new sketches, and how often, while the same questions are asked."""
BEGIN, DAY = 1_700_000_000, 86_400
CONNECTIONS = 64


class Load(NamedTuple):
    """What a run of requests found."""

    seconds: list[float]
    statuses: Counter[int]
    kilobytes: list[int]

    def percentile(self, share: float) -> float:
        """Milliseconds that a share of the requests did not exceed."""
        return float(np.quantile(self.seconds, share)) * 1000


def run() -> None:
    """Serve a store and ask it, first as it is, then while it is written."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        rows = _rows()
        SketchStore(store).append_once(rows, "stream", 0)
        command = [sys.executable, "-m", "ecmsketch.cli", "serve", str(store), "--port", "0"]
        began = time.monotonic()
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:  # noqa: S603
            try:
                found = re.search(r"127\.0\.0\.1:(\d+)", first_line(server))
                assert found is not None
                started = time.monotonic() - began
                port = int(found[1])
                asyncio.run(ask(port, server.pid, 3.0))  # loads modules and merges once
                calm = asyncio.run(ask(port, server.pid, SECONDS))
                busy = {
                    name: asyncio.run(_ask_while_written(port, server.pid, store, rows[:sites], every))
                    for name, (sites, every) in WRITTEN.items()
                }
            finally:
                server.kill()
    lines = [row for name, load in {"": calm, **busy}.items() for row in report(name, load)]
    show("Serving", [Row("start, until it listens", f"{started:.1f} s"), *lines])


def report(name: str, load: Load) -> list[Row]:
    """What a run found, against what it must show."""
    errors = sum(count for status, count in load.statuses.items() if status != 200)
    third = len(load.kilobytes) // 3
    held, before = np.median(load.kilobytes[-third:]), np.median(load.kilobytes[third:-third])
    grown = held / before - 1  # medians: while a version is read, two of them are held
    times = ", ".join(f"p{share * 100:g} {load.percentile(share):.1f} ms" for share in (0.5, 0.9, 0.99, 1))
    return [
        Row(f"{name}requests", f"{len(load.seconds):,}"),
        Row(f"{name}times", times, "p99 below 100 ms", load.percentile(0.99) < 100),
        Row(f"{name}errors", str(errors), "0", errors == 0),
        Row(f"{name}memory", f"{held / 1024:.0f} MiB in the last third, {grown:+.1%} against the second", "flat",
            bool(grown < 0.05)),
    ]  # fmt: skip


def _rows() -> list[SketchRow]:
    config = ecm.SketchConfig(epsilon=0.01, delta=0.01, window=DAY, unit="s", heavy_hitters=True, merge_depth=1)
    rng = np.random.default_rng(7)
    rows = []
    for site in range(SITES):
        sketch = ecm.EcmSketch(config)
        items = [f"/page/{number}" for number in rng.zipf(1.3, EVENTS) % 50_000]
        sketch.update_many(items, BEGIN + np.sort(rng.integers(0, DAY, EVENTS)))
        rows.append(SketchRow(f"site-{site}", sketch.serialize(), EVENTS, "snapshot"))
    return rows


def _questions() -> list[str]:
    chance = random.Random(7)  # noqa: S311
    found = []
    for _ in range(1000):
        last = chance.choice(["5m", "1h", "6h", "1d"])
        site = chance.choice(["", "", f"&site=site-{chance.randrange(SITES)}", "&site=site-1&site=site-2"])
        item = f"/page/{chance.randrange(200)}"
        kinds = [
            f"total?last={last}{site}", f"estimate?item={item}&item=/page/1&last={last}{site}", "sites",
            f"top?k=10&last={last}{site}", f"history?item={item}&last={last}{site}", f"heavy_hitters?phi=0.05{site}",
            f"heavy_changes?last=1h{site}", f"self_join?last={last}{site}",
        ]  # fmt: skip
        found.append(chance.choice(kinds))
    return found


async def ask(port: int, pid: int, seconds: float, rate: int = RATE) -> Load:
    """Send requests at a fixed rate for some seconds."""
    load = Load([], Counter(), [])
    idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    room = asyncio.Semaphore(CONNECTIONS)
    questions, tasks = _questions(), []
    begin = time.monotonic()
    for number in range(int(seconds * rate)):
        due = begin + number / rate
        await asyncio.sleep(max(due - time.monotonic(), 0))
        if number % rate == 0:
            load.kilobytes.append(kilobytes(pid))
        tasks.append(asyncio.create_task(_one(port, questions[number % len(questions)], due, load, idle, room)))
    await asyncio.wait_for(asyncio.gather(*tasks), 60)
    load.kilobytes.append(kilobytes(pid))
    for _, writer in idle:
        writer.close()
    return load


async def _one(
    port: int,
    question: str,
    due: float,
    load: Load,
    idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]],
    room: asyncio.Semaphore,
) -> None:
    async with room:
        request = f"GET /api/v1/{question} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        while True:
            kept = bool(idle)
            reader, writer = idle.pop() if kept else await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                break
            except (asyncio.IncompleteReadError, ConnectionError):
                if not kept:  # the server closes connections that were idle for seconds, and only these
                    raise
        length = re.search(rb"content-length: (\d+)", head)
        await reader.readexactly(int(length[1]) if length else 0)
        idle.append((reader, writer))
    load.seconds.append(time.monotonic() - due)
    load.statuses[int(head.split(b" ", 2)[1])] += 1


async def _ask_while_written(port: int, pid: int, store: Path, rows: list[SketchRow], every: float) -> Load:
    """The same while another process writes new sketches of some sites every few seconds."""
    spawn = multiprocessing.get_context("spawn")
    stop = spawn.Event()
    writer = spawn.Process(target=_write, args=(store, rows, every, stop))
    writer.start()
    try:
        return await ask(port, pid, SECONDS)
    finally:
        stop.set()
        writer.join(30)


def _write(store: Path, rows: list[SketchRow], every: float, stop: Event) -> None:
    """Write a version every few seconds, each as a stream's trigger does."""
    while not stop.wait(every):
        SketchStore(store).append_once(rows, "stream", int(time.time()))


def kilobytes(pid: int) -> int:
    """The memory that a process holds."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1])


def first_line(server: subprocess.Popen[str]) -> str:
    """What a server says first."""
    assert server.stderr is not None
    return server.stderr.readline()
