"""When a change matters: on which side of one or two thresholds a value lies, or how far it moved."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from math import copysign, inf, isfinite, nextafter
from typing import ClassVar, Protocol

from ecmsketch.errors import ConfigError
from ecmsketch.inputs.columns import is_number

Bounds = tuple[float, float]


class Threshold(Protocol):
    """Says which values need no message, given the value that was last agreed upon.

    `calm`, if a threshold has it, is the region where nothing is wrong; without it, region 0.
    """

    def region(self, value: float) -> int:
        """The number of the region that a value lies in, from 0."""

    def announce(self, value: float, previous: float | None) -> float:
        """What the coordinator takes for the value from now on, given it and that of the synchronisation before."""

    def bounds(self, announced: float) -> Bounds:
        """The lowest and the highest value that need no message, both included."""


def left_region(threshold: Threshold, previous: int | None, region: int) -> int | None:
    """The region that a value has left; the calm one if it is outside of that when watching begins."""
    calm: int = getattr(threshold, "calm", 0)
    return calm if previous is None and region != calm else previous


@dataclass(frozen=True)
class Above:
    """Region 0 is below `tau`, region 1 is `tau` and above; changes in both directions are noticed."""

    tau: float

    def __post_init__(self) -> None:
        _check("tau", self.tau)

    def region(self, value: float) -> int:
        return _region(value, (self.tau,))

    def announce(self, value: float, previous: float | None) -> float:
        return value

    def bounds(self, announced: float) -> Bounds:
        return _bounds(announced, (self.tau,))


@dataclass(frozen=True)
class Between:
    """Region 0 is below `low`, region 1 from `low` to below `high`, region 2 is `high` and above; 1 is the calm one."""

    low: float
    high: float
    calm: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _check("low", self.low)
        _check("high", self.high)
        if not self.low < self.high:
            raise ConfigError(f"Between: expected low < high, got {self.low!r} and {self.high!r}")

    def region(self, value: float) -> int:
        return _region(value, (self.low, self.high))

    def announce(self, value: float, previous: float | None) -> float:
        return value

    def bounds(self, announced: float) -> Bounds:
        return _bounds(announced, (self.low, self.high))


@dataclass(frozen=True)
class Tracking:
    """The coordinator's value stays within `theta` of the value, or with `relative` within theta times itself.

    There is one region only, so nothing alarms. `lead` is for values with a trend: at a synchronisation the
    coordinator's value is set ahead of the value in the direction it came from, by so much of theta. It stays within
    theta, and a value that goes on in its direction needs up to half the synchronisations.
    """

    theta: float
    relative: bool = False
    lead: float = 0.0

    def __post_init__(self) -> None:
        _check("theta", self.theta)
        _check("lead", self.lead)
        if not 0 <= self.lead < 1 or (self.lead and self.relative):
            raise ConfigError(f"lead: expected 0 to below 1, and 0 with relative=True, got {self.lead!r}")
        if self.theta < 0:
            raise ConfigError(f"theta: expected 0 or more, got {self.theta!r}")

    def region(self, value: float) -> int:
        return 0

    def announce(self, value: float, previous: float | None) -> float:
        if previous is None or value == previous:
            return value
        return value + copysign(self.lead * self.theta, value - previous)

    def bounds(self, announced: float) -> Bounds:
        reach = self.theta * abs(announced) if self.relative else self.theta
        return announced - reach, announced + reach


def _region(value: float, cuts: tuple[float, ...]) -> int:
    return bisect_right(cuts, value)


def _bounds(value: float, cuts: tuple[float, ...]) -> Bounds:
    region = bisect_right(cuts, value)
    low = cuts[region - 1] if region else -inf
    high = nextafter(cuts[region], -inf) if region < len(cuts) else inf
    return low, high


def _check(name: str, value: float) -> None:
    if not is_number(value) or not isfinite(value):
        raise ConfigError(f"{name}: expected a finite number, got {value!r}")
