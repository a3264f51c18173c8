"""A stream of a recorded log into a store, to its end; a test kills it on the way."""

from __future__ import annotations

from typing import Any

from script_tools import SETTINGS, main


def run(log: str, store: str, checkpoint: str, config: dict[str, Any], step: int) -> dict[str, Any]:
    """`step` ticks a trigger."""
    from pyspark.sql import SparkSession

    import ecmsketch as ecm
    from ecmsketch import spark as ecm_spark

    builder = SparkSession.builder.master("local[2,4]")  # a task may fail three times
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    ecm_spark.use_rocksdb(spark)
    ecm_spark.register_sources(spark)
    reader = spark.readStream.format("replay").option("tick", "tick").option("speed", "max").option("step", step)
    sketches = ecm_spark.stream_sketches(reader.load(log), ecm.SketchConfig(**config), "page", "tick", "site")
    query = ecm_spark.write_to_store(sketches, store, checkpoint, "job").trigger(availableNow=True).start()
    query.awaitTermination()
    return {"batches": [progress["batchId"] for progress in query.recentProgress]}


if __name__ == "__main__":
    main(run)
