"""How often, in the last hour? Sliding-window sketches with guarantees, any range, merging and bytes."""

from ecmsketch import domains, errors
from ecmsketch.config import SketchConfig
from ecmsketch.estimate import Estimate, Estimates, HeavyHitter, Series
from ecmsketch.merging import concat, merge
from ecmsketch.prefix import PrefixSketch
from ecmsketch.sketch import EcmSketch

__all__ = [
    "EcmSketch",
    "Estimate",
    "Estimates",
    "HeavyHitter",
    "PrefixSketch",
    "Series",
    "SketchConfig",
    "concat",
    "domains",
    "errors",
    "merge",
]
__version__ = "0.1.0"
