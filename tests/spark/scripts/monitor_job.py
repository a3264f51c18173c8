"""A monitor of a recorded log, to its end; a test kills it on the way."""

from __future__ import annotations

from typing import Any

from script_tools import SETTINGS, main


def run(log: str, folder: str, alerts: str, step: int, any_item: bool) -> dict[str, Any]:
    """`step` ticks a trigger. It watches any item, or only the one that is flooded."""
    from pyspark.sql import SparkSession

    import ecmsketch as ecm
    from ecmsketch import spark as ecm_spark
    from ecmsketch.monitor import Above, AnyItem, Frequency, Watch

    builder = SparkSession.builder.master("local[2,4]")  # a task may fail three times
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    ecm_spark.use_rocksdb(spark)
    ecm_spark.register_sources(spark)
    reader = spark.readStream.format("replay").option("tick", "tick").option("speed", "max").option("step", step)
    config = ecm.SketchConfig(
        epsilon=0.1, delta=0.1, window=500, unit="s", late="side", lateness=10, heavy_hitters=any_item
    )
    if any_item:
        watch = Watch(AnyItem(800), last=500, sketch=config, balance="eager")
    else:
        watch = Watch(Frequency("victim"), Above(800), 500, config, balance="eager")
    seen: list[Any] = []
    writer = ecm_spark.monitor_sites(
        reader.load(log), watch, "address", "tick", "site", folder=folder, name="flood", alerts=alerts,
        on_status=seen.append,
    )  # fmt: skip
    writer.trigger(availableNow=True).start().awaitTermination()
    last = seen[-1]
    return {"events": last.events, "reasons": last.reasons, "sites": last.sites, "now": last.now}


if __name__ == "__main__":
    main(run)
