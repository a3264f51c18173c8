"""A quiet Spark session on two cores whose workers run the same Python."""

from __future__ import annotations

import os
import sys
from typing import Any


def start_spark(partitions: int) -> Any:
    """Start Spark with the given number of partitions after a shuffle."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", partitions)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark
