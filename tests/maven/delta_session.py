"""A Spark session with the delta package: python delta_session.py JARS FOLDER prints what it reads there, as JSON."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.functions import col

from ecmsketch.store import SketchStore
from maven.counted_source import counted, made_events

os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def main(jars: str, folder: Path) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", jars)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        .getOrCreate()
    )
    said = read_store(spark, folder / "store") | count_source(spark, str(folder / "source"))
    said["spark"] = spark.version
    spark.stop()
    sys.stdout.write(json.dumps(said) + "\n")


def read_store(spark: SparkSession, path: Path) -> dict[str, object]:
    store = SketchStore(path)
    table = spark.read.format("delta").load(str(path))
    rows = sorted(list(row) for row in table.select("site", "version", "position", "bytes").collect())
    kept = sorted(file.name for file in (path / "_everywhere").rglob("*"))
    store.compact()
    spark.sql(f"VACUUM delta.`{path}` RETAIN 0 HOURS")
    store.vacuum(0, force=True)
    after = spark.read.format("delta").load(str(path))
    (one,) = after.where(col("site") == "alone").select("sketch").collect()
    return {
        "rows": rows,
        "compacted": after.count(),
        "sketch of one site": bytes(one[0]).hex(),
        "kept before": kept,
        "kept after": sorted(file.name for file in (path / "_everywhere").rglob("*")),
        "total": sum(made.total().value for made in store.latest().values()),
    }


def count_source(spark: SparkSession, path: str) -> dict[str, object]:
    """Write a Delta table with Spark, change it, and count it through a plain DataFrame."""
    made_events(spark).write.format("delta").save(path)
    spark.sql(f"INSERT INTO delta.`{path}` VALUES ('wrong', 5, 'x')")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE page = 'wrong'")
    return counted(spark.read.format("delta").load(path))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
