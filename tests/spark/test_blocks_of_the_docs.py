"""The Python blocks of docs/streaming.md run as they are printed, but for where things are and the endless wait."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ecmsketch.errors import StoreError
from ecmsketch.store import SketchStore

DOCS = Path(__file__).parents[2] / "docs"


def blocks(name):
    return re.findall(r"```python\n(.*?)```", (DOCS / name).read_text(), re.DOTALL)


def run_until(block, folder, events):
    """Run a block until its store has so many events; stop its query.

    The names of its folders are made absolute: Spark's are relative to where the tests' JVM was started.
    """
    for name in ("log", "topic", "live", "state"):
        block = block.replace(f'"{name}"', repr(str(folder / name)))
    names = {}
    exec(block.replace("query.awaitTermination()", ""), names)
    query = names["query"]
    try:
        for _ in range(600):
            if total(folder / "live") >= events or not query.isActive:
                break
            time.sleep(0.2)
        assert query.exception() is None
        assert total(folder / "live") == events
    finally:
        query.stop()


def total(store):
    try:
        return sum(sketch.total().value for sketch in SketchStore(store).latest().values())
    except StoreError:
        return 0


@pytest.mark.slow
def test_a_recorded_log(spark, tmp_path):
    (tmp_path / "log").mkdir()
    rows = {"object": [1, 2, 1, 3] * 5, "server": [7, 8] * 10, "timestamp": [898_000_000 + i for i in range(20)]}
    pq.write_table(pa.table(rows), tmp_path / "log" / "a.parquet")
    (block, _) = blocks("streaming.md")
    run_until(block, tmp_path, 20)


@pytest.mark.slow
def test_kafka(spark, tmp_path):
    (tmp_path / "topic").mkdir()
    values = [json.dumps({"url": "/a", "server": "x", "ts": f"2026-06-01T12:00:0{i}Z"}).encode() for i in range(3)]
    pq.write_table(pa.table({"value": [*values, b"no JSON"]}), tmp_path / "topic" / "0.parquet")
    (_, block) = blocks("streaming.md")
    connector = re.search(r'spark\.readStream\.format\("kafka"\).*?\.load\(\)', block, re.DOTALL)[0]
    block = block.replace(connector, 'spark.readStream.schema("value binary").parquet("topic")')
    run_until(block, tmp_path, 3)
