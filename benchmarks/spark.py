"""Sketches on Spark against what Spark has: count_min_sketch (without a window), exact sliding windows.

48 M generated rows in Parquet; one session, works taking turns, best of two after a first that starts workers.
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


def run() -> None:
    """All of it."""
    spark = start_spark(partitions=4)
    folder = Path(tempfile.mkdtemp(prefix="ecmsketch-bench-"))
    try:
        _measure(spark, str(folder / "log"))
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _nothing(batches: Any) -> Any:
    import pyarrow as pa

    yield pa.RecordBatch.from_arrays([pa.array([sum(batch.num_rows for batch in batches)])], names=["rows"])


def _measure(spark: Any, path: str) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    from ecmsketch import spark as ecm_spark
    from ecmsketch.generate import WorldCupLog

    began = time.perf_counter()
    ecm_spark.write_generated(spark, WorldCupLog(EVENTS, day=66, days=4), path)
    generating = EVENTS / (time.perf_counter() - began)
    events = spark.read.parquet(path)
    columns = ("object", "timestamp", "server")

    def built_in() -> Any:
        sketch = F.count_min_sketch("object", F.lit(0.001), F.lit(0.99), F.lit(42))
        return events.select(sketch).collect()

    works: dict[str, Callable[[], Any]] = {"built-in": built_in}
    for epsilon in (0.1, 0.01):
        config = ecm.SketchConfig(epsilon=epsilon, delta=0.1, window=4 * 86_400, merge_depth=1)
        works[f"files {epsilon}"] = lambda config=config: ecm_spark.build_sketches_from_files(
            spark, path, config, *columns
        ).collect()
        works[f"frame {epsilon}"] = lambda config=config: ecm_spark.build_sketches(events, config, *columns).collect()
    works["nothing"] = lambda: events.select(*columns).mapInArrow(_nothing, "rows bigint").collect()
    best = dict.fromkeys(works, float("inf"))
    results: dict[str, Any] = {}
    for turn in range(3):
        for name, work in works.items():
            began = time.perf_counter()
            results[name] = work()
            if turn:  # the first turn starts workers and compiles
                best[name] = min(best[name], time.perf_counter() - began)
    rate = EVENTS / best["built-in"]
    rows = [Row("count_min_sketch(object, 0.001, 0.99, 42), no window", f"{rate / 1e6:.1f} M rows/s")]
    for name, target in (("files 0.1", 1.0), ("frame 0.1", 0.4), ("files 0.01", None), ("frame 0.01", None)):
        kind, epsilon = name.split()
        title = {"files": "build_sketches_from_files", "frame": "build_sketches"}[kind]
        ratio = best["built-in"] / best[name]
        value = f"{ratio:.2f} x that, {EVENTS / best[name] / 1e6:.1f} M rows/s"
        wanted = "" if target is None else f"at least {target} x"
        rows.append(Row(f"{title}, epsilon {epsilon}", value, wanted, None if target is None else ratio >= target))
    floor = best["built-in"] / best["nothing"]
    rows.append(
        Row("mapInArrow that does nothing with the same columns", f"{floor:.2f} x: the most a DataFrame can give")
    )
    size = sum(len(row["sketch"]) for row in results["files 0.1"])
    rows.append(Row("bytes of all sketches, epsilon 0.1", f"{size:,}; the log is {20 * EVENTS:,}"))
    rows.append(Row("generating, as Parquet", f"{generating / 1e6:.1f} M events/s"))
    subset = events.limit(SUBSET).select("object", F.timestamp_seconds("timestamp").alias("at")).cache()
    subset.count()
    began = time.perf_counter()
    subset.groupBy(F.window("at", "1 day", "1 hour"), "object").count().agg(F.sum("count")).collect()
    exact = SUBSET / (time.perf_counter() - began)
    rows.append(Row(f"exact windows of a day sliding hourly, {SUBSET:,} rows", f"{exact / 1e6:.2f} M rows/s"))
    frame = spark.createDataFrame(
        [(row["site"], bytes(row["sketch"])) for row in results["files 0.1"]], "site bigint, sketch binary"
    )
    began = time.perf_counter()
    ecm_spark.merge_sketches(frame)
    rows.append(
        Row(f"merging {len(results['files 0.1'])} sketches, epsilon 0.1", f"{time.perf_counter() - began:.1f} s")
    )
    show("Spark, local[2], 48 M generated World Cup requests", rows)
