"""SketchConfig: the promise (epsilon, delta, window) becomes width, depth and counter parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from functools import cached_property
from math import ceil, exp
from typing import Any

import numpy as np

from ecmsketch.config import budget, memory, slicing
from ecmsketch.config.describe import describe_config
from ecmsketch.config.setting_checks import checked_fraction, checked_integer, checked_number
from ecmsketch.errors import ConfigError, InputError
from ecmsketch.inputs.ticks import UNITS, to_span
from ecmsketch.kernels.hashing import RowHashes, row_hashes

MIN_EPSILON = 1e-6
MIN_DELTA = 1e-12
MAX_WINDOW = 2**59
MAX_CELLS = 2**25
MAX_EMPTY_BYTES = 2**28
"""Most bytes that counters without arrivals may take, and that slices may take before the first is made."""
COMPACT_WINDOW = 2**31
"""Longest window whose ticks are kept as 32-bit offsets; the offsets move on when they reach 2**32."""

CHOICES: dict[str, tuple[str | None, ...]] = {
    "counter": ("eh", "dw", "rw", "slices"),
    "model": ("time", "count"),
    "optimize_for": ("point", "inner"),
    "merge_formula": ("corrected", "paper"),
    "estimator": ("interpolate", "half"),
    "late": ("raise", "side", "drop"),
    "unit": (None, *UNITS),
    "split": ("sharp", "paper"),
}
MIN_SAMPLES = 16
"""Least samples of a randomized wave: with fewer, errors are far from normal."""
CHANGEABLE = ("estimator", "late", "lateness")
"""Fields that say how a sketch is fed and read, not what it holds. They may change in a filled sketch, and sketches
that differ in them still merge.
"""


@dataclass(frozen=True, kw_only=True)
class SketchConfig:
    """What a sketch promises: how often an item came in the last r <= `window` ticks, off by at most `epsilon`
    of all arrivals in them, with probability 1 - `delta`. Equal configs make sketches that can be merged.

    window         ticks (or arrivals, with model="count") that stay answerable; a timedelta if `unit` is set
    counter        "eh", exponential histograms; "dw", deterministic waves: constant worst-case update;
                   "rw", randomized waves: merged without loss, at many times the memory;
                   "slices", a table for each slice of time instead of a counter in each cell: much smaller
    resolution     how sharply the start of a range is honoured. Cells: an item's count is off by at most `resolution`
                   of itself and `epsilon` of the rest. Slices: the start of a range is off by at most `resolution` of
                   what came since, and collisions add at most `epsilon`. Default: no more than `epsilon` in all
    model          "time": a tick is a moment; "count": a tick is the number of an arrival
    optimize_for   "point" or "inner": which query the error budget is cut for
    merge_depth    levels of merging after which epsilon must still hold; merge_formula "corrected" or "paper"
    max_arrivals   (dw) of one counter inside the window, to take memory for from the start; more takes more
    wave_constant  (rw) arrivals sampled per level, times epsilon_sw^2; default from delta
    wave_instances (rw) independent samples, of which the median answers
    seed           of the row hashes
    heavy_hitters  keep the names of items that may be frequent in some range, for `heavy_hitters` and `top`
    unit           of a tick ("s", "ms", ...), so that datetimes are understood
    late           arrivals behind the clock: "raise", "side" (counted in their place) or "drop" (counted as dropped)
    lateness       how far behind "side" accepts them, default the whole window
    estimator      "interpolate" inside the oldest bucket, or "half" of it as in the paper
    split          (cells) of epsilon: "sharp", or "paper" to reproduce its experiments, its way of merging included
    """

    epsilon: float
    delta: float
    window: int
    counter: str = "slices"
    model: str = "time"
    optimize_for: str = "point"
    merge_depth: int = 0
    merge_formula: str = "corrected"
    max_arrivals: int | None = None
    wave_constant: float | None = None
    wave_instances: int = 1
    seed: int = 0
    heavy_hitters: bool = False
    unit: str | None = None
    late: str = "raise"
    lateness: int | None = None
    estimator: str = "interpolate"
    resolution: float | None = None
    split: str = "sharp"

    def __post_init__(self) -> None:
        for name in CHOICES:
            self._check_choice(name)
        self._set("epsilon", checked_fraction("epsilon", self.epsilon, MIN_EPSILON))
        self._set("delta", checked_fraction("delta", self.delta, MIN_DELTA))
        self._set("window", self._span("window", self.window, 1, MAX_WINDOW))
        if self.lateness is not None:
            self._set("lateness", self._span("lateness", self.lateness, 0, self.window))
        self._set("merge_depth", checked_integer("merge_depth", self.merge_depth, 0, 64))
        if self.max_arrivals is not None:
            self._set("max_arrivals", checked_integer("max_arrivals", self.max_arrivals, 1, 2**53))
        self._set("wave_instances", checked_integer("wave_instances", self.wave_instances, 1, 99))
        if self.wave_constant is not None:
            self._set("wave_constant", checked_number("wave_constant", self.wave_constant, 1.0, 1000.0))
        self._set("seed", checked_integer("seed", self.seed, 0, 2**64 - 1))
        if not isinstance(self.heavy_hitters, bool | np.bool_):
            raise ConfigError(f"heavy_hitters: expected True or False, got {self.heavy_hitters!r}")
        if self.resolution is not None:
            self._set("resolution", checked_fraction("resolution", self.resolution, MIN_EPSILON))
        if self.counter == "rw" and self.optimize_for != "point":
            raise ConfigError("optimize_for: expected 'point' with counter='rw', which has no guarantee for 'inner'")
        self._check_size()

    def _check_size(self) -> None:
        """Refuse a promise that takes more memory than any sketch should."""
        if self.cells > MAX_CELLS:
            raise ConfigError(
                f"epsilon: {self.epsilon:g} with delta={self.delta:g} needs {self.cells:,} counters, "
                f"at most {MAX_CELLS:,} are allowed; choose a larger epsilon"
            )
        if self.counter == "slices":
            nbytes = slicing.unsliced_nbytes(self.cells, self.recent)
            if nbytes > MAX_EMPTY_BYTES:
                raise ConfigError(
                    f"resolution: {self.resolution!r} with epsilon={self.epsilon:g} keeps the newest {self.recent:,} "
                    f"events as they are, which takes {nbytes:,} bytes, at most {MAX_EMPTY_BYTES:,} are allowed; "
                    "choose a larger resolution, or a larger epsilon"
                )
        elif self.counter != "eh" and self._empty_nbytes > MAX_EMPTY_BYTES:
            raise ConfigError(
                f"counter: {self.counter!r} with epsilon={self.epsilon:g} takes {self._empty_nbytes:,} bytes "
                f"even empty, at most {MAX_EMPTY_BYTES:,} are allowed; choose a larger epsilon, or counter='eh'"
            )

    @property
    def _empty_nbytes(self) -> int:
        if self.counter == "dw":
            return self.cells * memory.deterministic_ticks(self.epsilon_sw, self.max_arrivals or 0) * self.tick_bytes
        return self.cells * self.wave_instances * memory.WAVE_LEVELS * 16

    @property
    def first_nbytes(self) -> int:
        """Memory that counting a first arrival takes, at the peak: what a few bytes with this config can cause."""
        if self.counter == "slices":
            return slicing.FIRST_NBYTES
        if self.counter == "eh":
            return self.cells * memory.HISTOGRAM_NBYTES
        if self.counter == "dw":
            return self._empty_nbytes + 32 * self.cells
        return 4 * self._empty_nbytes

    @cached_property
    def _split(self) -> budget.EpsilonSplit:
        """What all levels of merging may use up, and the hash table."""
        if self.counter == "slices":
            return budget.slices_split(self.epsilon, self.resolution, self.optimize_for)
        if self.resolution is not None:
            return budget.resolution_split(self.epsilon, self.resolution)
        if self.split == "paper":
            return budget.paper_split(self.epsilon, self.optimize_for, self.counter)
        return budget.sharp_split(self.epsilon, self.optimize_for)

    @cached_property
    def epsilon_sw(self) -> float:
        """Relative error of one window counter, before any merging; `epsilon_t` with slices."""
        if self.counter == "slices":
            return budget.slices_site_epsilon(self._split.epsilon_sw, self.merge_depth)
        depth = 0 if self.counter == "rw" else self.merge_depth  # randomized waves merge without loss
        return budget.site_epsilon(self._split.epsilon_sw, depth, self.merge_formula)

    @property
    def epsilon_t(self) -> float:
        """(slices) How much of a range its start may be off, as a share of what came since, before any merging."""
        return self.epsilon_sw

    @cached_property
    def block(self) -> int:
        """(slices) Events that become a slice at a time."""
        return slicing.block_of(self.cells, self.recent)

    @cached_property
    def recent(self) -> int:
        """(slices) The newest events that are kept as they are, and are in no slice."""
        return slicing.recent_of(self.cells, self.epsilon_t)

    @property
    def epsilon_cm(self) -> float:
        """Error of the hash table: the share of all arrivals that may collide with an item."""
        return self._split.epsilon_cm

    @cached_property
    def width(self) -> int:
        """Counters per row."""
        return budget.table_width(self.epsilon_cm)

    @cached_property
    def depth(self) -> int:
        """Rows, each with its own hash function."""
        return budget.table_depth(self.delta / 2 if self.counter == "rw" else self.delta)

    @cached_property
    def delta_sw(self) -> float:
        """(rw) Probability that one counter misses epsilon_sw; all of an item's must hold, on half of delta."""
        if self.counter != "rw":
            return 0.0
        if self.wave_constant is not None:
            return budget.wave_miss(self.wave_constant, self.wave_instances)
        return self.delta / (2 * self.depth)

    @cached_property
    def samples(self) -> int:
        """(rw) Arrivals kept per level and instance: wave_constant / epsilon_sw^2."""
        constant = self.wave_constant or budget.wave_constant(self.delta_sw, self.wave_instances)
        return max(ceil(constant / self.epsilon_sw**2), MIN_SAMPLES)

    @property
    def cells(self) -> int:
        """Counters in all."""
        return self.width * self.depth

    @cached_property
    def rows(self) -> RowHashes:
        """The hashes that give items their cells, a row of cells each."""
        return row_hashes(self.seed, self.depth, self.width)

    def rows_of(self, block: int) -> RowHashes:
        """The rows of a block of the table: all of them here, those of a level of prefixes in a PrefixConfig."""
        return self.rows

    @cached_property
    def confidence(self) -> float:
        """Probability that a point query's bounds hold: not every row is unlucky, and (rw) every counter holds."""
        return max(1 - exp(-self.depth) - self.depth * self.delta_sw, 0.0)

    @property
    def tick_bytes(self) -> int:
        """Bytes in which a counter keeps one tick."""
        return 4 if self.window <= COMPACT_WINDOW else 8

    @property
    def allowed_lateness(self) -> int:
        """How far behind the clock late="side" still counts an arrival in its place."""
        return self.window if self.lateness is None else self.lateness

    def replace(self, **changes: Any) -> SketchConfig:
        """The same config with some fields changed."""
        return replace(self, **changes)

    def compatible(self, other: SketchConfig) -> bool:
        """Whether sketches of the two configs can be merged."""
        return not self.differences(other)

    def differences(self, other: SketchConfig) -> list[str]:
        """The fields that keep two sketches from being merged."""
        names = (field.name for field in fields(self) if field.name not in CHANGEABLE)
        return [name for name in names if getattr(self, name) != getattr(other, name)]

    def expected_nbytes(self, arrivals: int) -> int:
        """Memory once `arrivals` events are inside the window, spread evenly over a row."""
        if self.counter == "slices":
            return slicing.expected_nbytes(arrivals, self.cells, self.block, self.recent, self.epsilon_t)
        return self.cells * (_TICKS_KEPT[self.counter](self, arrivals / self.width) * self.tick_bytes + 32)

    def describe(self, arrivals: int = 1_000_000) -> str:
        """What this config promises and derives, and what other counters and splits of epsilon would cost."""
        return describe_config(self, arrivals)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_choice(self, name: str) -> None:
        value = getattr(self, name)
        if value not in CHOICES[name]:
            allowed = ", ".join(repr(choice) for choice in CHOICES[name])
            raise ConfigError(f"{name}: expected one of {allowed}, got {value!r}")

    def _span(self, name: str, value: Any, low: int, high: int) -> int:
        if isinstance(value, bool):
            raise ConfigError(f"{name}: expected a whole number of ticks from {low:,} to {high:,}, got {value!r}")
        if isinstance(value, timedelta | np.timedelta64) and self.unit is None:
            raise ConfigError(f"{name}: got {value!r}, but unit is not set; give unit='s', for example")
        try:
            return checked_integer(name, to_span(value, self.unit), low, high)
        except InputError as error:
            raise ConfigError(
                f"{name}: expected a whole number of ticks from {low:,} to {high:,}, got {value!r}"
            ) from error


_TICKS_KEPT: dict[str, Callable[[SketchConfig, float], int]] = {
    "eh": lambda config, arrivals: memory.histogram_ticks(config.epsilon_sw, arrivals),
    "dw": lambda config, arrivals: memory.deterministic_ticks(
        config.epsilon_sw, max(arrivals, config.max_arrivals or 0)
    ),
    "rw": lambda config, arrivals: memory.randomized_ticks(config.samples, config.wave_instances, arrivals),
}
