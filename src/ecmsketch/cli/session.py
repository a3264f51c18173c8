"""A quiet Spark session, its progress, and how to interrupt it."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ecmsketch.cli.output import say, working
from ecmsketch.errors import EcmError


@contextmanager
def needs_spark() -> Iterator[None]:
    """Turn an import that fails because Spark is not installed into an error that says so."""
    try:
        yield
    except ModuleNotFoundError:
        raise EcmError("this command needs Spark. Run: pip install 'ecmsketch[spark]'") from None


@contextmanager
def spark_session(master: str | None, settings: dict[str, str] | None = None) -> Iterator[Any]:
    """A Spark session for one command, with some settings of its own; its workers run the command's Python."""
    with needs_spark():
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    from ecmsketch.spark.failures import spark_errors

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("ecmsketch").config("spark.ui.showConsoleProgress", "false")
    if master is not None or "SPARK_MASTER" not in os.environ:
        builder = builder.master(master or "local[*]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "4g",
        **(settings or {}),
    }.items():
        builder = builder.config(name, value)
    with tempfile.NamedTemporaryFile("w", prefix="ecmsketch-spark-", suffix=".log", delete=False) as log:
        try:
            with working("starting Spark ..."), _errors_to(log.fileno()):
                spark = builder.getOrCreate()
        except (PySparkException, Py4JError) as error:
            raise EcmError(
                f"Spark did not start: {_first_line(error)}; it needs Java 17 or newer and a valid --master; "
                f"see {log.name}"
            ) from error
    _interrupt_quietly()
    try:
        with spark_errors():
            yield spark
    except (PySparkException, Py4JError) as error:
        raise EcmError(f"Spark: {_first_line(error)}; more in {log.name}") from error
    else:
        os.unlink(log.name)
    finally:
        spark.stop()


def _first_line(error: Exception) -> str:
    """The first line of an error, in the words of the Java side if it comes from there."""
    java = getattr(error, "java_exception", None)
    return str(error if java is None else java.toString()).strip().partition("\n")[0]


def _interrupt_quietly() -> None:
    """Let Ctrl-C raise KeyboardInterrupt, as without Spark.

    Spark's handler calls the JVM from within a call to it, which fails, and py4j logs that as pages of traceback.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    logging.getLogger().addHandler(logging.NullHandler())


def run_until_interrupted(query: Any) -> Any:
    """Wait for a streaming query to end, and return its last progress.

    Ctrl-C stops it after the current trigger. Press it again, three seconds later or more, to stop at once.
    """
    interrupted = threading.Event()
    first = 0.0

    def stop(number: int, frame: Any) -> None:
        nonlocal first
        if interrupted.is_set() and time.monotonic() > first + 3:
            raise KeyboardInterrupt
        first = first or time.monotonic()
        interrupted.set()

    before = signal.signal(signal.SIGINT, stop)
    try:
        while query.isActive and not interrupted.wait(0.5):
            pass
        if interrupted.is_set():
            say("stopping after the current trigger; press Ctrl-C again to stop at once")
            query.stop()
        query.awaitTermination()
        return query.lastProgress
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _errors_to(file: int) -> Iterator[None]:
    """Send the error stream to a file. Spark prints much while it starts that matters only if it fails."""
    kept = os.dup(2)
    os.dup2(file, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def spark_progress(spark: Any, text: str) -> Iterator[None]:
    """Show how many tasks are done while Spark works."""
    done = threading.Event()
    with working(text) as change:

        def watch() -> None:
            tracker = spark.sparkContext.statusTracker()
            while not done.wait(0.3):
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
                known = [stage for stage in stages if stage is not None]
                if known:
                    finished = sum(stage.numCompletedTasks for stage in known)
                    change(f"{text} {finished} of {sum(stage.numTasks for stage in known)} tasks")

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
