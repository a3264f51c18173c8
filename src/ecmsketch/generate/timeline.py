"""When generated events happen, and how a log is cut into slices that can be made on any machine, in any order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.errors import ConfigError, InputError
from ecmsketch.inputs.columns import is_integer

Ints = NDArray[np.int64]

SLICE_EVENTS = 250_000
"""The approximate number of events in a slice. The slices depend on the log alone, not on who makes them."""


class Timeline:
    """`events` events at a rate that is constant between edges, cut at whole seconds into slices of about equal size.

    The rate gives the number of events in a slice, rounded such that all slices together have exactly `events`.
    """

    def __init__(self, events: int, edges: Ints, weights: NDArray[Any]) -> None:
        """`edges` are in seconds; `weights[k]` is the relative number of events between edges k and k + 1."""
        cumulated = np.concatenate(([0.0], np.cumsum(weights, dtype=np.float64)))
        self._edges, self._shares = edges.astype(np.float64), cumulated / cumulated[-1]
        pieces = max(1, round(events / SLICE_EVENTS))
        inner = np.ceil(np.interp(np.arange(1, pieces) / pieces, self._shares, self._edges)).astype(np.int64)
        self.cuts = np.unique(np.concatenate((edges[:1], inner, edges[-1:])))
        self._cut_shares = np.interp(self.cuts, self._edges, self._shares)
        self.before = np.rint(self._cut_shares * events).astype(np.int64)

    def seconds(self, index: int, random: np.random.Generator) -> Ints:
        """The times of a slice's events, in order.

        Normalised running sums of exponential gaps are distributed as sorted uniform numbers, so nothing is sorted.
        """
        gaps = random.standard_exponential(int(self.before[index + 1] - self.before[index]) + 1)
        np.cumsum(gaps, out=gaps)
        low, high = self._cut_shares[index : index + 2]
        shares = gaps[:-1] * ((high - low) / gaps[-1]) + low
        seconds: Ints = np.interp(shares, self._shares, self._edges).astype(np.int64)
        np.clip(seconds, self.cuts[index], self.cuts[index + 1] - 1, out=seconds)
        return seconds


class SlicedLog(ABC):
    """A generated log: it can make any of its slices from the seed and the number of the slice alone."""

    events: int
    seed: int

    @property
    @abstractmethod
    def timeline(self) -> Timeline:
        """When the events happen."""

    @abstractmethod
    def describe(self) -> str:
        """A description of the log and of what it was generated from."""

    @abstractmethod
    def slice(self, index: int) -> NDArray[Any] | dict[str, Ints]:
        """The events of one slice, in order of time."""

    @property
    def slices(self) -> int:
        """The number of slices: about one per 250,000 events, but none shorter than a second."""
        return len(self.timeline.cuts) - 1

    def slice_span(self, index: int) -> tuple[int, int]:
        """The first and the last second of a slice. Together the slices cover every second of the log once."""
        self._check(index)
        cuts = self.timeline.cuts
        return int(cuts[index]), int(cuts[index + 1]) - 1

    def slice_events(self, index: int) -> int:
        """The number of events in a slice."""
        self._check(index)
        before = self.timeline.before
        return int(before[index + 1] - before[index])

    def _random(self, index: int) -> np.random.Generator:
        self._check(index)
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(index,)))

    def _check(self, index: int) -> None:
        if not 0 <= index < self.slices:
            raise InputError(f"slice: got {index}, expected 0 to {self.slices - 1}")

    def _check_settings(self, **at_least_one: int) -> None:
        for name, value in {"events": self.events, **at_least_one}.items():
            if not is_integer(value) or value < 1:
                raise ConfigError(f"{name}: got {value!r}, expected a whole number of at least 1")
        if not is_integer(self.seed) or self.seed < 0:
            raise ConfigError(f"seed: got {self.seed!r}, expected a whole number of at least 0")
