"""Checks of single settings: each returns the value as the config keeps it, or raises a ConfigError."""

from __future__ import annotations

from typing import Any

from ecmsketch.errors import ConfigError
from ecmsketch.inputs.columns import is_integer, is_number


def checked_fraction(name: str, value: Any, least: float) -> float:
    """The value as a float, if it is a number from `least` to below 1."""
    if not is_number(value) or not least <= float(value) < 1:
        raise ConfigError(f"{name}: expected a number from {least:g} to below 1, got {value!r}")
    return float(value)


def checked_number(name: str, value: Any, low: float, high: float) -> float:
    """The value as a float, if it is a number from `low` to `high`."""
    if not is_number(value) or not low <= float(value) <= high:
        raise ConfigError(f"{name}: expected a number from {low:g} to {high:g}, got {value!r}")
    return float(value)


def checked_integer(name: str, value: Any, low: int, high: int) -> int:
    """The value as an int, if it is a whole number from `low` to `high`."""
    if not is_integer(value) or not low <= int(value) <= high:
        raise ConfigError(f"{name}: expected an integer from {low:,} to {high:,}, got {value!r}")
    return int(value)
