"""ecmsketch stream: sketches of a log as it comes."""

from __future__ import annotations

from typing import Annotated

import typer

from ecmsketch.cli.options import (
    AsJson,
    Counter,
    Delta,
    Epsilon,
    HeavyHitters,
    Master,
    MergeDepth,
    Unit,
    Window,
    make_config,
    to_ticks,
)  # fmt: skip
from ecmsketch.cli.output import say, show_one


def stream(
    path: Annotated[str, typer.Argument(help="A folder: recorded, or where new files appear.", show_default=False)],
    store: Annotated[str, typer.Option(help="Where the sketches go: a Delta table.", show_default=False)],
    checkpoint: Annotated[str, typer.Option(help="Where Spark keeps the query's state.", show_default=False)],
    item: Annotated[list[str], typer.Option(help="Column to count; several times: rows of them.", show_default=False)],
    tick: Annotated[str, typer.Option(help="Column of the time.", show_default=False)],
    site: Annotated[str | None, typer.Option(help="Column of the place. Default: one place.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of what a row counts. Default: 1.")] = None,
    epsilon: Epsilon = 0.01,
    delta: Delta = 0.01,
    window: Window = "1d",
    unit: Unit = "s",
    counter: Counter = "eh",
    merge_depth: MergeDepth = 1,
    heavy_hitters: HeavyHitters = False,
    lateness: Annotated[str, typer.Option(help="How late events still count in their place.")] = "10m",
    speed: Annotated[float, typer.Option(help="Seconds of a recorded log played in one second.", min=0.001)] = 1.0,
    watch: Annotated[bool, typer.Option("--watch", help="Take new Parquet files as they appear, instead.")] = False,
    every: Annotated[float, typer.Option(help="Seconds between triggers.", min=0)] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Take all there is, and end.")] = False,
    name: Annotated[str, typer.Option(help="Of the query, in the store.")] = "stream",
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Keep one sketch per site of a stream, and write those that changed into a store, until interrupted.

    Example: ecmsketch stream log --store live --checkpoint state --item object --tick timestamp --site server
    --heavy-hitters --speed 60; and in another terminal: ecmsketch top live --last 5m --follow
    """
    config = make_config(
        epsilon=epsilon, delta=delta, window=window, unit=unit, counter=counter, merge_depth=merge_depth,
        heavy_hitters=heavy_hitters, late="side",
    )  # fmt: skip
    config = config.replace(lateness=to_ticks(lateness, config.unit, "--lateness"))
    from ecmsketch.cli.session import spark_session

    with spark_session(master) as spark:
        from ecmsketch import spark as ecm_spark

        ecm_spark.use_rocksdb(spark)
        spark.conf.set(
            "spark.sql.shuffle.partitions", spark.sparkContext.defaultParallelism
        )  # 200 state stores are slow
        ecm_spark.register_sources(spark)
        if watch:
            events = spark.readStream.schema(spark.read.parquet(path).schema).parquet(path)
        else:
            reader = spark.readStream.format("replay").option("tick", tick).option("speed", str(speed))
            events = reader.load(path)
        sketches = ecm_spark.stream_sketches(
            events, config, item if len(item) > 1 else item[0], tick, site, weight
        )  # fmt: skip
        spark.streams.addListener(ecm_spark.ProgressListener(say))
        writer = ecm_spark.write_to_store(ecm_spark.observed(sketches), store, checkpoint, name)
        writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=f"{every} seconds")
        query = writer.start()
        try:
            query.awaitTermination()
        except KeyboardInterrupt:
            query.stop()
        last = query.lastProgress
    show_one({"store": store, "triggers": 0 if last is None else last["batchId"] + 1}, as_json)
