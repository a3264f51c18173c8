"""What the scripts beside this file share. A test gives them one argument, JSON, and reads JSON from their stdout."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from typing import Any

_QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Machines that live for a minute gain nothing from compiling well."""
SETTINGS = {
    "spark.driver.extraJavaOptions": _QUICK_START,
    "spark.executor.extraJavaOptions": _QUICK_START,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
}


def main(script: Callable[..., dict[str, Any]]) -> None:
    """Call a script with what the test gave, print what it returns."""
    print(json.dumps(script(**json.loads(sys.argv[1]))))  # noqa: T201


def text(data: bytes) -> str:
    """Bytes for JSON."""
    return base64.b64encode(data).decode()


def sketches(frame: Any) -> dict[str, str]:
    """The sketches of a DataFrame by site."""
    return {str(row["site"]): text(row["sketch"]) for row in frame.collect()}
