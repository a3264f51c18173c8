"""What the tests with Kafka need of Maven: a broker, and Spark's connector for the Spark that is installed.

`python tests/kafka/kafka_artifacts.py` (`make kafka`) fetches both.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from ecmsketch.cli.connector import fetched_folder
from maven.artifacts import PLUGIN, MissingArtifactsError, for_spark, jars

BROKER = ("org.apache.kafka:kafka_2.13:4.3.1", "org.slf4j:slf4j-simple:1.7.36")
"""Apache Kafka and, so that a broker that does not start says why, a logger."""

TESTED = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.spark:spark-avro_2.13:4.1.1",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.12.1",
)
"""A connector that works with Spark 4.3, for repositories that have none of Spark's own version (decision 29)."""


def broker_jars() -> list[Path]:
    """The archives of the broker."""
    return jars(*BROKER)


def connector_jars() -> list[Path]:
    """The archives of the connector, in the folder where `ecmsketch stream --kafka` looks for them."""
    folder = fetched_folder(version("pyspark"))
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as place:
            fetched = Path(place) / "jars"
            fetched.mkdir()
            _fetch_connector(fetched)
            fetched.rename(folder)
    return sorted(folder.glob("*.jar"))


def _fetch_connector(folder: Path) -> None:
    """Fetch the connector of Spark's own version; if the repository has none, the one that is known to work."""
    spark = version("pyspark")
    names = ("spark-sql-kafka-0-10_2.13", "spark-avro_2.13")
    try:
        for path in for_spark(jars(*(f"org.apache.spark:{name}:{spark}" for name in names))):
            shutil.copy(path, folder)
    except MissingArtifactsError as reason:
        sys.stderr.write(f"{reason}\nTaking {', '.join(TESTED)} instead.\n")
        for coordinate in TESTED:
            _copy(coordinate, folder)


def _copy(coordinate: str, folder: Path) -> None:
    """Fetch one archive without what it needs."""
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingArtifactsError(f"mvn is not on the PATH: {coordinate} is needed")
    command = [
        maven, "--batch-mode", "--quiet", f"{PLUGIN}:copy", f"-Dartifact={coordinate}", f"-DoutputDirectory={folder}",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=folder)
    if done.returncode:
        raise MissingArtifactsError(f"mvn does not give {coordinate}: {(done.stdout + done.stderr)[:300]}")


if __name__ == "__main__":
    try:
        sys.stdout.write("".join(f"{path}\n" for path in [*broker_jars()[:1], *connector_jars()]))
    except MissingArtifactsError as problem:
        sys.exit(str(problem))
