"""ecmsketch stream: keep the sketches of a live stream."""

from __future__ import annotations

from typing import Annotated

import typer

from ecmsketch.cli.kafka import KafkaOptions, KafkaSource
from ecmsketch.cli.lengths import ahead_ticks, to_ticks
from ecmsketch.cli.live import Lateness, LiveOptions, LiveSource
from ecmsketch.cli.options import Ahead, AsJson, HeavyHitters, Master, SketchOptions, Store
from ecmsketch.cli.output import say, show_one
from ecmsketch.cli.sketches import check_store

QueryName = Annotated[
    str | None,
    typer.Option(help="Name of the query in the store. Default: the path or the topic it reads.", show_default=False),
]


def stream(
    store: Store,
    checkpoint: Annotated[str, typer.Option(help="Folder for the state of the query.", show_default=False)],
    live: LiveOptions,
    kafka: KafkaOptions,
    options: SketchOptions,
    heavy_hitters: HeavyHitters = False,
    lateness: Lateness = "10m",
    ahead: Ahead = "1d",
    name: QueryName = None,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Keep one sketch per site of a stream, and write those that changed into a store after each trigger.

    Ctrl-C stops after the current trigger. Press it again to stop at once.

    Example: ecmsketch stream log --store live --checkpoint state --item object --tick timestamp --site server
    --heavy-hitters --speed 60; and in another terminal: ecmsketch top live --last 5m --follow. Without a log:
    ecmsketch stream --rate 10000 --store live --checkpoint state --heavy-hitters. From Kafka: ecmsketch stream
    --kafka localhost:9092 --topic requests --item url --tick ts --site server --store live --checkpoint state
    """
    source = source_of(live, kafka, checkpoint)
    config = options.config(heavy_hitters=heavy_hitters, late="side")
    config = config.replace(lateness=to_ticks(lateness, config.unit, "--lateness"))
    from ecmsketch.cli.session import needs_spark, run_until_interrupted, spark_session

    with needs_spark():
        source.check(config)
    check_store(store)
    with spark_session(master, source.settings()) as spark:
        from ecmsketch import spark as ecm_spark

        events, limit = source.events(spark, config), ahead_ticks(ahead, config.unit)
        roles = (source.item, source.tick, source.site, source.weight)
        sketches = ecm_spark.stream_sketches(events, config, *roles, ahead=limit)
        spark.streams.addListener(ecm_spark.ProgressListener(say))
        written = ecm_spark.write_to_store(ecm_spark.observed(sketches), store, checkpoint, name or source.name)
        last = run_until_interrupted(live.start(written))
    show_one({"store": store, "triggers": 0 if last is None else last["batchId"] + 1}, as_json)


def source_of(live: LiveOptions, kafka: KafkaOptions, checkpoint: str) -> LiveSource | KafkaSource:
    """Where events come from: a topic if there is one."""
    if kafka.kafka is not None:
        return kafka.source(live, checkpoint)
    kafka.check_unused()
    return live.source()
