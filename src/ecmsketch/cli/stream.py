"""ecmsketch stream: sketches of a log as it comes."""

from __future__ import annotations

from typing import Annotated

import typer

from ecmsketch.cli.live import Every, Folder, Items, Lateness, NewFiles, Rate, Speed, Tick, live
from ecmsketch.cli.options import (
    AsJson,
    Counter,
    Delta,
    Epsilon,
    HeavyHitters,
    Master,
    MergeDepth,
    SiteColumn,
    Unit,
    WeightColumn,
    Window,
    make_config,
    to_ticks,
)  # fmt: skip
from ecmsketch.cli.output import say, show_one


def stream(
    store: Annotated[str, typer.Option(help="Where the sketches go: a Delta table.", show_default=False)],
    checkpoint: Annotated[str, typer.Option(help="Where Spark keeps the query's state.", show_default=False)],
    path: Folder = None,
    item: Items = None,
    tick: Tick = None,
    site: SiteColumn = None,
    weight: WeightColumn = None,
    epsilon: Epsilon = 0.01,
    delta: Delta = 0.01,
    window: Window = "1d",
    unit: Unit = "s",
    counter: Counter = "eh",
    merge_depth: MergeDepth = 1,
    heavy_hitters: HeavyHitters = False,
    lateness: Lateness = "10m",
    speed: Speed = 1.0,
    rate: Rate = None,
    watch: NewFiles = False,
    every: Every = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Take all there is, and end.")] = False,
    name: Annotated[str, typer.Option(help="Of the query, in the store.")] = "stream",
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Keep one sketch per site of a stream, and write those that changed into a store, until interrupted.

    Example: ecmsketch stream log --store live --checkpoint state --item object --tick timestamp --site server
    --heavy-hitters --speed 60; and in another terminal: ecmsketch top live --last 5m --follow. Without a log:
    ecmsketch stream --rate 10000 --store live --checkpoint state --heavy-hitters
    """
    source = live(path, item, tick, site, speed, rate, watch)
    if once and rate is not None:
        raise typer.BadParameter("generated events have no end: leave --once out")
    config = make_config(
        epsilon=epsilon, delta=delta, window=window, unit=unit, counter=counter, merge_depth=merge_depth,
        heavy_hitters=heavy_hitters, late="side",
    )  # fmt: skip
    config = config.replace(lateness=to_ticks(lateness, config.unit, "--lateness"))
    from ecmsketch.cli.session import run_until_interrupted, spark_session

    with spark_session(master) as spark:
        from ecmsketch import spark as ecm_spark

        events = source.events(spark)
        sketches = ecm_spark.stream_sketches(events, config, source.item, source.tick, source.site, weight)
        spark.streams.addListener(ecm_spark.ProgressListener(say))
        writer = ecm_spark.write_to_store(ecm_spark.observed(sketches), store, checkpoint, name)
        writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=f"{every} seconds")
        query = writer.start()
        run_until_interrupted(query)
        last = query.lastProgress
    show_one({"store": store, "triggers": 0 if last is None else last["batchId"] + 1}, as_json)
