"""Java archives from Maven for tests, with all that they need, in a cache folder outside the repository.

`python tests/maven/artifacts.py GROUP:NAME:VERSION ...` fetches them and prints where they are.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
MINUTES = 15
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>ecmsketch</groupId><artifactId>jars-for-tests</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{}</dependencies>
</project>
"""
DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


class MissingArtifactsError(Exception):
    """Maven is missing, or does not give the archives; the message says which."""


def cache_folder() -> Path:
    """Where the archives are kept: the folder ECMSKETCH_JARS, by default ~/.cache/ecmsketch/jars."""
    return Path(os.environ.get("ECMSKETCH_JARS") or Path.home() / ".cache" / "ecmsketch" / "jars")


def jars(*coordinates: str) -> list[Path]:
    """The archives of some coordinates (group:name:version) and of all that they need at run time.

    They are fetched once. Raises MissingArtifactsError if they cannot be had.
    """
    for coordinate in coordinates:
        if coordinate.count(":") != 2 or set(coordinate) & set("<>&"):
            raise ValueError(f"coordinates: expected group:name:version, got {coordinate!r}")
    if not coordinates:
        raise ValueError("coordinates: expected at least one group:name:version, got none")
    mark = sha256("\n".join(sorted(coordinates)).encode()).hexdigest()[:12]
    folder = cache_folder() / f"{coordinates[0].split(':')[1]}-{mark}"
    if not folder.is_dir():
        _fetch(coordinates, folder)
    return sorted(folder.glob("*.jar"))


def jars_or_skip(*coordinates: str) -> list[Path]:
    """The same for a test, which is skipped with the reason if they cannot be had."""
    try:
        return jars(*coordinates)
    except MissingArtifactsError as reason:
        pytest.skip(str(reason))


def for_spark(paths: list[Path], spark: Path | None = None) -> list[Path]:
    """Those of some archives that Spark has not got itself, in whatever version: two of them on one path do not mix.

    `spark` is the folder that holds another pyspark than the installed one.
    """
    import pyspark

    home = Path(pyspark.__file__).parent if spark is None else spark / "pyspark"
    own = {_name(path) for path in (home / "jars").glob("*.jar")}
    return [path for path in paths if _name(path) not in own]


def pyspark_or_skip(version: str) -> Path:
    """A folder beside the archives that holds another version of pyspark, for PYTHONPATH; pip fetches it once."""
    folder = cache_folder().parent / f"pyspark-{version}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as place:
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", f"{place}/made"]
            done = subprocess.run([*command, f"pyspark=={version}"], capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"pip does not give pyspark=={version}: {done.stderr.strip().splitlines()[-1:]}")
            (Path(place) / "made").rename(folder)
    return folder


def answers_of(script: Path, spark: Path, packages: list[Path], folder: Path) -> Any:
    """What a script prints last, as JSON: run in a process of its own with another pyspark, and with our own code."""
    command = [sys.executable, str(script), ",".join(map(str, packages)), str(folder)]
    place = {**os.environ, "PYTHONPATH": os.pathsep.join([str(spark), *filter(None, sys.path)])}
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False, env=place)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    return json.loads(done.stdout.splitlines()[-1])


def _name(path: Path) -> str:
    """The name of an archive without its version."""
    return re.sub(r"-[0-9][^-]*(-[0-9]+)?$", "", path.stem)


def _fetch(coordinates: tuple[str, ...], folder: Path) -> None:
    """Fetch into a folder beside it first, so that what is there under its name is complete."""
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingArtifactsError(
            f"mvn is not on the PATH, and {folder} is not there: {' '.join(coordinates)} is needed"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as place:
        pom, fetched = Path(place) / "pom.xml", Path(place) / "jars"
        pom.write_text(POM.format("".join(DEPENDENCY.format(*each.split(":")) for each in coordinates)))
        command = [
            maven, "--batch-mode", "--quiet", "--file", str(pom), f"{PLUGIN}:copy-dependencies",
            f"-DoutputDirectory={fetched}", "-DincludeScope=runtime",
        ]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60 * MINUTES, check=False)
        except subprocess.TimeoutExpired as error:
            raise MissingArtifactsError(f"mvn did not fetch {' '.join(coordinates)} in {MINUTES} minutes") from error
        if done.returncode or not any(fetched.glob("*.jar")):
            said = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
            reason = said[0][:300] if said else "no archive came"
            raise MissingArtifactsError(f"mvn does not give {' '.join(coordinates)}: {reason}")
        try:
            fetched.rename(folder)
        except OSError:
            if not folder.is_dir():  # otherwise another process was faster
                raise


if __name__ == "__main__":
    try:
        sys.stdout.write("".join(f"{path}\n" for path in jars(*sys.argv[1:])))
    except (MissingArtifactsError, ValueError) as problem:
        sys.exit(str(problem))
