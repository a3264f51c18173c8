"""Sketches built and merged on two executors."""

from __future__ import annotations

from typing import Any

from script_tools import sketches, text

import ecmsketch as ecm
from ecmsketch import spark as ecm_spark


def run(spark: Any, log: str, one_file: str, config: dict[str, Any], waves: dict[str, Any]) -> dict[str, Any]:
    plain, random = ecm.SketchConfig(**config), ecm.SketchConfig(**waves)
    columns = ("page", "tick", "site")
    events = spark.read.parquet(log)
    in_order = spark.read.parquet(one_file).coalesce(1)
    whole = ecm_spark.build_sketches(in_order, plain, *columns).cache()
    return {
        "one task": sketches(whole),
        "one task, random": sketches(ecm_spark.build_sketches(in_order, random, *columns)),
        "cut by time": sketches(ecm_spark.build_sketches(events.repartition(5), plain, *columns, sort=True)),
        "shuffled": sketches(ecm_spark.build_sketches(events.repartition(4), plain, *columns)),
        "files, one task": sketches(ecm_spark.build_sketches_from_files(spark, log, plain, *columns, tasks=1)),
        "files": sketches(ecm_spark.build_sketches_from_files(spark, log, plain, *columns, tasks=4)),
        "merged": text(ecm_spark.merge_sketches(whole).serialize()),
        "merged in pairs": text(ecm_spark.merge_sketches(whole, fan_in=2).serialize()),
        "executors": len(spark.sparkContext.statusTracker().getExecutorInfos()) - 1,  # one is the driver
    }
