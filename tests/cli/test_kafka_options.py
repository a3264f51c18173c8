"""What is wrong with a topic's options is said before Spark starts."""

from __future__ import annotations

import json
from importlib.metadata import version
from unittest import mock

import pytest
from test_before_spark import SparkStartedError, run_without_spark
from test_commands import run_here

from ecmsketch.cli.connector import connector_settings
from ecmsketch.errors import InputError

ARCHIVES = ("spark-sql-kafka-0-10_2.13-4.3.0.jar", "kafka-clients-3.9.2.jar", "spark-avro_2.13-4.3.0.jar")
SCHEMA = {"type": "record", "name": "e", "fields": [{"name": name, "type": "string"} for name in ("url", "ts")]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a connector for Spark, a schema, and settings of a client."""
    place = tmp_path / "jars" / f"spark-kafka-{version('pyspark')}"
    place.mkdir(parents=True)
    for name in ARCHIVES:
        (place / name).touch()
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "client.properties").write_text("# who\nsecurity.protocol = SASL_SSL\n\nsasl.x=a=b\n")
    (tmp_path / "wrong.properties").write_text("security.protocol\n")
    monkeypatch.setenv("ECMSKETCH_JARS", str(tmp_path / "jars"))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words(**options):
    given = {
        "kafka": "localhost:9092", "topic": "requests", "item": "url", "tick": "ts", "store": "s", "checkpoint": "c",
    }  # fmt: skip
    path = options.pop("path", [])
    flags = [f"--{flag}" for flag in options.pop("flags", ())]
    pairs = [
        (f"--{name.replace('_', '-')}", value) for name, value in {**given, **options}.items() if value is not None
    ]
    return ["stream", *path, *(word for pair in pairs for word in pair), *flags]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"site": "server", "weight": "n", "integer": "server", "kafka": "a:1,b:2,[::1]:3"},
        {"format": "csv", "columns": "ts,url"},
        {"format": "avro", "schema": "schema.json", "schema_id": "7"},
        {"from": "latest", "flags": ["allow-loss", "once"]},
        {"from": '{"requests": {"0": 17, "1": -2}}', "kafka_config": "client.properties"},
    ],
)  # fmt: skip
def test_what_is_right_gets_as_far_as_spark(folder, options):
    with (
        mock.patch("ecmsketch.cli.session.spark_session", side_effect=SparkStartedError) as started,
        pytest.raises(SparkStartedError),
    ):
        run_here(words(**options))
    settings = started.call_args[0][1]
    assert settings["spark.jars"].endswith("spark-sql-kafka-0-10_2.13-4.3.0.jar")
    assert settings["spark.jars"].count(",") == 2
    assert ("avro.limits" in settings.get("spark.driver.extraJavaOptions", "")) == ("schema" in options)


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        ({"kafka": "localhost"}, 2, "expected HOST:PORT, got 'localhost'"),
        ({"kafka": "a:1,"}, 2, "expected HOST:PORT"),
        ({"kafka": None}, 2, "--topic: it is about a Kafka topic: give --kafka too"),
        ({"kafka": None, "topic": None, "from": "latest"}, 2, "--from: it is about a Kafka topic"),
        ({"topic": "a,b"}, 2, "expected 1 to 249 of the characters"),
        ({"topic": None}, 2, "give the topic and its fields"),
        ({"tick": None}, 2, "give the topic and its fields"),
        ({"path": ["log"]}, 2, "give a folder, --rate or --kafka, and only one of them"),
        ({"rate": "5"}, 2, "give a folder, --rate or --kafka, and only one of them"),
        ({"unit": "none", "lateness": "600", "window": "1000"}, 2, "--unit"),
        ({"format": "xml"}, 1, "format: expected one of json, csv, avro"),
        ({"format": "csv"}, 1, "columns: expected the names of the columns"),
        ({"format": "avro"}, 1, "schema: expected an Avro schema"),
        ({"format": "avro", "schema": "nosuch"}, 1, "--schema: nosuch cannot be read"),
        ({"format": "avro", "schema": "schema.json", "site": "server"}, 1, "site: there is no column 'server'"),
        ({"from": "17"}, 2, "expected earliest, latest or offsets such as"),
        ({"from": '{"other": {"0": 17}}'}, 2, "expected earliest, latest or offsets such as"),
        ({"from": '{"requests": {"0": "17"}}'}, 2, "expected earliest, latest or offsets such as"),
        ({"kafka_config": "nosuch"}, 1, "--kafka-config: nosuch cannot be read"),
        ({"kafka_config": "wrong.properties"}, 1, "expected lines NAME=VALUE, got 'security.protocol'"),
        ({"jars": "nosuch"}, 1, "Spark's Kafka connector is not in nosuch"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_spark_starts(folder, options, code, says):
    done = run_without_spark(words(**options))
    assert done.returncode == code, done.stderr
    assert says in " ".join(done.stderr.replace("│", " ").split())


def test_a_missing_connector_says_what_to_run(folder, monkeypatch):
    monkeypatch.setenv("ECMSKETCH_JARS", str(folder / "nothing"))
    done = run_without_spark(words())
    assert done.returncode == 1
    package = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version('pyspark')}"
    for said in ("`make kafka`", "--packages", package, "--jars"):
        assert said in done.stderr


def test_where_the_connector_is(folder, monkeypatch):
    package = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version('pyspark')}"
    assert connector_settings(None, True, False) == {"spark.jars.packages": package}
    assert "spark-avro_2.13" in connector_settings(None, True, True)["spark.jars.packages"]
    monkeypatch.setenv("SPARK_HOME", str(folder / "spark"))
    (folder / "spark" / "jars").mkdir(parents=True)
    for name in ARCHIVES[:2]:
        (folder / "spark" / "jars" / name).touch()
    assert connector_settings(None, False, False) == {}
    assert connector_settings(None, False, True)["spark.jars"].count(".jar") == 3  # those have no Avro
    with pytest.raises(InputError, match="is not in"):
        connector_settings(str(folder), False, False)


def test_help_shows_how_and_imports_no_spark(folder):
    done = run_here(["stream", "--help"])
    assert done.returncode == 0
    assert "--kafka localhost:9092 --topic requests" in " ".join(done.stdout.split())
