"""Watch: what is watched, agreed upon by all sites and the coordinator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ecmsketch.config import SketchConfig
from ecmsketch.errors import ConfigError
from ecmsketch.inputs.columns import is_integer
from ecmsketch.monitor.any_item import ItemFunction
from ecmsketch.monitor.functions import Function
from ecmsketch.monitor.thresholds import Above, Threshold

MAX_PATIENCE = 4
"""The longest pause between two sendings of a message, as a multiple of the patience."""
CHOICES = {"combine": ("sum", "average"), "test": ("zone", "ball"), "balance": ("lazy", "eager"),
           "mode": ("auto", "zones", "changes")}  # fmt: skip


@dataclass(frozen=True)
class Watch:
    """A function of all sites' streams, over their last so many ticks, and a threshold.

    function   SelfJoin(), Frequency(item), InnerProduct(a, b), Total(), HeavyHitterShare(item, phi) or Custom(...);
               AnyItem(count) or AnyShare(share) for whichever item it may be
    threshold  Above(tau), Between(low, high) or Tracking(theta); left out for AnyItem and AnyShare, which have one
    last       ticks, at most the sketches' window; left out if sites are given vectors instead of arrivals
    sketch     the config of every site's sketches
    combine    "sum": the function is of the sum over all sites; "average": of their average
    test       "zone": a site is silent while its vector is in a convex safe zone (or, for functions that have none,
               as with "ball"); "ball": while the ball between it and the reference is admissible. "zone" sends less
    balance    "lazy": on a violation one further site after the other is asked, until their average passes the test;
               "eager": all are asked at once
    mode       "zones": sites are silent while their local test passes; "changes": sites send what has changed, at
               every check or beyond a width; "auto": whichever takes fewer bytes. AnyItem and AnyShare have their own
    patience   ticks after which an unanswered message is sent again; None if the channel loses nothing
    give_up    ticks after which a silent site is left out until it answers again; None for never
    """

    function: Function
    threshold: Threshold = None  # type: ignore[assignment]  # AnyItem and AnyShare bring one
    last: int | None = None
    sketch: SketchConfig | None = None
    combine: str = "sum"
    test: str = "zone"
    balance: str = "lazy"
    mode: str = "auto"
    patience: int | None = None
    give_up: int | None = None

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                expected = " or ".join(repr(choice) for choice in allowed)
                raise ConfigError(f"{name}: expected {expected}, got {getattr(self, name)!r}")
        if not isinstance(self.function, Function):
            raise ConfigError(f"function: expected one such as SelfJoin(), got {self.function!r}")
        if isinstance(self.function, ItemFunction):
            self._take_threshold(self.function)
        elif not hasattr(self.threshold, "bounds"):
            raise ConfigError(f"threshold: expected one such as Above(1000), got {self.threshold!r}")
        self._check_ticks_and_sketch()
        self.function.check_config(self.sketch)

    def _take_threshold(self, function: ItemFunction) -> None:
        """Show the threshold that the function has itself."""
        if self.threshold not in (None, function.threshold) or self.combine != "sum":
            raise ConfigError(
                f"threshold, combine: {function!r} has its own threshold, and counts at all sites add up; give neither"
            )
        object.__setattr__(self, "threshold", function.threshold)

    def _check_ticks_and_sketch(self) -> None:
        for name in ("patience", "give_up"):
            if getattr(self, name) is not None:
                _check_ticks(name, getattr(self, name), 2**60)
        if self.sketch is None:
            if self.last is not None:
                raise ConfigError("last: expected with sketch= only; vectors have no range")
            return
        if not isinstance(self.sketch, SketchConfig):
            raise ConfigError(f"sketch: expected a SketchConfig, got {type(self.sketch).__name__}")
        if self.sketch.model != "time":
            raise ConfigError("sketch: expected model='time'; the last arrivals of one site are not those of all sites")
        _check_ticks("last", self.last, self.sketch.window)

    def scale(self, sites: int) -> int:
        """The factor of a site's vector that makes the average over so many sites what is watched."""
        return sites if self.combine == "sum" else 1

    def no_miss(self) -> Watch:
        """The watch that is in region 1 whenever the true stream's value is `tau` or more, at every check.

        Sketches may fall short of the truth by epsilon_sw; this lowers the threshold by as much (docs/monitoring.md).
        """
        if not isinstance(self.threshold, Above) or self.sketch is None:
            raise ConfigError("no_miss: expected the threshold Above(tau), and sketches")
        if self.sketch.counter == "rw":
            raise ConfigError("no_miss: randomized waves err at random; use counter='eh' or 'dw'")
        if self.sketch.counter == "slices":
            raise ConfigError(
                "no_miss: slices may fall short by a share of all arrivals, which no threshold makes up for; "
                "use counter='eh' or 'dw'"
            )
        function, tau = self.function.no_miss(self.threshold.tau, self.sketch.epsilon_sw)
        return replace(self, function=function, threshold=Above(tau))


def _check_ticks(name: str, value: Any, most: int) -> None:
    if not is_integer(value) or not 1 <= int(value) <= most:
        raise ConfigError(f"{name}: expected a whole number of ticks from 1 to {most:,}, got {value!r}")
