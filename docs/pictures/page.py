"""Draws the pictures of the live page: a generated afternoon of 33 servers, in the middle of a flood of one page."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import ecmsketch as ecm
from ecmsketch.alerts import AlertStore
from ecmsketch.generate import WorldCupLog
from ecmsketch.monitor import Alert, Contribution
from ecmsketch.store import SketchRow, SketchStore
from ecmsketch.worldcup98 import SERVERS, to_columns

PICTURES = Path(__file__).parent
SHOTS = {
    "page.png": (1440, 1120, "light", ""),
    "page-dark.png": (1440, 1120, "dark", "?last=86400&item=28487&item=81071"),
    "page-phone.png": (390, 1180, "light", ""),
}
CONFIG = ecm.SketchConfig(epsilon=0.01, delta=0.01, window=86_400, unit="s", merge_depth=1, heavy_hitters=True)
UNTIL, FLOOD, PAGE, TOO_MANY = 76_000, 420, 4242, 3000
"""Seconds of the day that are counted, how long the flood has lasted by then, its page, and how many are an alarm."""


def main() -> None:
    """Write a store, serve it, and photograph it in each size and colour."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as address, sync_playwright() as playwright:
        alert = raised(write_store(Path(folder) / "store"))
        AlertStore(Path(folder) / "alerts").append_once([alert], f"any page, over {TOO_MANY:,} in 5 minutes", 0)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (width, height, colours, query) in SHOTS.items():
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=colours)
            page = context.new_page()
            page.goto(address + (query or f"?last=3600&item={PAGE}"))
            page.wait_for_selector(".ecm-chart canvas")
            page.wait_for_selector(".ecm-busiest button")
            page.wait_for_timeout(500)
            page.screenshot(path=PICTURES / name)
            context.close()
        browser.close()


def raised(sketches: dict[str, ecm.EcmSketch]) -> Alert:
    """The alert that a monitor raises at its first check, one in ten seconds, with too many requests in 5 minutes."""
    now = max(sketch.now or 0 for sketch in sketches.values())
    for tick in range(now - FLOOD, now, 10):
        counts = {site: sketch.estimate(PAGE, between=(tick - 300, tick)) for site, sketch in sketches.items()}
        value, lower, upper = (sum(count[part] for count in counts.values()) for part in range(3))
        if value > TOO_MANY:
            break
    parts = sorted((Contribution(site, count.value) for site, count in counts.items()), key=lambda part: -part.value)
    return Alert(tick, 1, 0, value, 2, PAGE, lower, upper, None, tuple(parts))


def write_store(path: Path) -> dict[str, ecm.EcmSketch]:
    """Write the sketches of a day with a flood at its end, and return them."""
    log = WorldCupLog(3_000_000, day=66, all_servers=True)
    columns = [to_columns(log.slice(index)) for index in range(log.slices)]
    servers, pages, ticks = (
        np.concatenate([part[name] for part in columns]).astype(np.int64) for name in ("server", "object", "timestamp")
    )
    now, rng = int(ticks.min()) + UNTIL, np.random.default_rng(0)
    flood = rng.integers(now - FLOOD, now, 16_000)
    servers = np.concatenate([servers, rng.choice(SERVERS, len(flood))])
    pages, ticks = np.concatenate([pages, np.full(len(flood), PAGE)]), np.concatenate([ticks, flood])
    sketches = {}
    for server in SERVERS:
        mine = np.flatnonzero((servers == server) & (ticks <= now))
        mine = mine[np.argsort(ticks[mine], kind="stable")]
        sketch = ecm.EcmSketch(CONFIG)
        sketch.update_many(pages[mine], ticks[mine])
        sketch.advance(now)
        sketches[f"server {server}"] = sketch
    SketchStore(path).append([SketchRow(site, sketch) for site, sketch in sketches.items()])
    return sketches


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a server for the store in a folder."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [
        sys.executable,
        "-m",
        "ecmsketch.cli",
        "serve",
        str(folder / "store"),
        "--alerts",
        str(folder / "alerts"),
    ]
    server = subprocess.Popen([*command, "--port", port])  # noqa: S603, our own command
    try:
        address = f"http://127.0.0.1:{port}/"
        for _ in range(300):
            with suppress(OSError), urllib.request.urlopen(address):
                break
            time.sleep(0.2)
        yield address
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
