"""A live page: play a generated day of 33 servers through Spark, and find floods that nobody named beforehand."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import ecmsketch as ecm
from ecmsketch.cli.session import spark_session
from ecmsketch.generate import WorldCupLog
from ecmsketch.monitor import Alert, AnyItem, Watch
from ecmsketch.worldcup98 import SERVERS, to_columns

CONFIG = ecm.SketchConfig(
    epsilon=0.01, delta=0.01, window=86_400, unit="s", merge_depth=1, heavy_hitters=True, late="side", lateness=600
)
BEGIN, FIRST_FLOOD, BETWEEN_FLOODS, FLOOD = 30_000, 900, 3600, 1200
"""Seconds: where in the day it begins, then when the first flood comes, how often one comes, and how long it lasts.
A flood lasts far longer than the sketches or the monitor may lag, so that the page shows it together with its alarm."""
PAGE, REQUESTS = 4242, 40_000
"""The page that is flooded, with how many requests. Only the log knows it: the monitor watches all pages."""
TOO_MANY, LAST = 3000, 300
"""How many requests for any page in how many seconds are an alarm."""
PATIENCE = 8.0
"""Seconds that the server, and a trigger that is being worked on, get to end."""


def main() -> None:
    options, stop = parse(), threading.Event()
    interrupted_by(stop)
    with suppress(KeyboardInterrupt), tempfile.TemporaryDirectory(prefix="ecmsketch-live-") as name:
        folder = Path(name)
        with serving(folder, options.port) as server:
            print("Writing a log with floods in it ...", flush=True)
            write_log(folder / "log")
            if stop.is_set():
                raise KeyboardInterrupt
            if server.poll() is not None:
                sys.exit("There is no page to show: see above, and give another --port")
            print("Starting Spark. The page fills as soon as the first sketches are stored.", flush=True)
            with stopping(stop), spark_session("local[2]") as spark, stopping(stop):  # else a JVM may stay behind
                if not stop.is_set():
                    queries = start(spark, folder, options.speed)
                    after = FIRST_FLOOD / options.speed
                    print(f"Playing. The first flood comes after {after:.0f} s. Ctrl-C ends all.", flush=True)
                    play(queries, server, stop, options.seconds)
    print("Everything has ended; nothing is left behind.")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8600, help="port of the page")
    parser.add_argument("--speed", type=float, default=30.0, help="seconds of the log to play per second")
    parser.add_argument("--seconds", type=float, default=None, help="end after so many seconds; default: at Ctrl-C")
    return parser.parse_args()


def interrupted_by(stop: threading.Event) -> None:
    """Let Ctrl-C interrupt anything until Spark plays. The event remembers it: a library may swallow the interrupt."""

    def interrupt(number: int, frame: Any) -> None:
        stop.set()
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)


@contextmanager
def stopping(event: threading.Event) -> Iterator[None]:
    """Let Ctrl-C set an event, instead of interrupting a call to Spark. The second one, seconds later, interrupts."""
    first = [0.0]

    def stop(number: int, frame: Any) -> None:
        if event.is_set() and time.monotonic() > first[0] + 3:
            raise KeyboardInterrupt
        if not event.is_set():
            first[0] = time.monotonic()
            event.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def serving(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Serve the page in a process of its own, which says where it is."""
    stores = [str(folder / "store"), "--alerts", str(folder / "alerts")]
    command = [sys.executable, "-m", "ecmsketch.cli", "serve", *stores, "--port", str(port)]
    server = subprocess.Popen(command, start_new_session=True)  # noqa: S603, our own command; Ctrl-C is not for it
    try:
        yield server
    finally:
        server.terminate()
        try:
            server.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def write_log(path: Path) -> None:
    """Write the requests of a day to 33 servers, with the floods among them."""
    log = WorldCupLog(3_000_000, day=66, all_servers=True)
    columns = [to_columns(log.slice(index)) for index in range(log.slices)]
    servers, pages, ticks = (
        np.concatenate([part[name] for part in columns]) for name in ("server", "object", "timestamp")
    )
    first = int(ticks.min())
    late_enough = ticks >= first + BEGIN
    servers, pages, ticks = servers[late_enough], pages[late_enough], ticks[late_enough]
    rng = np.random.default_rng(0)
    for begin in range(first + BEGIN + FIRST_FLOOD, int(ticks.max()), BETWEEN_FLOODS):
        servers = np.concatenate([servers, rng.choice(SERVERS, REQUESTS)])
        pages = np.concatenate([pages, np.full(REQUESTS, PAGE)])
        ticks = np.concatenate([ticks, rng.integers(begin, begin + FLOOD, REQUESTS)])
    order = np.argsort(ticks, kind="stable")
    names = np.array([f"server {number}" for number in range(256)])
    table = pa.table(
        {
            "server": names[servers[order]],
            "page": pages[order].astype(np.int64),
            "second": ticks[order].astype(np.int64),
        }
    )
    path.mkdir()
    pq.write_table(table, path / "log.parquet", row_group_size=100_000)


def start(spark: Any, folder: Path, speed: float) -> list[Any]:
    """Start two queries over the log: one keeps the sketches of all servers, one watches all pages."""
    from ecmsketch import spark as ecm_spark

    ecm_spark.use_rocksdb(spark)
    ecm_spark.register_sources(spark)
    spark.conf.set("spark.sql.shuffle.partitions", 2)
    columns = {"item": "page", "tick": "second", "site": "server"}
    reader = spark.readStream.format("replay").option("tick", "second").option("unit", "s").option("speed", str(speed))
    events = reader.load(str(folder / "log"))
    sketches = ecm_spark.stream_sketches(events, CONFIG, **columns, ahead=86_400)
    stored = ecm_spark.write_to_store(sketches, str(folder / "store"), str(folder / "state"), "live")
    small = ecm.SketchConfig(
        epsilon=0.02, delta=0.05, window=LAST, unit="s", counter="eh", late="side", lateness=10, heavy_hitters=True
    )
    watch = Watch(AnyItem(TOO_MANY), last=LAST, sketch=small, balance="eager")
    watched = ecm_spark.monitor_sites(
        events, watch, **columns, folder=str(folder / "watching"), name=f"any page, over {TOO_MANY:,} in 5 minutes",
        ahead=86_400, alerts=str(folder / "alerts"), on_alert=tell,
    )  # fmt: skip
    return [writer.trigger(processingTime="2 seconds").start() for writer in (stored, watched)]


def tell(alert: Alert) -> None:
    """Say which page it is, and which servers are asked for it most."""
    most = ", ".join(f"{part.site}: {part.value:,.0f}" for part in alert.sites[:3])
    words = f"ALARM: page {alert.item} has" if alert.region else f"Calm again: page {alert.item} has"
    print(f"  {words} {alert.value:,.0f} requests in 5 minutes; {most}, ...", flush=True)


def play(queries: list[Any], server: subprocess.Popen[bytes], stop: threading.Event, seconds: float | None) -> None:
    """Wait until someone stops it, the time is over, or something ends by itself; then end the queries."""
    until = float("inf") if seconds is None else time.monotonic() + seconds
    while not stop.wait(0.5) and time.monotonic() < until:
        if server.poll() is not None or not all(query.isActive for query in queries):
            break
    print("Ending ...", flush=True)
    for query in queries:
        wrong = query.exception()
        if wrong is not None:
            print(f"Spark: {str(wrong).partition(chr(10))[0]}", flush=True)
    ending = [threading.Thread(target=query.stop, daemon=True) for query in queries]  # each waits for its trigger
    for thread in ending:
        thread.start()
    for thread in ending:
        thread.join(PATIENCE)


if __name__ == "__main__":
    main()
