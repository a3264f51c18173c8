"""Messages of a Kafka broker on this machine into a store, against reading the topic with Spark alone, in one session.

Needs `make kafka`, and `pip install -e '.[kafka-tests]'` for the topic. The broker of the tests is used.
ECMSKETCH_MESSAGES sets how many messages there are. Rates exclude the first trigger, which starts workers.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import ecmsketch as ecm
from benchmarks.table import Row, show

MESSAGES = int(os.environ.get("ECMSKETCH_MESSAGES", 10_000_000))
TRIGGER = min(1_000_000, MESSAGES // 10)
"""The number of messages of one trigger."""
SITES, PARTITIONS, FIRST, SECONDS = 34, 4, 898_000_000, 80_000
CONFIG = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=86_400, unit="s", late="side", lateness=600)
TOPIC = "requests"
Result = TypeVar("Result")


def run() -> None:
    """Fill a topic, read it in three ways, and compare what was counted with the topic."""
    sys.path[:0] = [str(Path(__file__).parents[1] / "tests" / part) for part in ("", "kafka")]
    from kafka_artifacts import broker_jars, connector_jars
    from kafka_broker import Broker

    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended before it was done"))  # the broker must not outlive it
    folder = Path(tempfile.mkdtemp(prefix="ecmsketch-bench-"))
    broker = Broker(folder, broker_jars())
    spark = _start_spark(connector_jars())
    try:
        broker.create(TOPIC, PARTITIONS)
        _said("filled", lambda: _fill(spark, broker.address))
        assert sum(broker.ends(TOPIC).values()) == MESSAGES
        messages = _messages(spark, broker.address)
        read = _said("read", lambda: _rate(messages.writeStream.format("noop"), folder / "read"))
        parsed = _said("parsed", lambda: _rate(_events(messages).writeStream.format("noop"), folder / "parsed"))
        sketched = _said("sketched", lambda: _sketch(messages, folder))
        exact = _said("compared", lambda: _exact(spark, broker.address, folder))
        _show(read, parsed, sketched, exact)
    finally:
        spark.stop()
        broker.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _said(done: str, work: Callable[[], Result]) -> Result:
    """Do a step, and say how long it took: the whole takes some minutes."""
    began = time.perf_counter()
    result = work()
    print(f"  the topic was {done} in {time.perf_counter() - began:.0f} s", flush=True)
    return result


def _start_spark(jars: list[Path]) -> Any:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    from ecmsketch import spark as ecm_spark

    settings = {
        "spark.driver.memory": "3g",
        "spark.jars": ",".join(map(str, jars)),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
    }
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    ecm_spark.use_rocksdb(spark)
    return spark


def _fill(spark: Any, brokers: str) -> None:
    """Two tasks write the messages of one half of the sites each, in order of time."""
    from pyspark.sql import functions as F  # noqa: N812

    half = MESSAGES // 2
    number = F.col("id") % half
    server = (2 * (F.abs(F.xxhash64("id")) % (SITES // 2)) + F.expr(f"id div {half}")).cast("int")
    event = F.struct(
        F.concat(F.lit("/page/"), F.floor(10_000 * F.pow(F.rand(1), 4))).alias("url"),
        F.concat(F.lit("server-"), server).alias("server"),
        (FIRST + F.floor(number * SECONDS / half)).alias("ts"),
    )
    messages = spark.range(0, 2 * half, 1, 2).select(event.alias("event"))
    messages = messages.select(F.col("event.server").alias("key"), F.to_json("event").alias("value"))
    messages.write.format("kafka").option("kafka.bootstrap.servers", brokers).option("topic", TOPIC).save()


def _messages(spark: Any, brokers: str) -> Any:
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", brokers).option("subscribe", TOPIC)
    return reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", TRIGGER).load()


def _events(messages: Any) -> Any:
    from ecmsketch import spark as ecm_spark

    return ecm_spark.parse_messages(messages, CONFIG, "json", "url", "ts", "server")


def _rate(writer: Any, checkpoint: Path) -> float:
    """Messages per second of a query that reads everything there is."""
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    done = [progress for progress in query.recentProgress if progress["numInputRows"]][1:]
    seconds = sum(progress["durationMs"]["triggerExecution"] for progress in done) / 1000
    return sum(progress["numInputRows"] for progress in done) / seconds


def _sketch(messages: Any, folder: Path) -> float:
    from ecmsketch import spark as ecm_spark

    sketches = ecm_spark.stream_sketches(_events(messages), CONFIG, "url", "ts", "server")
    return _rate(
        ecm_spark.write_to_store(sketches, str(folder / "store"), str(folder / "state"), TOPIC), folder / "state"
    )


def _exact(spark: Any, brokers: str, folder: Path) -> bool:
    """Whether the store has as many events of every site as the topic, counted by Spark itself."""
    from pyspark.sql import functions as F  # noqa: N812

    from ecmsketch.store import SketchStore

    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", brokers).option("subscribe", TOPIC).load()
    counted = {
        row["key"]: row["count"] for row in reader.groupBy(F.col("key").cast("string").alias("key")).count().collect()
    }
    stored = {site: sketch.total().value for site, sketch in SketchStore(folder / "store").latest().items()}
    assert sum(counted.values()) == MESSAGES
    return stored == counted


def _show(read: float, parsed: float, sketched: float, exact: bool) -> None:
    def shown(rate: float) -> str:
        return f"{rate / 1e6:.3f} M messages/s, {rate / read:.2f} x reading"

    rows = [
        Row("read the topic, noop sink", f"{read / 1e6:.3f} M messages/s"),
        Row("read and parse JSON, noop sink", shown(parsed)),
        Row("read, parse, sketch, write to the store", shown(sketched)),
        Row("counts of all sites equal those of the topic", "yes" if exact else "no", "yes", exact),
    ]
    show(
        f"Kafka, local[2], broker on the same machine, {MESSAGES / 1e6:g} M messages, {SITES} sites, epsilon 0.1", rows
    )
