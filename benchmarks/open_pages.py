"""Many open pages of one store that changes: what they cost the server. Bounded, on loopback, stops by itself.

Run: python -m benchmarks.open_pages --pages 200 --seconds 300
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import socketio

import ecmsketch as ecm
from ecmsketch.store import SketchRow, SketchStore

CONFIG = ecm.SketchConfig(epsilon=0.01, delta=0.01, window=86_400, unit="s", merge_depth=1, heavy_hitters=True)
RANGES = (60, 300, 300, 300, 3600, 86_400)
"""What pages ask for, in turn."""
SITES, ARRIVALS = 33, 2000
"""Sites, and arrivals that each of them writes into a version."""

AT_ONCE = 10
"""Pages that are opened at the same time."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--every", type=float, default=2.0, help="seconds between versions of the store")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        writer = Writer(Path(folder) / "store", options.every)
        command = [sys.executable, "-m", "ecmsketch.cli", "serve", str(writer.path), "--port", str(port)]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603, our own command
        try:
            print(json.dumps(asyncio.run(measure(port, server.pid, writer, options)), indent=2))
        finally:
            writer.stop.set()
            server.terminate()
            server.wait()


class Writer(threading.Thread):
    """Writes a version of a store every few seconds, as a stream does: the newest snapshots of all sites."""

    def __init__(self, path: Path, every: float) -> None:
        super().__init__(daemon=True)
        self.path, self.every, self.stop, self.batch = path, every, threading.Event(), 0
        self.written: dict[int, float] = {}
        self._rng = np.random.default_rng(0)
        self._sketches = {f"server {number}": ecm.EcmSketch(CONFIG) for number in range(SITES)}
        self._begin = int(time.time()) - 3600
        self.write(3600)

    def write(self, seconds: int) -> None:
        """Count some seconds more at every site, and write a version."""
        for sketch in self._sketches.values():
            since = sketch.now or self._begin
            ticks = np.sort(self._rng.integers(since + 1, since + 1 + seconds, ARRIVALS))
            sketch.update_many(self._rng.zipf(1.2, ARRIVALS) % 100_000, ticks)
        rows = [SketchRow(site, sketch, part="snapshot") for site, sketch in self._sketches.items()]
        SketchStore(self.path).append_once(rows, "writer", self.batch)
        self.batch += 1

    def run(self) -> None:
        """Write until stopped."""
        while not self.stop.wait(self.every):
            self.write(2)


async def measure(port: int, process: int, writer: Writer, options: argparse.Namespace) -> dict[str, Any]:
    """Open pages, keep them open while the store changes, and see what they cost."""
    address = f"http://127.0.0.1:{port}"
    pages = [OpenPage(address, RANGES[number % len(RANGES)]) for number in range(options.pages)]
    async with httpx.AsyncClient(timeout=60) as client:
        await answering(client, address)
        began = time.perf_counter()
        for place in range(0, len(pages), AT_ONCE):
            await asyncio.gather(*(page.open(client) for page in pages[place : place + AT_ONCE]))
        opened = time.perf_counter() - began
        writer.start()
        await asyncio.sleep(10)
        first, cpu, start = usage(process), cpu_seconds(process), time.perf_counter()
        delays = [await timed(client, address) for _ in range(int(options.seconds / 5)) if not await asyncio.sleep(5)]
        took = time.perf_counter() - start
        used, last = cpu_seconds(process) - cpu, usage(process)
    writer.stop.set()
    updates = [page.updates for page in pages]
    lost = sum(not page.socket.connected for page in pages)
    for page in pages:
        await page.socket.disconnect()
    return {
        "pages": options.pages, "seconds": round(took), "seconds_to_open_all": round(opened, 1),
        "versions_written": writer.batch, "updates_per_page_least": min(updates), "updates_per_page_most": max(updates),
        "pages_lost": lost, "kilobytes_per_update": round(sum(p.bytes for p in pages) / max(sum(updates), 1) / 1024, 1),
        "share_of_one_core": round(used / took, 2), "megabytes_before": first, "megabytes_after": last,
        "health_milliseconds_median": round(1000 * float(np.median(delays)), 1),
        "health_milliseconds_most": round(1000 * max(delays), 1),
    }  # fmt: skip


class OpenPage:
    """A page as a browser holds it: its HTML, and a websocket that gets updates."""

    def __init__(self, address: str, last: int) -> None:
        self.address, self.last, self.updates, self.bytes = address, last, 0, 0
        self.socket = socketio.AsyncClient(reconnection=False)
        self.socket.on("update", self._update)

    async def open(self, client: httpx.AsyncClient) -> None:
        """Load the page and connect."""
        html = (await client.get(f"{self.address}/?last={self.last}", headers={"accept": "text/html"})).text
        query = ast.literal_eval(re.search(r"query: (\{.*?\}),", html)[1])  # type: ignore[index]
        query |= {"implicit_handshake": "true", "tab_id": str(uuid.uuid4()), "document_id": str(uuid.uuid4())}
        text = "&".join(f"{name}={value}" for name, value in query.items())
        await self.socket.connect(
            f"{self.address}/?{text}", transports=["websocket"], socketio_path="/_nicegui_ws/socket.io", wait_timeout=30
        )

    def _update(self, data: dict[str, Any]) -> None:
        self.updates += 1
        self.bytes += len(json.dumps(data))


async def answering(client: httpx.AsyncClient, address: str) -> None:
    """Wait until the server answers."""
    for _ in range(300):
        try:
            await client.get(f"{address}/readyz")
            return
        except httpx.TransportError:
            await asyncio.sleep(0.2)
    raise RuntimeError("the server did not answer within a minute")


async def timed(client: httpx.AsyncClient, address: str) -> float:
    """Seconds that a small request takes."""
    began = time.perf_counter()
    (await client.get(f"{address}/healthz")).raise_for_status()
    return time.perf_counter() - began


def cpu_seconds(process: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def usage(process: int) -> int:
    """Megabytes of memory that a process holds."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())[1]) // 1024  # type: ignore[index]


if __name__ == "__main__":
    main()
