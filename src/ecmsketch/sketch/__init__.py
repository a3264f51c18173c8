"""Sketches: what is fed, asked, merged and written as bytes."""

from ecmsketch.sketch.ecm import EcmSketch, Item
from ecmsketch.sketch.loading import AnySketch, load
from ecmsketch.sketch.merging import concat, merge, unite
from ecmsketch.sketch.prefix import PrefixSketch

__all__ = ["AnySketch", "EcmSketch", "Item", "PrefixSketch", "concat", "load", "merge", "unite"]
