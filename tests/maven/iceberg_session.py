"""A Spark session with Iceberg: python iceberg_session.py JARS FOLDER prints what it counts there, as JSON."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from maven.counted_source import counted, made_events

os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
TABLE = "ice.web.events"


def main(jars: str, folder: Path) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", jars)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
        .config("spark.sql.catalog.ice", "org.apache.iceberg.spark.SparkCatalog")
        .config("spark.sql.catalog.ice.type", "hadoop")
        .config("spark.sql.catalog.ice.warehouse", str(folder))
        .getOrCreate()
    )
    made_events(spark).writeTo(TABLE).using("iceberg").tableProperty("write.delete.mode", "merge-on-read").create()
    spark.sql(f"INSERT INTO {TABLE} VALUES ('wrong', 5, 'x')")
    spark.sql(f"DELETE FROM {TABLE} WHERE page = 'wrong'")
    (first,) = spark.sql(f"SELECT snapshot_id FROM {TABLE}.snapshots ORDER BY committed_at LIMIT 1").first() or (0,)
    spark.sql(f"INSERT INTO {TABLE} VALUES ('late', 7, 'x')")
    said = {
        "now": counted(spark.table(TABLE)),
        "first": counted(spark.sql(f"SELECT * FROM {TABLE} VERSION AS OF {first}")),
        "spark": spark.version,
    }
    spark.stop()
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
