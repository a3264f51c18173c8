"""Errors raised in workers, raised again in the driver in one plain line."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from ecmsketch import errors
from ecmsketch.spark.topic_loss import lost_messages

_RAISED = re.compile(r"ecmsketch\.errors\.(\w+): (.*)")
_MISSING = re.compile(r"ModuleNotFoundError: No module named '((?:ecmsketch|pyarrow|numpy)(?:\.\w+)*)'")
_OTHER_PYTHON = re.compile(
    r"\[(?:PYTHON_VERSION_MISMATCH|PACKAGE_NOT_INSTALLED|UNSUPPORTED_PACKAGE_VERSION)\] ([^\n]*)"
)


@contextmanager
def spark_errors() -> Iterator[None]:
    """Raise again, by its own name and in one line, an error of ours that was raised inside a worker.

    A worker whose Python has no ecmsketch, or not what it needs, is a ConfigError that says what to set.
    """
    try:
        yield
    except PySparkException as failure:
        known = _known(str(failure))
        if known is None:
            raise
        raise known from failure


def _known(text: str) -> errors.EcmError | None:
    missing, other = _MISSING.search(text), _OTHER_PYTHON.search(text)
    if missing is not None or other is not None:
        what = f"it has no {missing[1]}" if missing is not None else str(other and other[1]).rstrip(". ")
        return errors.ConfigError(
            f"PYSPARK_PYTHON: the workers' Python cannot be used: {what}; set PYSPARK_PYTHON or spark.pyspark.python, "
            "before the session starts, to a Python that has ecmsketch on every machine; the driver's is "
            f"{sys.executable}"
        )
    lost = lost_messages(text)
    if lost is not None:
        return errors.InputError(lost)
    found = _RAISED.findall(text)
    kind = getattr(errors, found[-1][0], None) if found else None
    return None if kind is None else kind(found[-1][1])
