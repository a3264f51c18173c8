"""A quiet Spark session, and its progress."""

from __future__ import annotations

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
def spark_session(master: str | None) -> Iterator[Any]:
    """A session for one command; workers run this very Python."""
    try:
        from pyspark.errors import PySparkException, PySparkRuntimeError
        from pyspark.sql import SparkSession
    except ModuleNotFoundError:
        raise EcmError("this command needs Spark; pip install 'ecmsketch[spark]'") from None
    from ecmsketch.spark.failures import spark_errors

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("ecmsketch").config("spark.ui.showConsoleProgress", "false")
    if master is not None or "SPARK_MASTER" not in os.environ:
        builder = builder.master(master or "local[*]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "4g",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    }.items():
        builder = builder.config(name, value)
    with tempfile.NamedTemporaryFile("w", prefix="ecmsketch-spark-", suffix=".log", delete=False) as log:
        try:
            with working("starting Spark ..."), _errors_to(log.fileno()):
                spark = builder.getOrCreate()
        except PySparkRuntimeError as error:
            raise EcmError(f"Spark did not start: {error}; it needs Java 17 or newer; see {log.name}") from error
    try:
        with spark_errors():
            yield spark
    except PySparkException as error:
        raise EcmError(f"Spark: {str(error).splitlines()[0]}; more in {log.name}") from error
    else:
        os.unlink(log.name)
    finally:
        spark.stop()


def run_until_interrupted(query: Any) -> None:
    """Wait for a streaming query to end; Ctrl-C stops it after what it is doing, and once more, later, at once.

    Spark's own handler would call the JVM from within a call to it, which fails with a page of traceback.
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
            say("stopping ...")
            query.stop()
        query.awaitTermination()
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _errors_to(file: int) -> Iterator[None]:
    """What is started meanwhile writes its errors to a file: Spark says much that only matters if it fails."""
    kept = os.dup(2)
    os.dup2(file, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def spark_progress(spark: Any, text: str) -> Iterator[None]:
    """Shows how many tasks are done while Spark works."""
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
