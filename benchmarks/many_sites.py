"""Many small sites on Spark: time, memory and bytes of one build, as the number of sites grows.

Sites are integers, and their events are scattered over all files, as in a log that is written in order of time.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ecmsketch as ecm
from benchmarks.sessions import start_spark
from benchmarks.table import Row, show

SITES = (10_000, 100_000)
EVENTS_A_SITE = 50
FILES = 8
COLUMNS = ("item", "tick", "site")
CONFIG = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=86_400)
WAYS = {"build_sketches": 60, "build_sketches_from_files": 40}
"""Both ways, and the most seconds that each may take for 100,000 sites."""
_POLL = 0.1


class Cost(NamedTuple):
    """What one build took."""

    seconds: float
    core_seconds: float
    """Of Spark and its workers together."""
    worker_bytes: int
    """The most memory of all Python workers together."""
    sketch_bytes: int
    sites: int


def write_events(folder: Path, sites: int, events_a_site: int = EVENTS_A_SITE) -> None:
    """Write events of so many sites as Parquet files that follow each other in time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, count = np.random.default_rng(0), sites * events_a_site
    table = pa.table(
        {
            "site": rng.integers(0, sites, count),
            "item": rng.integers(0, 5000, count),
            "tick": np.sort(rng.integers(0, CONFIG.window, count)),
        }
    )
    folder.mkdir(parents=True)
    for i, begin in enumerate(range(0, count, -(-count // FILES))):
        pq.write_table(table.slice(begin, -(-count // FILES)), folder / f"part-{i}.parquet")


def build(spark: Any, folder: Path, way: str = "build_sketches", config: ecm.SketchConfig = CONFIG) -> Cost:
    """Build the sketches of all sites in a folder, and say what it took."""
    from ecmsketch import spark as ecm_spark

    if way == "build_sketches":
        sketches = ecm_spark.build_sketches(spark.read.parquet(str(folder)), config, *COLUMNS)
    else:
        sketches = ecm_spark.build_sketches_from_files(spark, str(folder), config, *COLUMNS)
    return _watched(lambda: sketches.selectExpr("count(*) as n", "sum(length(sketch)) as size").collect()[0])


def _watched(work: Callable[[], Any]) -> Cost:
    """What a job takes, watched from outside."""
    most, done = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(_POLL):
            most = max(most, sum(process.memory for process in _children() if not process.java))

    watcher = threading.Thread(target=watch)
    before, began = sum(process.seconds for process in _children()), time.perf_counter()
    watcher.start()
    try:
        row = work()
        seconds = time.perf_counter() - began
    finally:
        done.set()
        watcher.join()
    return Cost(seconds, sum(process.seconds for process in _children()) - before, most, row["size"], row["n"])


class _Process(NamedTuple):
    parent: int
    seconds: float
    memory: int
    java: bool


def _children() -> list[_Process]:
    """All processes that this one has started, and those that these have started."""
    found: dict[int, _Process] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (folder / "stat").read_text().rpartition(")")
        except OSError:  # it has ended
            continue
        fields = rest.split()
        ticks, pages = sum(map(int, fields[11:15])), int(fields[21])
        found[int(folder.name)] = _Process(
            int(fields[1]), ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE"), name.endswith("(java")
        )
    return [process for process in found.values() if _is_below(process, found)]


def _is_below(process: _Process, found: dict[int, _Process]) -> bool:
    parent = process.parent
    while parent in found:
        if parent == os.getpid():
            return True
        parent = found[parent].parent
    return False


def run(sites: tuple[int, ...] = SITES) -> None:
    """Build sketches of more and more sites, both ways."""
    spark = start_spark(partitions=4)
    folder = Path(tempfile.mkdtemp(prefix="ecmsketch-bench-"))
    rows: list[Row] = []
    try:
        write_events(folder / "warm", 100)
        for way in WAYS:
            build(spark, folder / "warm", way)  # starts workers and loads modules
        for count in sites:
            write_events(folder / str(count), count)
        for way, most in WAYS.items():
            rows += _rows(way, most, [build(spark, folder / str(count), way) for count in sites])
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    show(f"Spark, local[2], many sites of {EVENTS_A_SITE} events, epsilon {CONFIG.epsilon}", rows)


def _rows(way: str, most: float, costs: list[Cost]) -> list[Row]:
    rows = []
    for cost in costs:
        core, size = 1000 * cost.core_seconds / cost.sites, cost.sketch_bytes / cost.sites
        value = f"{cost.seconds:.1f} s, workers {cost.worker_bytes / 1e6:,.0f} MB; a site: {core:.2f} ms of one core"
        value += f", {size:.0f} bytes"
        large = cost.sites >= 0.99 * SITES[-1]
        good = cost.seconds <= most and cost.worker_bytes <= 1.5e9
        rows.append(
            Row(
                f"{way}, {cost.sites:,} sites",
                value,
                f"at most {most} s, 1.5 GB" if large else "",
                good if large else None,
            )
        )
    growth = costs[-1].seconds / costs[0].seconds / (costs[-1].sites / costs[0].sites)
    return [*rows, Row(f"{way}, growth", f"{growth:.2f} x linear", "at most 1.2 x", growth <= 1.2)]
