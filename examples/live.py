"""A live page: play a generated day of 33 servers through Spark, with floods of one page, watch it, and show it."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import ecmsketch as ecm
from ecmsketch.cli.session import spark_session
from ecmsketch.generate import WorldCupLog
from ecmsketch.monitor import Above, Frequency, Watch
from ecmsketch.worldcup98 import SERVERS, to_columns

CONFIG = ecm.SketchConfig(
    epsilon=0.01, delta=0.01, window=86_400, unit="s", merge_depth=1, heavy_hitters=True, late="side", lateness=600
)
BEGIN, FIRST_FLOOD, BETWEEN_FLOODS, FLOOD = 30_000, 900, 3600, 600
"""Seconds: where in the day it begins, then when the first flood comes, how often one comes, and how long it lasts."""
PAGE, REQUESTS, TOO_MANY = 4242, 20_000, 3000
"""The page that is flooded, with how many requests, and how many in five minutes are an alarm."""


def main() -> None:
    options = parse()
    with tempfile.TemporaryDirectory(prefix="ecmsketch-live-") as name, stopping() as stop:
        folder = Path(name)
        with serving(folder, options.port):
            print("Writing a log with floods in it ...", flush=True)
            write_log(folder / "log")
            print("Starting Spark. The page fills as soon as the first sketches are stored.", flush=True)
            with spark_session("local[2]") as spark, stopping(stop):
                queries = start(spark, folder, options.speed)
                print(
                    f"Playing. The first flood comes after {FIRST_FLOOD / options.speed:.0f} s. Ctrl-C ends all.",
                    flush=True,
                )
                play(queries, stop, options.seconds)
    print("Everything has ended; nothing is left behind.")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8600, help="port of the page")
    parser.add_argument("--speed", type=float, default=30.0, help="seconds of the log to play per second")
    parser.add_argument("--seconds", type=float, default=None, help="end after so many seconds; default: at Ctrl-C")
    return parser.parse_args()


@contextmanager
def stopping(stop: threading.Event | None = None) -> Iterator[threading.Event]:
    """An event that Ctrl-C sets, instead of interrupting whatever is going on."""
    event = stop or threading.Event()
    before = {number: signal.signal(number, lambda *_: event.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def serving(folder: Path, port: int) -> Iterator[None]:
    """Serve the page in a process of its own, which says where it is."""
    command = [
        sys.executable,
        "-m",
        "ecmsketch.cli",
        "serve",
        str(folder / "store"),
        "--alerts",
        str(folder / "alerts"),
    ]
    server = subprocess.Popen([*command, "--port", str(port)], start_new_session=True)  # noqa: S603, our own command
    try:
        yield
    finally:
        server.terminate()
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
    """Start two queries over the log: one keeps the sketches of all servers, one watches the page."""
    from ecmsketch import spark as ecm_spark

    ecm_spark.use_rocksdb(spark)
    ecm_spark.register_sources(spark)
    spark.conf.set("spark.sql.shuffle.partitions", 2)
    columns = {"item": "page", "tick": "second", "site": "server"}
    reader = spark.readStream.format("replay").option("tick", "second").option("unit", "s").option("speed", str(speed))
    events = reader.load(str(folder / "log"))
    sketches = ecm_spark.stream_sketches(events, CONFIG, **columns, ahead=86_400)
    stored = ecm_spark.write_to_store(sketches, str(folder / "store"), str(folder / "state"), "live")
    small = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=300, unit="s", counter="eh", late="side", lateness=10)
    watch = Watch(Frequency(PAGE), Above(TOO_MANY), 300, small, balance="eager")
    watched = ecm_spark.monitor_sites(
        events, watch, **columns, folder=str(folder / "watching"), name=f"page {PAGE}, over {TOO_MANY:,} in 5 minutes",
        ahead=86_400, alerts=str(folder / "alerts"), on_alert=lambda alert: print(f"  {alert}", flush=True),
    )  # fmt: skip
    return [writer.trigger(processingTime="2 seconds").start() for writer in (stored, watched)]


def play(queries: list[Any], stop: threading.Event, seconds: float | None) -> None:
    """Wait until someone stops it, and end the queries after their current triggers."""
    timer = None if seconds is None else threading.Timer(seconds, stop.set)
    if timer is not None:
        timer.start()
    while not stop.wait(0.5) and all(query.isActive for query in queries):
        pass
    if timer is not None:
        timer.cancel()
    for query in queries:
        query.stop()
        query.awaitTermination()


if __name__ == "__main__":
    main()
