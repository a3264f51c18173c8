"""Topics of a real broker, in every format, with poison in them: what can be counted is, and exactly."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from kafka_messages import (
    CONFIG,
    ID,
    SCHEMA,
    as_avro,
    as_confluent,
    as_csv,
    as_json,
    assert_same,
    events,
    keyed,
    number,
    one_process,
)  # fmt: skip

import ecmsketch as ecm
from ecmsketch import spark as ecm_spark
from ecmsketch.errors import InputError
from ecmsketch.store import SketchStore

pytestmark = pytest.mark.maven

POISON = {
    "json": [
        b"no JSON", b"", None, b"\xff\xfe", b'{"url": "/a"', b"[1]", b'{"url": "/a", "server": "cairo", "ts": "soon"}',
        b'{"url": {}, "server": ["cairo"], "ts": {}}',
        b'{"url": "' + b"x" * 5_000_000 + b'", "server": "cairo", "ts": 1}',
    ],
    "csv": [b"", None, b"\xff,x,y", b"1,2", b"1,2,3,4", b"soon,/a,cairo", b"," * 100_000, b"x" * 5_000_000, b'"'],
    "avro": [
        b"", None, b"no Avro", as_avro("/a", "cairo", 1) + b"more", as_avro("/a", "cairo", 2**40)[:-2], b"\0" * 3,
        as_confluent("/a", "cairo", 1), number(1) + number(2**31 - 20) + b"x", number(1) + number(-7), number(9),
        as_avro("x" * 5_000_000, "cairo", 1),
    ],
    "confluent": [
        b"", None, as_avro("/a", "cairo", 1), b"\0" + (ID + 1).to_bytes(4, "big") + as_avro("/a", "cairo", 1),
        as_confluent("/a", "cairo", 1) + b"more", b"\0\0\0\0", b"\1" + as_confluent("/a", "cairo", 1)[1:],
    ],
}  # fmt: skip
FORMATS = {
    "json": (as_json, {"format": "json"}),
    "csv": (as_csv, {"format": "csv", "columns": ["ts", "url", "server"]}),
    "avro": (as_avro, {"format": "avro", "schema": json.dumps(SCHEMA)}),
    "confluent": (as_confluent, {"format": "avro", "schema": json.dumps(SCHEMA), "schema_id": ID}),
}


def read(spark, broker, topic, **options):
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker.address)
    reader = reader.option("subscribe", topic).option("startingOffsets", "earliest")
    for name, value in options.items():
        reader = reader.option(name, value)
    return reader.load()


def count_all(spark, messages, checkpoint, **parsing):
    """The newest row of each site, once everything there is was read."""
    rows = {}
    config = ecm.SketchConfig(**CONFIG)
    parsed = ecm_spark.parse_messages(messages, config, item="url", tick="ts", site="server", **parsing)
    sketches = ecm_spark.stream_sketches(parsed, config, "url", "ts", "server")
    writer = sketches.writeStream.outputMode("update").option("checkpointLocation", str(checkpoint))
    ecm_spark.use_rocksdb(spark)
    query = writer.foreachBatch(lambda batch, _: rows.update({row["site"]: row for row in batch.collect()}))
    query = query.trigger(availableNow=True).start()
    try:
        with ecm_spark.spark_errors():
            query.awaitTermination(240)
    finally:
        query.stop()
    return rows


@pytest.mark.parametrize("name", FORMATS)
def test_counts_are_exact_in_every_format_and_poison_is_counted(spark, broker, topic, tmp_path, name):
    encode, parsing = FORMATS[name]
    given = events(3000)
    messages = keyed(given, encode)
    for i, poison in enumerate(POISON[name]):
        messages.insert(1 + 250 * i, (f"key {i}", poison))
    broker.send(topic, messages)
    assert sum(broker.ends(topic).values()) == len(messages)
    rows = count_all(spark, read(spark, broker, topic, maxOffsetsPerTrigger=1500), tmp_path / "state", **parsing)
    assert sum(row["rejected"] for row in rows.values()) == len(POISON[name])
    assert sum(row["events"] for row in rows.values()) == len(given)
    counted = {site: row["sketch"] for site, row in rows.items() if row["sketch"] is not None}
    found = {site: ecm.EcmSketch.deserialize(bytes(sketch)) for site, sketch in counted.items()}
    assert_same(found, one_process(given))


def test_a_truncated_topic_is_an_error_that_says_what_to_do(spark, broker, topic, tmp_path):
    broker.send(topic, keyed(events(300), as_json))
    count_all(spark, read(spark, broker, topic), tmp_path / "state", format="json")
    broker.send(topic, keyed(events(300, first=898_010_000), as_json))
    broker.truncate(topic, broker.ends(topic))
    with pytest.raises(InputError, match="messages were deleted before this query had read them") as caught:
        count_all(spark, read(spark, broker, topic), tmp_path / "state", format="json")
    assert "--allow-loss" in str(caught.value)
    broker.send(topic, keyed(events(300, first=898_020_000), as_json))
    rows = count_all(spark, read(spark, broker, topic, failOnDataLoss=False), tmp_path / "state", format="json")
    assert sum(row["events"] for row in rows.values()) == 300 + 300


def test_the_python_lines_of_the_docs(spark, broker, tmp_path):
    """As they are printed, but for the address of the broker, where things are, and the endless wait."""
    docs = Path(__file__).parents[2] / "docs" / "streaming.md"
    (block,) = (found for found in re.findall(r"```python\n(.*?)```", docs.read_text(), re.DOTALL) if "kafka" in found)
    broker.create("requests", 2)
    moments = [f"2026-06-01T12:00:0{i}Z" for i in range(3)]
    broker.send("requests", [("x", as_json("/a", "x", moment)) for moment in moments] + [(None, b"no JSON")])
    for name in ("live", "state"):
        block = block.replace(f'"{name}"', repr(str(tmp_path / name)))
    names = {}
    exec(block.replace("query.awaitTermination()", "").replace("broker:9092", broker.address), names)
    query = names["query"]
    try:
        until = time.monotonic() + 180
        while not query.recentProgress and query.isActive and time.monotonic() < until:
            time.sleep(0.2)
        query.processAllAvailable()
        assert query.exception() is None
    finally:
        query.stop()
    assert SketchStore(tmp_path / "live").latest()["x"].total().value == 3
