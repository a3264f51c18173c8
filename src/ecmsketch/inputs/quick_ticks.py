"""Moved to ticks.py."""

from ecmsketch.inputs.ticks import quick_converters, quick_tick

__all__ = ["quick_converters", "quick_tick"]
