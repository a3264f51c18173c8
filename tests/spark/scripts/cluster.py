"""One cluster of two executors, each with a core, as processes of their own: what is built on it, in peace and not."""

from __future__ import annotations

from typing import Any

import cluster_builds
import cluster_kill
from script_tools import SETTINGS, main

CLUSTER = {
    "spark.master": "local-cluster[2,1,2048]",
    "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # no job before both executors are there
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
}


def run(folder: str, log: str, one_file: str, config: dict[str, Any], waves: dict[str, Any]) -> dict[str, Any]:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.config(map={**SETTINGS, **CLUSTER}).getOrCreate()
    try:
        builds = cluster_builds.run(spark, log, one_file, config, waves)
        return {"builds": builds, **cluster_kill.run(spark, folder)}
    finally:
        spark.stop()


if __name__ == "__main__":
    main(run)
