"""Columns from outside: one dimension, nothing missing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.errors import InputError


def as_column(values: Any, name: str) -> NDArray[Any]:
    """One-dimensional values without missing ones, as a numpy array; `name` is for the error."""
    if type(values).__module__.startswith("pyarrow") and not hasattr(values, "null_count"):
        raise InputError(f"{name}: expected one column, got a {type(values).__name__}")
    missing = getattr(values, "null_count", 0)
    if isinstance(values, np.ma.MaskedArray):
        missing = int(np.ma.getmaskarray(values).sum())
    if missing:
        raise InputError(f"{name}: {missing} of {len(values)} are missing; drop or fill them first")
    try:
        column = np.asarray(values)
    except ValueError as error:
        raise InputError(f"{name}: expected one dimension, got a ragged list") from error
    if column.ndim != 1:
        raise InputError(f"{name}: expected one dimension, got an array of shape {column.shape}")
    return column
