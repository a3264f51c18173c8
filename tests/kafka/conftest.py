"""A real broker for the tests in this folder, and a Spark session with the connector. `make test-kafka` runs them."""

from __future__ import annotations

import os
import sys
import uuid
from importlib.util import find_spec

import pytest

os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ["ECMSKETCH_QUIET"] = "1"

collect_ignore = [] if find_spec("confluent_kafka") else ["kafka_broker.py"]  # files are imported to look for doctests


@pytest.fixture(scope="session")
def archives():
    """The archives of the broker and of the connector, if they can be had."""
    from kafka_artifacts import broker_jars, connector_jars

    from maven.artifacts import MissingArtifactsError

    try:
        return broker_jars(), connector_jars()
    except MissingArtifactsError as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def broker(archives, tmp_path_factory):
    pytest.importorskip("confluent_kafka", reason="the producer of the tests: pip install 'ecmsketch[kafka-tests]'")
    from kafka_broker import Broker

    running = Broker(tmp_path_factory.mktemp("broker"), archives[0])
    yield running
    running.kill()


@pytest.fixture
def topic(broker):
    """The name of a new topic with three partitions."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    broker.create(name, 3)
    return name


@pytest.fixture(scope="session")
def spark(archives):
    from pyspark.sql import SparkSession

    from ecmsketch.spark.avro_schema import LIMITS

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.extraJavaOptions", LIMITS)
        .config("spark.jars", ",".join(map(str, archives[1])))
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "America/New_York")  # answers must not depend on it
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
