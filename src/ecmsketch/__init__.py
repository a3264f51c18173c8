"""How often, in the last hour? Sliding-window sketches with guarantees, any range, merging and bytes."""

from ecmsketch import errors
from ecmsketch.config import SketchConfig
from ecmsketch.estimate import Estimate, Estimates
from ecmsketch.merging import concat, merge
from ecmsketch.prefix import HeavyHitter, PrefixSketch
from ecmsketch.sketch import EcmSketch

__all__ = [
    "EcmSketch",
    "Estimate",
    "Estimates",
    "HeavyHitter",
    "PrefixSketch",
    "SketchConfig",
    "concat",
    "errors",
    "merge",
]
__version__ = "0.1.0"
