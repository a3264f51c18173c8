"""Live sketches of 33 large sites against a JVM count per site, in one session; what grows; many small sites.

A trigger reads two files, one per core, with a minute of a generated day. Rates exclude the first two triggers, which
start workers. The size of the checkpoint is taken after each trigger.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import ecmsketch as ecm
from benchmarks.sessions import start_spark
from benchmarks.table import Row, show

TRIGGERS, ROWS, SECONDS = 48, 1_500_000, 60
"""The number of triggers, and the rows and seconds of each."""
CORES = 2
_MANY_SITES, _MANY_ROWS, _MANY_TRIGGERS = 20_000, 100_000, 8


def run() -> None:
    """Time the count and the sketches, with and without heavy hitters, and many small sites."""
    import numpy as np

    from ecmsketch import spark as ecm_spark
    from ecmsketch.worldcup98 import SERVERS

    spark = start_spark(partitions=2)
    ecm_spark.use_rocksdb(spark)
    folder = Path(tempfile.mkdtemp(prefix="ecmsketch-bench-"))
    try:
        _write(folder / "log", TRIGGERS, ROWS, np.array(SERVERS))
        count = _count(spark, folder)
        named = _soak(spark, folder, "named", heavy_hitters=True)
        plain = _soak(spark, folder, "plain", heavy_hitters=False)
        _show(count, plain, named)
        _show_many(many_sites(spark, folder / "many", _MANY_SITES, _MANY_ROWS, _MANY_TRIGGERS))
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


class ManySites(NamedTuple):
    """What a stream of many small sites took."""

    sites: int
    seconds: float
    """The median trigger with events, without the first two."""
    state_per_site: float
    """Bytes of the state's own values for each site, before Spark compresses them."""


def many_sites(spark: Any, folder: Path, sites: int, rows: int, triggers: int) -> ManySites:
    """Stream `triggers` minutes of `rows` events each, of random ones among `sites`, into a store; epsilon 0.1.

    `folder` is made, and keeps the events, the store and the checkpoint.
    """
    import numpy as np

    from ecmsketch import spark as ecm_spark
    from ecmsketch.store import SketchStore

    folder.mkdir(parents=True)
    _write(folder / "log", triggers, rows, np.arange(sites))
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=3600, unit="s", late="side", lateness=60)
    sketches = ecm_spark.stream_sketches(_source(spark, folder), config, "object", "timestamp", "server")
    writer = ecm_spark.write_to_store(sketches, str(folder / "store"), str(folder / "state"), "many")
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    done = [progress for progress in query.recentProgress if progress["numInputRows"]]
    seconds = sorted(progress["durationMs"]["triggerExecution"] / 1000 for progress in done[2:])
    written = len(SketchStore(str(folder / "store")).sites())
    return ManySites(written, seconds[len(seconds) // 2], _state_bytes(spark, folder / "state") / written)


def _state_bytes(spark: Any, checkpoint: Path) -> int:
    """The bytes of all sites in the state of a query."""
    total = 0
    for name, column in (
        ("group", "value.sites"),
        ("buckets", "user_map_value.sites"),
        ("large", "user_map_value.sketch"),
    ):
        kept = spark.read.format("statestore").option("stateVarName", name).load(str(checkpoint))
        total += kept.selectExpr(f"sum(length({column}))").collect()[0][0] or 0
    return total


def _show_many(many: ManySites) -> None:
    rows = [
        Row("seconds a trigger", f"{many.seconds:.1f}", "at most 6", many.seconds <= 6),
        Row("bytes of state a site", f"{many.state_per_site:.0f}", "at most 1000", many.state_per_site <= 1000),
    ]
    show(f"Streaming, local[2], {many.sites:,} small sites, {_MANY_ROWS:,} rows a trigger, epsilon 0.1", rows)


def _write(folder: Path, triggers: int, size: int, sites: Any) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    folder.mkdir()
    for i in range(CORES * triggers):
        minute, rows = i // CORES, size // CORES
        ticks = np.sort(rng.integers(SECONDS * minute, SECONDS * (minute + 1), rows)) + 900_000_000
        objects = rng.zipf(1.3, rows) % 90_000
        servers = rng.choice(sites, rows)
        path = folder / f"{i:03d}.parquet"
        pq.write_table(pa.table({"object": objects, "timestamp": ticks, "server": servers}), path)
        os.utime(path, (1_000_000 + i, 1_000_000 + i))  # Spark reads the oldest files first


def _source(spark: Any, folder: Path) -> Any:
    schema = "object bigint, timestamp bigint, server bigint"
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", CORES).parquet(str(folder / "log"))


def _rate(query: Any) -> float:
    """Rows per second over all triggers except the first two and those without rows."""
    done = [progress for progress in query.recentProgress if progress["numInputRows"]][2:]
    seconds = sum(progress["durationMs"]["triggerExecution"] for progress in done) / 1000
    return sum(progress["numInputRows"] for progress in done) / seconds


def _count(spark: Any, folder: Path) -> float:
    counts = _source(spark, folder).groupBy("server").count()
    writer = counts.writeStream.format("noop").outputMode("update").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(folder / "count")).start()
    query.awaitTermination()
    return _rate(query)


class _Soak:
    def __init__(self) -> None:
        self.rate = 0.0
        self.checkpoint: list[int] = []
        self.state: list[int] = []
        self.memory: list[int] = []


def _soak(spark: Any, folder: Path, name: str, heavy_hitters: bool) -> _Soak:
    from ecmsketch import spark as ecm_spark

    config = ecm.SketchConfig(
        epsilon=0.1, delta=0.1, window=1200, unit="s", late="side", lateness=60, heavy_hitters=heavy_hitters
    )
    soak = _Soak()
    sketches = ecm_spark.stream_sketches(_source(spark, folder), config, "object", "timestamp", "server")
    checkpoint = folder / name
    query = ecm_spark.write_to_store(sketches, str(folder / f"{name}-store"), str(checkpoint), name)
    query = query.trigger(availableNow=True).start()
    seen = -1
    while query.isActive:
        progress = query.lastProgress
        if progress is not None and progress["batchId"] != seen:
            seen = progress["batchId"]
            soak.checkpoint.append(_size(checkpoint))
            soak.memory.append(_resident())
            soak.state += [state["memoryUsedBytes"] for state in progress["stateOperators"]]
        time.sleep(0.2)
    query.awaitTermination()
    soak.rate = _rate(query)
    return soak


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # Spark writes files under other names first
            total += path.stat().st_size if path.is_file() else 0
    return total


def _resident() -> int:
    """The resident memory of Spark's Python workers, in bytes."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
            command = (status.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if b"pyspark" in command and b"daemon" in command and "VmRSS:" in text:
            total += 1024 * int(text.split("VmRSS:")[1].split()[0])
    return total


def _quarters(sizes: list[int]) -> tuple[int, int]:
    """The largest size in the third and in the fourth quarter of the triggers."""
    quarter = len(sizes) // 4
    return max(sizes[2 * quarter : 3 * quarter]), max(sizes[3 * quarter :])


def _show(count: float, plain: _Soak, named: _Soak) -> None:
    rows = [Row("groupBy(server).count() in the JVM", f"{count / 1e6:.2f} M rows/s")]
    for title, soak in (("stream_sketches", plain), ("stream_sketches, heavy_hitters=True", named)):
        ratio = soak.rate / count
        value = f"{soak.rate / 1e6:.2f} M rows/s, {ratio:.2f} x that"
        met = soak.rate >= 1e6 and ratio >= 0.4 if soak is plain else None
        rows.append(Row(title, value, "at least 1 M/s and 0.4 x" if soak is plain else "", met))
        for what, sizes in (("checkpoint", soak.checkpoint), ("memory of the workers", soak.memory)):
            third, fourth = _quarters(sizes)
            value = f"up to {third / 1e6:.1f} MB in the third quarter, {fourth / 1e6:.1f} MB in the fourth"
            rows.append(Row(f"  {what}", value, "no more than 1.2 x", fourth <= 1.2 * third))
    minutes = TRIGGERS * SECONDS // 60
    show(
        f"Streaming, local[2], 33 sites, {minutes} minutes of generated events, {TRIGGERS} triggers, epsilon 0.1", rows
    )
