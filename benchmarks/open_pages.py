"""Many open pages of one store that changes, and questions to the API meanwhile. Bounded, on loopback, stops by itself.

Pages, questions and the writer of the store each have a process of their own, so that they do not delay each other.
Run: python -m benchmarks.open_pages --pages 200 --seconds 300
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import multiprocessing
import re
import subprocess
import sys
import tempfile
import time
import uuid
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import numpy as np
import socketio

import ecmsketch as ecm
from benchmarks.serving import Load, ask, first_line, report
from benchmarks.table import Row, show
from ecmsketch.store import READER_HOURS, SketchRow, SketchStore

CONFIG = ecm.SketchConfig(epsilon=0.01, delta=0.01, window=86_400, unit="s", merge_depth=1, heavy_hitters=True)
RANGES = (60, 300, 300, 300, 3600, 86_400)
"""What pages ask for, in turn."""
SITES, BEFORE, ARRIVALS = 33, 30_000, 50
"""Sites, arrivals of each in the day before, and those that each writes into a version: few, so that sketches have
their final size from the beginning, and memory that grows is the server's."""
TIDY = 20
"""Versions after which the writer puts the store in order, as a stream does."""
RATE = 20
"""Questions to the API in a second."""
AT_ONCE = 10
"""Pages that are opened at the same time."""


class Found(NamedTuple):
    """What a run found."""

    opening: float
    """Seconds until all pages were open."""
    load: Load
    versions: int
    pages: list[OpenPage]
    stored: tuple[int, int]
    """Bytes of the sketches in the first and in the last version."""
    share: float
    """Of one core, that the server took."""


def run(pages: int = 200, seconds: float = 300.0, every: float = 2.0) -> None:
    """Open pages of a store that changes, and say what they cost."""
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(1, mp_context=spawn) as asking:
        store, stop, ready = Path(folder) / "store", spawn.Event(), spawn.Event()
        writer = spawn.Process(target=_write, args=(store, every, ready, stop))
        writer.start()
        ready.wait(120)
        command = [sys.executable, "-m", "ecmsketch.cli", "serve", str(store), "--port", "0"]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)  # noqa: S603, our own command
        try:
            port = int(re.search(r"127\.0\.0\.1:(\d+)", first_line(server))[1])  # type: ignore[index]
            found = asyncio.run(_measure(port, server.pid, store, pages, seconds, asking))
        finally:
            stop.set()
            server.terminate()
            server.wait()
            writer.join(60)
    _show(found)


def _write(path: Path, every: float, ready: Event, stop: Event) -> None:
    """Write versions as a stream does: the newest snapshots of all sites."""
    rng = np.random.default_rng(0)
    begin = int(time.time()) - 86_400
    sketches = {f"site-{number}": ecm.EcmSketch(CONFIG) for number in range(SITES)}
    for sketch in sketches.values():
        sketch.update_many(_items(rng, BEFORE), begin + np.sort(rng.integers(0, 86_400, BEFORE)))
    for batch in range(1_000_000):
        rows = [SketchRow(site, sketch, part="snapshot") for site, sketch in sketches.items()]
        SketchStore(path).append_once(rows, "writer", batch)
        if batch % TIDY == TIDY - 1:
            SketchStore(path).compact()
            SketchStore(path).vacuum(keep_hours=READER_HOURS)
        ready.set()
        if stop.wait(every):
            return
        now = int(time.time())
        for sketch in sketches.values():
            sketch.update_many(_items(rng, ARRIVALS), np.full(ARRIVALS, now))


def _items(rng: np.random.Generator, number: int) -> list[str]:
    return [f"/page/{item}" for item in rng.zipf(1.3, number) % 50_000]


async def _measure(
    port: int, process: int, store: Path, count: int, seconds: float, asking: ProcessPoolExecutor
) -> Found:
    """Open pages, keep them open while the store changes, and ask the API meanwhile."""
    address = f"http://127.0.0.1:{port}"
    pages = [OpenPage(address, RANGES[number % len(RANGES)]) for number in range(count)]
    loop = asyncio.get_running_loop()
    async with httpx.AsyncClient(timeout=60) as client:
        began = time.perf_counter()
        for place in range(0, len(pages), AT_ONCE):
            await asyncio.gather(*(page.open(client) for page in pages[place : place + AT_ONCE]))
        opening = time.perf_counter() - began
    await loop.run_in_executor(asking, _ask, port, process, 10.0)
    for page in pages:
        page.begin()
    first, cpu, start = _stored(store), _cpu_seconds(process), time.perf_counter()
    load = await loop.run_in_executor(asking, _ask, port, process, seconds)
    share = (_cpu_seconds(process) - cpu) / (time.perf_counter() - start)
    last = _stored(store)
    for page in pages:
        page.lost = not page.socket.connected
        await page.socket.disconnect()
    return Found(opening, load, last[0] - first[0], pages, (first[1], last[1]), share)


def _ask(port: int, process: int, seconds: float) -> Load:
    return asyncio.run(ask(port, process, seconds, RATE))


def _show(found: Found) -> None:
    pages, load = found.pages, found.load
    updates = [page.updates for page in pages]
    lost, longest = sum(page.lost for page in pages), max(page.longest for page in pages)
    data = sum(page.bytes for page in pages) / max(sum(updates), 1)
    grown = found.stored[1] / found.stored[0] - 1
    memory = ", ".join(f"{held / 1024:.0f}" for held in load.kilobytes[:: max(len(load.kilobytes) // 10, 1)])
    show(
        "Open pages",
        [
            Row("pages, seconds to open all", f"{len(pages)}, {found.opening:.1f} s"),
            Row("connections lost", str(lost), "0", lost == 0),
            Row("updates of a page", f"{min(updates)} to {max(updates)} for {found.versions} versions", "1 or more",
                min(updates) > 0),
            Row("longest wait of a page for an update", f"{longest:.1f} s"),
            Row("an update", f"{data / 1024:.1f} KB"),
            Row("the server takes", f"{found.share:.2f} of one core"),
            Row("sketches in the store", f"{found.stored[1] / 2**20:.0f} MiB, {grown:+.1%} over the run"),
            *report("API: ", load),
            Row("memory over the run", f"{memory} MiB"),
        ],
    )  # fmt: skip


class OpenPage:
    """A page as a browser holds it: its HTML, and a websocket that gets updates."""

    def __init__(self, address: str, last: int) -> None:
        self.address, self.last, self.lost = address, last, False
        self.updates, self.bytes, self.longest, self._newest = 0, 0, 0.0, 0.0
        self.socket = socketio.AsyncClient(reconnection=False)
        self.socket.on("update", self._update)

    async def open(self, client: httpx.AsyncClient) -> None:
        """Load the page and connect."""
        answer = await client.get(f"{self.address}/?last={self.last}", headers={"accept": "text/html"})
        html = answer.raise_for_status().text
        assert "ecm_tiles" in html, "this is not the page, but perhaps one that says what is wrong"
        query = ast.literal_eval(re.search(r"query: (\{.*?\}),", html)[1])  # type: ignore[index]
        query |= {"implicit_handshake": "true", "tab_id": str(uuid.uuid4()), "document_id": str(uuid.uuid4())}
        text = "&".join(f"{name}={value}" for name, value in query.items())
        await self.socket.connect(
            f"{self.address}/?{text}", transports=["websocket"], socketio_path="/_nicegui_ws/socket.io", wait_timeout=30
        )

    def begin(self) -> None:
        """Count from now on."""
        self.updates, self.bytes, self.longest, self._newest = 0, 0, 0.0, time.monotonic()

    def _update(self, data: dict[str, Any]) -> None:
        now = time.monotonic()
        self.longest, self._newest = max(self.longest, now - self._newest), now
        self.updates += 1
        self.bytes += len(json.dumps(data))


def _stored(store: Path) -> tuple[int, int]:
    """The version of a store, and the bytes of the sketches that count."""
    opened = SketchStore(store)
    newest = [max(opened.history(f"site-{number}"), key=lambda row: row.order) for number in range(SITES)]
    return opened.version(), sum(row.bytes for row in newest)


def _cpu_seconds(process: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--every", type=float, default=2.0, help="seconds between versions of the store")
    options = parser.parse_args()
    run(options.pages, options.seconds, options.every)


if __name__ == "__main__":
    main()
