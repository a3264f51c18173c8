"""Where Spark's Kafka connector is found: archives of Maven that Spark itself does not contain."""

from __future__ import annotations

import os
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from ecmsketch.errors import InputError

_NEEDED = ("spark-sql-kafka-0-10_*.jar", "kafka-clients-*.jar")


def connector_settings(folder: str | None, fetch: bool, avro: bool) -> dict[str, str]:
    """Settings with which Spark finds the connector.

    folder  a folder of archives; None: those that `make kafka` fetched, or that Spark has itself
    fetch   let Spark fetch what is missing, with its own Ivy
    """
    spark = version("pyspark")
    archives = ["spark-sql-kafka-0-10_2.13", *(["spark-avro_2.13"] if avro else [])]
    packages = ",".join(f"org.apache.spark:{name}:{spark}" for name in archives)
    if fetch:
        return {"spark.jars.packages": packages}
    needed = [*_NEEDED, *(["spark-avro_*.jar"] if avro else [])]
    if folder is None and not _missing(_spark_jars(), needed):
        return {}
    place = fetched_folder(spark) if folder is None else Path(folder)
    missing = _missing(place, needed)
    if missing:
        raise InputError(
            f"--kafka: Spark's Kafka connector is not in {place}, which has no {missing[0]}. In a clone of "
            "ecmsketch run `make kafka`; elsewhere "
            f"add --packages, with which Spark fetches {packages}, or --jars with a folder that has its archives"
        )
    return {"spark.jars": ",".join(str(path.resolve()) for path in sorted(place.glob("*.jar")))}


def fetched_folder(spark: str) -> Path:
    """The folder into which `make kafka` puts the connector for a version of Spark."""
    cache = os.environ.get("ECMSKETCH_JARS") or Path.home() / ".cache" / "ecmsketch" / "jars"
    return Path(cache) / f"spark-kafka-{spark}"


def _missing(place: Path, needed: list[str]) -> list[str]:
    """Which archives a folder does not have."""
    return [name for name in needed if not any(place.glob(name))]


def _spark_jars() -> Path:
    """The folder of Spark's own archives. Spark is not imported for it."""
    home = os.environ.get("SPARK_HOME")
    found = find_spec("pyspark")
    place = Path(home) if home else Path(found.origin or "").parent if found is not None else Path()
    return place / "jars"
