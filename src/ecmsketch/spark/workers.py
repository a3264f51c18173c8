"""The Python that Spark's workers run: in a local session the driver's own, which has ecmsketch."""

from __future__ import annotations

import os
import sys
from typing import Any

_SETTING = "spark.pyspark.python"
_SPARKS_CHOICE = "python3"


def use_driver_python(spark: Any) -> None:
    """Let the workers of a local session run the driver's Python, unless the user has chosen another.

    Spark would take the first python3 of the PATH, which need not have ecmsketch. What PYSPARK_PYTHON or
    spark.pyspark.python say stays. On a cluster the driver's path may not exist; Spark Connect has no context.
    """
    context = _context(spark)
    if context is None or "PYSPARK_PYTHON" in os.environ or context.pythonExec != _SPARKS_CHOICE:
        return
    if not str(context.master).startswith("local"):
        return
    context.pythonExec = context.getConf().get(_SETTING) or sys.executable


def _context(spark: Any) -> Any:
    from pyspark.errors import PySparkException

    try:
        return spark.sparkContext
    except (PySparkException, AttributeError):
        return None
