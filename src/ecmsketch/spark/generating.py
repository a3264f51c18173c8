"""Generated logs, written in parallel. Each task makes some slices of the log; they do not depend on the cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.fs as pfs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ecmsketch import worldcup98
from ecmsketch.errors import InputError
from ecmsketch.generate import SlicedLog, WorldCupLog
from ecmsketch.spark.file_opening import open_filesystem
from ecmsketch.spark.workers import use_driver_python

LABEL = "_GENERATED.json"
"""The file beside the data that says it is generated, so that nobody takes it for real. Spark ignores it."""
FORMATS = ("parquet", "worldcup98")
_SNMP_COLUMNS = ("timestamp", "site", "device")


def generated_events(spark: SparkSession, log: SlicedLog, tasks: int | None = None) -> DataFrame:
    """A generated log as a DataFrame of bigint columns; partitions follow each other in time."""
    use_driver_python(spark)
    names = worldcup98.FIELDS if isinstance(log, WorldCupLog) else _SNMP_COLUMNS

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column("id").to_pylist():
                columns = _columns(log, index)
                yield pa.RecordBatch.from_arrays([pa.array(columns[name]) for name in names], names=list(names))

    count = min(log.slices, tasks or max(8, log.slices // 16))
    numbers = spark.range(0, log.slices, 1, count)
    return numbers.mapInArrow(make, ", ".join(f"{name} bigint" for name in names))


def generated_stream(spark: SparkSession, rate: int) -> DataFrame:
    """Generated requests as if they came now, `rate` of them a second: object, timestamp (epoch seconds), server.

    A request's number decides all but its time, so that Spark makes the same ones again after a crash. Objects have
    the frequencies of Zipf's law with exponent 1, servers are those of the World Cup 98 log, all as busy.
    """
    if rate < 1:
        raise InputError(f"rate: expected 1 or more events a second, got {rate}")
    numbers = spark.readStream.format("rate").option("rowsPerSecond", rate).load()
    chance = (F.xxhash64("value").bitwiseAND(F.lit(2**53 - 1)) + F.lit(0.5)) / F.lit(2.0**53)
    servers = F.array(*(F.lit(server) for server in worldcup98.SERVERS))
    return numbers.select(
        F.floor(F.pow(F.lit(float(WorldCupLog.objects)), chance)).cast("bigint").alias("object"),
        F.unix_seconds("timestamp").alias("timestamp"),
        servers[F.pmod(F.xxhash64("value", F.lit(1)), F.lit(len(worldcup98.SERVERS))).cast("int")]
        .cast("bigint")
        .alias("server"),
    )


def write_generated(
    spark: SparkSession, log: SlicedLog, path: str, format: str = "parquet", compress: bool = True
) -> int:
    """Write a generated log into a new folder, labelled as such; returns how many events there are.

    "parquet", or "worldcup98" for the World Cup log's own binary files, one for every slice.
    """
    if format not in FORMATS or (format == "worldcup98" and not isinstance(log, WorldCupLog)):
        raise InputError(
            f"format: expected one of {', '.join(FORMATS)} (worldcup98 for its own log only), got {format!r}"
        )
    filesystem, inside = open_filesystem(path)
    if filesystem.get_file_info(inside).type != pfs.FileType.NotFound:
        raise InputError(f"{path}: it exists already; give a new folder, or remove it first")
    filesystem.create_dir(inside, recursive=True)
    if format == "parquet":
        generated_events(spark, log).write.mode("append").parquet(path)
    else:
        assert isinstance(log, WorldCupLog)
        _write_binary(spark, log, path, compress)
    with filesystem.open_output_stream(f"{inside}/{LABEL}") as file:
        file.write(json.dumps({"generated": True, "what": log.describe(), "events": log.events}, indent=2).encode())
    return log.events


def _write_binary(spark: SparkSession, log: WorldCupLog, path: str, compress: bool) -> None:
    """Let every worker write its slices itself."""
    use_driver_python(spark)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column("id").to_pylist():
                name = f"generated_wc_day{log.day}_{index:05d}" + (".gz" if compress else "")
                _put(path, name, log, index, compress)
                yield pa.RecordBatch.from_arrays([pa.array([name])], names=["file"])

    spark.range(0, log.slices, 1, min(log.slices, 64)).mapInArrow(write, "file string").collect()


def _put(path: str, name: str, log: WorldCupLog, index: int, compress: bool) -> None:
    """Write a slice under another name first, so that a task that fails leaves no half-written file."""
    import gzip

    filesystem, inside = open_filesystem(path)
    data: bytes = log.slice(index).tobytes()
    part = f"{inside}/.{name}.part"
    with filesystem.open_output_stream(part, compression=None) as file:
        file.write(gzip.compress(data, 6, mtime=0) if compress else data)
    filesystem.move(part, f"{inside}/{name}")


def _columns(log: Any, index: int) -> dict[str, Any]:
    made = log.slice(index)
    return made if isinstance(made, dict) else worldcup98.to_columns(made)
