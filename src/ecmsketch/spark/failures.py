"""Errors of workers, as the driver's user should see them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from ecmsketch import errors

_RAISED = re.compile(r"ecmsketch\.errors\.(\w+): (.*)")


@contextmanager
def spark_errors() -> Iterator[None]:
    """Raise again, by its own name, an error of ours that was raised inside a worker."""
    try:
        yield
    except PySparkException as failure:
        found = _RAISED.findall(str(failure))
        kind = getattr(errors, found[-1][0], None) if found else None
        if kind is None:
            raise
        raise kind(found[-1][1]) from failure
