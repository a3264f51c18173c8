"""What watching costs without local tests: shipping the events, or synchronising all sites every so often."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.inputs.items import hash_items
from ecmsketch.kernels.packing import put_varints
from ecmsketch.monitor.events import Events, Observed
from ecmsketch.monitor.simulation import Simulation, longest
from ecmsketch.monitor.synchronising import Cost
from ecmsketch.monitor.wire import put_text, seal

PLAIN_EVENT = 16
"""Bytes of an event as two plain numbers: its item's hash and its tick."""


class Period(NamedTuple):
    """Synchronising all sites every `ticks`: what it costs, and what the coordinator then knows how well.

    error  the farthest the value was from what the coordinator knew
    lag    the longest that the coordinator's region was wrong, in ticks
    kept   whether the value was always within the threshold's bounds of what the coordinator knew
    """

    ticks: int
    cost: Cost
    error: float
    lag: int
    kept: bool


def ship_events(events: Events) -> Cost:
    """The cost of sending each event in a message of its own, of 16 bytes."""
    return Cost(len(events), PLAIN_EVENT * len(events))


def ship_batches(events: Events, every: int) -> Cost:
    """The cost of sending a message for each site and step that has events, with 16 bytes an event."""
    return Cost(sum(1 for _ in _batches(events, every)), PLAIN_EVENT * len(events))


def ship_packed(events: Events, every: int) -> Cost:
    """The cost of `ship_batches` if ticks are sent as differences and numbers in as few bytes as they need."""
    sizes = [len(_pack(batch)) for batch in _batches(events, every)]
    return Cost(len(sizes), sum(sizes))


def periods(simulation: Simulation) -> list[Period]:
    """Synchronising every 1, 2, 3, 4, 6, 8, 12, ... steps of a simulation that was run with baselines=True.

    Each site sends its changes, and nothing is sent back.
    """
    return [_period(simulation, steps) for steps in simulation.synchronising.all]


def tuned_period(simulation: Simulation, lag: int | None = None) -> Period:
    """The longest period that is good enough, chosen by one who knows the future: the value always within the
    threshold's bounds, or if a lag is given, the region never wrong for longer than that.
    """
    every = _period(simulation, 1)
    good = (found for found in periods(simulation) if (found.kept if lag is None else found.lag <= lag))
    return max(good, key=lambda found: found.ticks, default=every)


def _period(simulation: Simulation, steps: int) -> Period:
    value, region = simulation.column("value"), simulation.column("region")
    at = np.arange(len(value)) // steps * steps
    bounds = np.array([simulation.watch.threshold.bounds(known) for known in value[::steps].tolist()])
    low, high = bounds[at // steps].T
    cost = simulation.synchronising.all[steps]
    error = float(np.abs(value - value[at]).max(initial=-inf))
    kept = bool(((low <= value) & (value <= high)).all())
    return Period(steps * simulation.every, cost, error, longest(region != region[at]) * simulation.every, kept)


def _batches(events: Events, every: int) -> list[Observed]:
    steps = events.steps(every, int(events.ticks[-1]))
    return [batch for _, where in steps for batch in events.batches(where)]


def _pack(batch: Observed) -> bytes:
    ticks = np.diff(batch.ticks, prepend=0)
    weights = b"" if (batch.weights == 1).all() else put_varints(batch.weights)
    numbers = put_varints((ticks << 1) ^ (ticks >> 63)) + weights
    return seal(0, [put_text(batch.site), put_text(batch.stream), numbers, _pack_items(batch.items)])


def _pack_items(items: NDArray[Any]) -> bytes:
    """Whole numbers that are not negative in as few bytes as they need, others by their hashes of 8 bytes."""
    if items.dtype.kind in "iu" and len(items) and int(items.min()) >= 0 and int(items.max()) < 2**56:
        return put_varints(items.astype(np.int64))
    return hash_items(items).tobytes()
