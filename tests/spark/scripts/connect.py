"""Everything on Spark Connect: a client that has no SparkContext, and a server in a process of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from script_tools import SETTINGS, main, sketches, text

import ecmsketch as ecm
from ecmsketch import spark as ecm_spark
from ecmsketch.errors import EcmError
from ecmsketch.generate import WorldCupLog
from ecmsketch.spark.failures import spark_errors
from ecmsketch.store import SketchStore

COLUMNS = ("page", "tick", "site")
SCHEMA = "site string, sketch binary"
NO_SKETCH = "select ecm_sketch_get_n(cast('abc' as binary))"


def run(folder: str, log: str, one_file: str, config: dict[str, Any]) -> dict[str, Any]:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote("local[2]").config(map=SETTINGS).getOrCreate()
    try:
        settings = ecm.SketchConfig(**config)
        return {
            "session": type(spark).__module__,
            **build(spark, log, one_file, settings),
            **ask(spark),
            **generate(spark, Path(folder)),
            **stream(spark, Path(folder)),
            **fail(spark, Path(folder), log, settings),
        }
    finally:
        spark.stop()


def build(spark: Any, log: str, one_file: str, config: ecm.SketchConfig) -> dict[str, Any]:
    in_order = spark.read.parquet(one_file).coalesce(1)
    from_files = ecm_spark.build_sketches_from_files(spark, log, config, *COLUMNS, tasks=1).select("site", "sketch")
    rows = spark.createDataFrame(from_files.collect(), SCHEMA)
    rows.createOrReplaceTempView("sketches")
    levels: list[ecm_spark.MergeLevel] = []
    merged = ecm_spark.merge_sketches(rows, fan_in=2, report=levels.append)
    return {
        "one task": sketches(ecm_spark.build_sketches(in_order, config, *COLUMNS)),
        "cut by time": sketches(ecm_spark.build_sketches(spark.read.parquet(log), config, *COLUMNS, sort=True)),
        "files, one task": sketches(rows),
        "files": sketches(ecm_spark.build_sketches_from_files(spark, log, config, *COLUMNS)),
        "merged in pairs": text(merged.serialize()),
        "levels": len(levels),
        "bytes of a batch": spark.conf.get("spark.sql.execution.arrow.maxBytesPerBatch"),
    }


def ask(spark: Any) -> dict[str, Any]:
    """SQL over the sketches of one task."""
    ecm_spark.register_functions(spark)

    def rows(question: str) -> list[list[Any]]:
        return [list(row) for row in spark.sql(question).collect()]

    ((union,),) = rows("select ecm_union_agg(sketch) from sketches")
    return {
        "estimates": rows(
            "select site, ecm_sketch_estimate(sketch, '/page/1'), ecm_sketch_estimate(sketch, '/page/1', 1000) "
            "from sketches order by site"
        ),
        "union": text(union),
        "heavy hitters": rows(
            "select site, h.item, h.estimate from sketches, lateral ecm_heavy_hitters(sketch, 0.05) h "
            "order by site, estimate desc"
        ),
    }


def generate(spark: Any, folder: Path) -> dict[str, Any]:
    """A generated log, written by workers, read by the data source."""
    path = str(folder / "generated")
    written = ecm_spark.write_generated(spark, WorldCupLog(20_000, seed=3), path, "worldcup98")
    ecm_spark.register_sources(spark)
    frame = spark.read.format("worldcup98").load(path)
    totals = frame.selectExpr("count(*)", "sum(timestamp)", "sum(client)", "sum(object)", "sum(size)").collect()[0]
    return {"written": written, "read": list(totals)}


def stream(spark: Any, folder: Path) -> dict[str, Any]:
    """A query, started again with its checkpoint, and with a new one; one beside it, and one that was renamed.

    The rows of a trigger are sketches that were built before: what matters here is who writes them.
    """
    source, store = str(folder / "stream"), SketchStore(folder / "store")
    spark.table("sketches").selectExpr("site", "sketch", "cast(1 as bigint) as events").write.parquet(source)

    def run(checkpoint: str, name: str, query_name: str | None = None) -> str | None:
        rows = spark.readStream.schema(f"{SCHEMA}, events bigint").parquet(source)
        writer = ecm_spark.write_to_store(rows, store.path, str(folder / checkpoint), name)
        try:
            writer.trigger(availableNow=True).queryName(query_name or name).start().awaitTermination()
        except PySparkException as failure:
            return str(failure)
        return None

    def written() -> list[list[Any]]:
        return sorted([row.writer, row.generation, row.batch] for row in store.history("athens"))

    failed = [run("first", "web"), run("first", "web")]
    once = written()
    failed.append(run("new [1]", "web"))
    anew = written()
    failed.append(run("beside", "mail"))
    return {
        "failed": failed,
        "once": once,
        "anew": anew,
        "beside": written(),
        "total": store.latest()["athens"].total().value,
        "renamed": run("renamed", "other", "renamed"),
    }


def fail(spark: Any, folder: Path, log: str, config: ecm.SketchConfig) -> dict[str, Any]:
    """Errors that workers raise, as they come back to the user."""
    one, other = (ecm.EcmSketch(config.replace(seed=seed)).serialize() for seed in (1, 2))
    broken = spark.createDataFrame([("a", b"no"), ("b", b"x")], SCHEMA)
    unequal = spark.createDataFrame([("a", one), ("b", other)], SCHEMA)
    file = folder / "cut.parquet"
    shutil.copy(next(Path(log).glob("*.parquet")), file)
    from_files = ecm_spark.build_sketches_from_files(spark, str(file), config, *COLUMNS)
    file.write_bytes(file.read_bytes()[:1000])
    missing = spark.read.format("worldcup98").load(str(folder / "nothing"))
    return {
        "errors": {
            "broken": error(lambda: ecm_spark.merge_sketches(broken)),
            "unequal": error(lambda: ecm_spark.merge_sketches(unequal)),
            "cut": error(from_files.collect),
            "sql": error(spark.sql(NO_SKETCH).collect),
            "missing": error(missing.count),
        }
    }


def error(action: Callable[[], Any]) -> str:
    try:
        with spark_errors():
            action()
    except EcmError as failure:
        return f"{type(failure).__name__}: {failure}"
    return "none"


if __name__ == "__main__":
    main(run)
