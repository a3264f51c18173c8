"""How often, in the last hour? Sliding-window sketches with guarantees, any range, merging and bytes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ecmsketch import domains, errors
    from ecmsketch.config import SketchConfig
    from ecmsketch.estimate import Estimate, Estimates, HeavyChange, HeavyChanges, HeavyHitter, Series
    from ecmsketch.sketch import EcmSketch
    from ecmsketch.sketch.loading import load
    from ecmsketch.sketch.merging import concat, merge
    from ecmsketch.sketch.prefix import PrefixSketch

__all__ = [
    "EcmSketch",
    "Estimate",
    "Estimates",
    "HeavyChange",
    "HeavyChanges",
    "HeavyHitter",
    "PrefixSketch",
    "Series",
    "SketchConfig",
    "concat",
    "domains",
    "errors",
    "load",
    "merge",
]
__version__ = "0.1.0"

_HOME = {
    "EcmSketch": "sketch",
    "Estimate": "estimate",
    "Estimates": "estimate",
    "HeavyChange": "estimate",
    "HeavyChanges": "estimate",
    "HeavyHitter": "estimate",
    "PrefixSketch": "sketch",
    "Series": "estimate",
    "SketchConfig": "config",
    "concat": "sketch",
    "load": "sketch",
    "merge": "sketch",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: the command line shows its help without any of it."""
    if name in ("domains", "errors"):
        return import_module(f"ecmsketch.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'ecmsketch' has no attribute {name!r}")
    found = getattr(import_module(f"ecmsketch.{_HOME[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
