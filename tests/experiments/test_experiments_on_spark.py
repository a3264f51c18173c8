"""Sites as Spark's tasks, the tree as its merges: the same errors and bytes as in this process."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

import pytest
from small_runs import small

from ecmsketch.experiments.spec import Context

pytestmark = pytest.mark.slow
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def test_spark_merges_as_this_process_does(spark, tiny, tmp_path):
    spec = small("table4")
    spec = replace(spec, parameters={**spec.parameters, "epsilons": (0.1,)})
    here = spec.run(spec, Context(tiny, tmp_path))
    there = spec.run(spec, Context(tiny, tmp_path, spark))
    exact = [(a, b) for a, b in zip(here, there, strict=True) if a["counter"] != "rw" or a["how"] == "centralised"]
    assert all(a | {"memory_bytes": 0} == b | {"memory_bytes": 0} for a, b in exact)
    # Sketches that were read from bytes have arrays of the size that they need; others have some that have grown.
    assert all(a["memory_bytes"] == pytest.approx(b["memory_bytes"], rel=0.2) for a, b in exact)
    drawn = [(a, b) for a, b in zip(here, there, strict=True) if a["counter"] == "rw"]
    assert all(a["network_bytes"] == pytest.approx(b["network_bytes"], rel=0.05) for a, b in drawn)


def test_sparks_exact_windows_are_exact(spark, tiny, tmp_path):
    spec = small("peers")
    (row,) = [row for row in spec.run(spec, Context(tiny, tmp_path, spark)) if row["peer"].startswith("Spark")]
    assert row["state"] == "measured"
    assert row["max_error"] == 0
