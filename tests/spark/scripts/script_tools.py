"""What the scripts beside this file share. A test gives them one argument, JSON, and reads JSON from their stdout."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from typing import Any

CLUSTER = {
    "spark.master": "local-cluster[2,1,2048]",
    "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # no job before both executors are there
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
}


def start_cluster() -> Any:
    """Two executors with a core each, as processes of their own."""
    from pyspark.sql import SparkSession

    return SparkSession.builder.config(map=CLUSTER).getOrCreate()


def main(script: Callable[..., dict[str, Any]]) -> None:
    """Call a script with what the test gave, print what it returns."""
    print(json.dumps(script(**json.loads(sys.argv[1]))))


def text(data: bytes) -> str:
    """Bytes for JSON."""
    return base64.b64encode(data).decode()


def sketches(frame: Any) -> dict[str, str]:
    """The sketches of a DataFrame by site."""
    return {str(row["site"]): text(row["sketch"]) for row in frame.collect()}
