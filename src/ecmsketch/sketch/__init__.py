"""Sketches: a table of window counters that is fed, asked, merged and written as bytes."""

from ecmsketch.sketch.ecm import EcmSketch, Item
from ecmsketch.sketch.loading import AnySketch, load
from ecmsketch.sketch.merging import concat, merge
from ecmsketch.sketch.prefix import PrefixSketch
from ecmsketch.sketch.uniting import unite

__all__ = ["AnySketch", "EcmSketch", "Item", "PrefixSketch", "concat", "load", "merge", "unite"]
