"""One small Spark session for all tests in this folder; workers run this very Python."""

from __future__ import annotations

import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ecmsketch as ecm
from streams import zipf_items

os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

WINDOW = 20_000
SITES = ("athens", "berlin", "cairo")


@pytest.fixture(scope="session")
def spark():
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .appName("ecmsketch tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "America/New_York")  # answers must not depend on it
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def stream():
    """Events of three sites in order of time: columns site, page, host, port, tick, weight."""
    rng = np.random.default_rng(0)
    count = 60_000
    pages = zipf_items(count, 500, rng)
    return {
        "site": np.array(SITES)[rng.integers(0, 3, count)],
        "page": np.array([f"/page/{n}" for n in range(500)])[pages],
        "number": pages.astype(np.int64),
        "port": (pages % 7).astype(np.int32),
        "tick": np.sort(rng.integers(0, WINDOW, count)),
        "weight": rng.integers(0, 5, count),
    }


@pytest.fixture(scope="session")
def log(tmp_path_factory, stream):
    """The stream as six Parquet files in order of time, as a folder."""
    folder = tmp_path_factory.mktemp("log")
    table = pa.table(stream)
    for i in range(6):
        pq.write_table(table.slice(i * 10_000, 10_000), folder / f"part-{i}.parquet", row_group_size=3000)
    return folder


@pytest.fixture(scope="session")
def events(spark, log):
    return spark.read.parquet(str(log))


@pytest.fixture(scope="session")
def in_order(spark, tmp_path_factory, stream):
    """The stream in one task, in its order."""
    path = tmp_path_factory.mktemp("one") / "log.parquet"
    pq.write_table(pa.table(stream), path)
    return spark.read.parquet(str(path)).coalesce(1)


@pytest.fixture
def make_config():
    def make(**changes):
        return ecm.SketchConfig(**{"epsilon": 0.05, "delta": 0.05, "window": WINDOW, **changes})

    return make


@pytest.fixture
def one_process(stream):
    """The sketch of one site, as one process would build it."""

    def build(config, site=None, item="page", weight=None, name=None):
        mine = np.ones(len(stream["tick"]), bool) if site is None else stream["site"] == site
        sketch = ecm.EcmSketch(config, site=name)
        items = {part: stream[part][mine] for part in item} if isinstance(item, tuple) else stream[item][mine]
        sketch.update_many(items, stream["tick"][mine], None if weight is None else stream[weight][mine])
        return sketch

    return build


@pytest.fixture
def check(stream):
    """Answers of a sketch against the exact ones, within what it carries now."""

    def check(sketch, site=None, share_outside=0.05):
        mine = np.ones(len(stream["tick"]), bool) if site is None else stream["site"] == site
        pages, ticks = stream["page"][mine], stream["tick"][mine]
        for last in (WINDOW // 20, WINDOW):
            names, counts = np.unique(pages[ticks > sketch.now - last], return_counts=True)
            found = sketch.estimate_many(names, last=last)
            assert (found.upper >= counts).all()
            assert (np.abs(found.value - counts) > sketch.epsilon * counts.sum()).mean() <= share_outside
            assert sketch.total(last=last).covers(counts.sum())

    return check
