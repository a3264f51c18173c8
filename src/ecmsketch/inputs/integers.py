"""What counts as a whole number: integers of Python and numpy, but neither truth values nor lengths of time."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np

NUMPY_INTEGERS: frozenset[Any] = frozenset(
    (np.int8, np.int16, np.int32, np.int64, np.longlong, np.uint8, np.uint16, np.uint32, np.uint64, np.ulonglong)
)
"""The classes of numpy's integers."""


def is_integer(value: Any) -> TypeGuard[int]:
    """Whether a value is a whole number. A timedelta64 is not, although numpy derives it from its integers."""
    if value.__class__ is int or value.__class__ in NUMPY_INTEGERS:  # asking an abstract class takes far longer
        return True
    return isinstance(value, Integral) and not isinstance(value, bool | np.timedelta64)


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a real number, whole or not."""
    return isinstance(value, Real) and not isinstance(value, bool | np.timedelta64)
