"""What a config promises, in words, and what that costs with each counter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ecmsketch.errors import ConfigError

if TYPE_CHECKING:
    from ecmsketch.config.sketch_config import SketchConfig


class _Cost(NamedTuple):
    """A line of the table of costs."""

    name: str
    width: int
    nbytes: int | None
    """None if a sketch would be too large."""

    def __str__(self) -> str:
        nbytes = "too large for this epsilon" if self.nbytes is None else f"{self.nbytes:>14,} bytes"
        return f"  {self.name:<33} width {self.width:>9,}  {nbytes}"


def describe_config(config: SketchConfig, arrivals: int) -> str:
    """The text of `SketchConfig.describe`."""
    unit = "" if config.unit is None else f" {config.unit}"
    resolution = "" if config.resolution is None else f", resolution {config.resolution:g}"
    return "\n".join(
        [
            f"epsilon {config.epsilon:g}{resolution}, delta {config.delta:g}, window {config.window:,}{unit}",
            f"promise: {promise_of(config)}",
            _layout(config),
            f"memory with {arrivals:,} arrivals in the window:",
            "slices, a small table for each slice of time:",
            *map(str, _costs_of_slices(config, arrivals)),
            "cells, a window counter in each cell of one table (the paper's):",
            *map(str, _costs_of_cells(config, arrivals)),
            *_advice(config),
        ]
    )


def promise_of(config: SketchConfig) -> str:
    """The promise of a config in one sentence."""
    of_two = config.optimize_for == "inner"
    everything = "the product of both totals" if of_two else "everything in the range"
    if config.resolution is None:
        what = "an inner product" if of_two else "an item's count"
        said = f"{what} is wrong by at most {_percent(config.epsilon)} of {everything}"
    elif config.counter == "slices":
        said = (
            f"the start of a range is honoured to within {_percent(config.resolution)} of what came since, and "
            f"collisions add at most {_percent(config.epsilon)} of {everything}"
        )
    else:
        said = (
            f"an item's count is wrong by at most {_percent(config.resolution)} of its own count plus "
            f"{_percent(config.epsilon)} of everything else in the range"
        )
    levels = "1 level" if config.merge_depth == 1 else f"{config.merge_depth} levels"
    merged = f", after up to {levels} of merging" if config.merge_depth else ""
    return f"{said}, with probability {1 - config.delta:.12g}{merged}"


def _layout(config: SketchConfig) -> str:
    """The sizes that follow from the promise."""
    rows = f"{config.depth} rows of {config.width:,}"
    if config.counter != "slices":
        return (
            f"{rows} {config.counter} counters, epsilon_sw {config.epsilon_sw:.6f}, epsilon_cm {config.epsilon_cm:.6f}"
        )
    return (
        f"slices with {rows} cells each, made of {config.block:,} events at a time; the newest {config.recent:,} "
        f"events stay as they are; epsilon_t {config.epsilon_t:.6f}, epsilon_cm {config.epsilon_cm:.6f}"
    )


def _costs_of_slices(config: SketchConfig, arrivals: int) -> list[_Cost]:
    costs = [_cost("counter 'slices'", config, arrivals, counter="slices")]
    if config.resolution is None:
        costs.append(_cost("'slices', resolution 0.1", config, arrivals, counter="slices", resolution=0.1))
    return costs


def _costs_of_cells(config: SketchConfig, arrivals: int) -> list[_Cost]:
    costs = [
        _cost(
            f"counter {name!r}", config, arrivals, counter=name, **({"optimize_for": "point"} if name == "rw" else {})
        )
        for name in ("eh", "dw", "rw")
    ]
    histograms = {"counter": "eh", "resolution": None}
    if config.resolution is None and config.epsilon < 0.05:
        costs.append(_cost("'eh', resolution 0.05", config, arrivals, counter="eh", resolution=0.05))
    for query in ("point", "inner"):
        settings = {**histograms, "optimize_for": query}
        costs.append(_cost(f"'eh', sharp split for {query}", config, arrivals, split="sharp", **settings))
        costs.append(_cost(f"'eh', the paper's for {query}", config, arrivals, split="paper", **settings))
    return costs


def _advice(config: SketchConfig) -> list[str]:
    """A promise in two parts that would take less memory, if there is one."""
    resolution = 0.1 if config.counter == "slices" else 0.05
    if config.resolution is not None or config.epsilon >= resolution or config.optimize_for == "inner":
        return []
    try:
        other = config.replace(resolution=resolution)
    except ConfigError:
        return []
    return [f"advice: take resolution={resolution} if this promise is enough for you: {promise_of(other)}"]


def _cost(name: str, config: SketchConfig, arrivals: int, **changes: Any) -> _Cost:
    """The cost of a config with some fields changed."""
    try:
        other = config.replace(**changes)
    except ConfigError:
        return _Cost(name, config.width, None)
    return _Cost(name, other.width, other.expected_nbytes(arrivals))


def _percent(share: float) -> str:
    return f"{100 * share:.6g} %"
