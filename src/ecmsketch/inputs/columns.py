"""Values from outside: columns of one dimension with nothing missing, and what counts as a whole number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ecmsketch.errors import InputError

INT64, UINT64 = np.dtype(np.int64), np.dtype(np.uint64)
NUMPY_INTEGERS: frozenset[Any] = frozenset(
    (np.int8, np.int16, np.int32, np.int64, np.longlong, np.uint8, np.uint16, np.uint32, np.uint64, np.ulonglong)
)
"""The classes of numpy's integers."""


def is_integer(value: Any) -> TypeGuard[int]:
    """Whether a value is a whole number: neither a truth value nor a timedelta64, which numpy derives from integers."""
    if value.__class__ is int or value.__class__ in NUMPY_INTEGERS:  # asking an abstract class takes far longer
        return True
    return isinstance(value, Integral) and not isinstance(value, bool | np.timedelta64)


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a real number, whole or not."""
    return isinstance(value, Real) and not isinstance(value, bool | np.timedelta64)


def is_int64(values: Any) -> TypeGuard[NDArray[np.int64]]:
    """Whether values are a plain array of 64-bit integers, with which nothing can be wrong."""
    return values.__class__ is np.ndarray and values.dtype is INT64 and values.ndim == 1


def packed(column: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """A column of some type without gaps, which can be written."""
    column = np.ascontiguousarray(column, dtype)
    return column if column.flags.writeable else column.copy()


def as_column(values: Any, name: str) -> NDArray[Any]:
    """One-dimensional values without missing ones, as a numpy array; `name` is for the error."""
    values = listed(adopt(values))
    if type(values).__module__.startswith("pyarrow") and not hasattr(values, "null_count"):
        raise InputError(f"{name}: expected one column, got a {type(values).__name__}")
    missing = _marked_missing(values)
    if missing:
        raise missing_values(name, missing, len(values))
    try:
        column = np.asarray(values)
    except (TypeError, ValueError, OverflowError, UserWarning) as error:  # a warning, where they are errors: masked
        raise InputError(f"{name}: expected one dimension, got a ragged list") from error
    if not column.ndim:
        raise InputError(f"{name}: expected a list, an array or a column, got one {type(values).__name__}")
    if column.ndim != 1:
        raise InputError(f"{name}: expected one dimension, got an array of shape {column.shape}")
    return column


def adopt(values: Any) -> Any:
    """Data of a library that speaks Arrow's stream protocol, such as polars, as Arrow data; others as they are.

    Without pyarrow they stay as they are, too, and numpy takes them.
    """
    if isinstance(values, (np.ndarray, list)):
        return values
    library = type(values).__module__.partition(".")[0]
    if library in ("builtins", "numpy", "pandas", "pyarrow") or not hasattr(values, "__arrow_c_stream__"):
        return values
    try:
        import pyarrow as pa
    except ImportError:
        return values
    if str(getattr(values, "dtype", "")) == "Object":
        raise InputError(
            "column: expected one of texts, numbers or times, got one of Python objects; give it as a list"
        )
    return pa.chunked_array(values)


def listed(values: Any) -> Any:
    """Generators and views, which can be gone through but not indexed, as lists; others as they are."""
    if hasattr(values, "__getitem__") or hasattr(values, "__array__") or not isinstance(values, Iterable):
        return values
    return values if isinstance(values, Set | Mapping) else list(values)


def _marked_missing(values: Any) -> int:
    """How many values are missing, as far as the column itself says so."""
    if isinstance(values, np.ma.MaskedArray) and values.ndim:
        return int(np.ma.getmaskarray(values).sum())
    count = getattr(values, "null_count", 0)
    count = count() if callable(count) else count
    return count if isinstance(count, int) else 0


def count_missing(values: Iterable[Any]) -> int:
    """How many of some objects stand for no value: None, NaN, NaT, NA of pandas, masked."""
    return sum(map(_is_missing, values))


def _is_missing(value: Any) -> bool:
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating | np.datetime64 | np.timedelta64) and bool(value != value)


def missing_values(name: str, missing: int, among: int) -> InputError:
    """The error for values that are missing."""
    return InputError(f"{name}: {missing} of {among} are missing; drop or fill them first")


def wrong_type(column: NDArray[Any], name: str, expected: str) -> InputError:
    """The error for a column of another type; if values are missing, which changes a column's type, it says that."""
    missing = count_missing(column.tolist()) if column.dtype.kind in "Of" else 0
    if missing:
        return missing_values(name, missing, len(column))
    return InputError(f"{name}: expected {expected}, got an array of {column.dtype}")
