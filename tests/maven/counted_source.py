"""Counts a table that Spark reads through another project's package: sketches beside the exact counts."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lit, when

import ecmsketch as ecm
from ecmsketch import spark as ecm_spark

CONFIG = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=100_000)


def made_events(spark: SparkSession) -> DataFrame:
    """A thousand events of two pages, 400 and 600, to write as a table."""
    names = when(col("id") % 5 < 2, "a").otherwise("b")
    return spark.range(1000).select(names.alias("page"), col("id").alias("tick"), lit("x").alias("site"))


def counted(events: DataFrame) -> dict[str, object]:
    """What sketches and Spark itself say of a plain DataFrame."""
    merged = ecm_spark.merge_sketches(
        ecm_spark.build_sketches(events, CONFIG, item="page", tick="tick", site="site")
    )  # fmt: skip
    exact = {row[0]: row[1] for row in events.groupBy("page").count().collect()}
    return {
        "exact": exact,
        "total of the source": merged.total().value,
        "source": {item: merged.estimate(item).value for item in sorted(exact)},
    }
