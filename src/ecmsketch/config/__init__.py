"""Configs: what a sketch promises, and the size that follows from it."""

from ecmsketch.config.prefix_config import PrefixConfig
from ecmsketch.config.sketch_config import SketchConfig

__all__ = ["PrefixConfig", "SketchConfig"]
