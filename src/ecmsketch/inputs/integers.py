"""Moved to columns.py."""

from ecmsketch.inputs.columns import NUMPY_INTEGERS, is_integer, is_number

__all__ = ["NUMPY_INTEGERS", "is_integer", "is_number"]
