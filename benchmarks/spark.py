"""Sketches on Spark against what Spark offers: count_min_sketch (without a window) and exact sliding windows.

All works read the same 48 M generated rows of Parquet in one session. They take turns; the best of two turns counts,
after a first one that starts workers.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ecmsketch as ecm
from benchmarks.sessions import start_spark
from benchmarks.table import Row, show

EVENTS = 48_000_000
SUBSET = 200_000
COLUMNS = ("object", "timestamp", "server")
FILES, FRAME = "build_sketches_from_files", "build_sketches"
SETTINGS: dict[str, dict[str, Any]] = {
    "eh, epsilon 0.1": {"counter": "eh", "epsilon": 0.1},
    "eh, epsilon 0.01": {"counter": "eh", "epsilon": 0.01},
    "slices, epsilon 0.01": {"counter": "slices", "epsilon": 0.01},
    "slices, epsilon 0.01, resolution 0.1": {"counter": "slices", "epsilon": 0.01, "resolution": 0.1},
}
TARGETS = {
    f"{FILES}, eh, epsilon 0.1": 1.0,
    f"{FRAME}, eh, epsilon 0.1": 0.4,
    f"{FILES}, slices, epsilon 0.01, resolution 0.1": 1.0,
}
"""The least speed of some works, as a multiple of count_min_sketch's."""
MERGED = f"{FILES}, eh, epsilon 0.1"
"""The work whose sketches are measured and merged."""


def run() -> None:
    """Generate the log and measure all works on it."""
    spark = start_spark(partitions=4)
    folder = Path(tempfile.mkdtemp(prefix="ecmsketch-bench-"))
    try:
        _measure(spark, str(folder / "log"))
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _measure(spark: Any, path: str) -> None:
    from ecmsketch import spark as ecm_spark
    from ecmsketch.generate import WorldCupLog

    generating = _timed(lambda: ecm_spark.write_generated(spark, WorldCupLog(EVENTS, day=66, days=4), path))
    events = spark.read.parquet(path)
    best, results = _take_turns(_works(spark, path, events))
    rows = [
        *_speeds(best),
        *(_size(name, results[f"{FILES}, {name}"]) for name in SETTINGS),
        Row("generating, as Parquet", f"{EVENTS / generating / 1e6:.1f} M events/s"),
        _exact_windows(events),
        _merging(spark, results[MERGED]),
    ]
    show("Spark, local[2], 48 M generated World Cup requests", rows)


def _timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _count_rows(batches: Any) -> Any:
    import pyarrow as pa

    yield pa.RecordBatch.from_arrays([pa.array([sum(batch.num_rows for batch in batches)])], names=["rows"])


def _works(spark: Any, path: str, events: Any) -> dict[str, Callable[[], Any]]:
    from pyspark.sql import functions as F  # noqa: N812

    from ecmsketch import spark as ecm_spark

    built_in = F.count_min_sketch("object", F.lit(0.001), F.lit(0.99), F.lit(42))
    works: dict[str, Callable[[], Any]] = {"built-in": lambda: events.select(built_in).collect()}
    for name, settings in SETTINGS.items():
        config = ecm.SketchConfig(delta=0.1, window=4 * 86_400, merge_depth=1, **settings)
        works[f"{FILES}, {name}"] = lambda config=config: ecm_spark.build_sketches_from_files(
            spark, path, config, *COLUMNS
        ).collect()
        works[f"{FRAME}, {name}"] = lambda config=config: ecm_spark.build_sketches(events, config, *COLUMNS).collect()
    works["nothing"] = lambda: events.select(*COLUMNS).mapInArrow(_count_rows, "rows bigint").collect()
    return works


def _take_turns(works: dict[str, Callable[[], Any]]) -> tuple[dict[str, float], dict[str, Any]]:
    """The best seconds and the last result of each work."""
    best = dict.fromkeys(works, float("inf"))
    results: dict[str, Any] = {}
    for turn in range(3):
        for name, work in works.items():
            began = time.perf_counter()
            results[name] = work()
            if turn:  # the first turn starts workers and loads modules
                best[name] = min(best[name], time.perf_counter() - began)
    return best, results


def _speeds(best: dict[str, float]) -> list[Row]:
    rate = EVENTS / best["built-in"]
    rows = [Row("count_min_sketch(object, 0.001, 0.99, 42), no window", f"{rate / 1e6:.1f} M rows/s")]
    for name in (f"{way}, {settings}" for way in (FILES, FRAME) for settings in SETTINGS):
        target, ratio = TARGETS.get(name), best["built-in"] / best[name]
        value = f"{ratio:.2f} x that, {EVENTS / best[name] / 1e6:.1f} M rows/s"
        wanted = "" if target is None else f"at least {target} x"
        rows.append(Row(name, value, wanted, None if target is None else ratio >= target))
    limit = f"{best['built-in'] / best['nothing']:.2f} x: no DataFrame can be faster"
    return [*rows, Row("mapInArrow that only counts rows of the same columns", limit)]


def _size(name: str, sketches: list[Any]) -> Row:
    size = sum(len(row["sketch"]) for row in sketches)
    return Row(f"bytes of all sketches, {name}", f"{size:,}; the log has {20 * EVENTS:,}")


def _exact_windows(events: Any) -> Row:
    from pyspark.sql import functions as F  # noqa: N812

    subset = events.limit(SUBSET).select("object", F.timestamp_seconds("timestamp").alias("at")).cache()
    subset.count()
    windows = subset.groupBy(F.window("at", "1 day", "1 hour"), "object").count().agg(F.sum("count"))
    exact = SUBSET / _timed(windows.collect)
    return Row(f"exact windows of a day that slide hourly, {SUBSET:,} rows", f"{exact / 1e6:.2f} M rows/s")


def _merging(spark: Any, sketches: list[Any]) -> Row:
    from ecmsketch import spark as ecm_spark

    frame = spark.createDataFrame(
        [(row["site"], bytes(row["sketch"])) for row in sketches], "site bigint, sketch binary"
    )
    return Row(
        f"merging {len(sketches)} sketches, epsilon 0.1", f"{_timed(lambda: ecm_spark.merge_sketches(frame)):.1f} s"
    )
