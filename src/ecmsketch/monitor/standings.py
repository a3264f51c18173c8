"""How things really stand at the sites, which only a simulation can see, and whether the coordinator is right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import numpy as np

from ecmsketch.monitor.coordinator import Coordinator
from ecmsketch.monitor.functions import Vector
from ecmsketch.monitor.item_coordinator import ItemCoordinator
from ecmsketch.monitor.item_site import combined_counts
from ecmsketch.monitor.vector_site import VectorSite

Places = Mapping[str, VectorSite]


class Standing(NamedTuple):
    """The value of the sites' own vectors, its region, and whether what the coordinator says fits."""

    value: float
    region: int
    right: bool


NOBODY = Standing(np.nan, 0, True)
"""No site is present, so nothing can be wrong."""


def vector_standing(coordinator: Coordinator, present: Places) -> Standing:
    """The combined value: it must be within the coordinator's bounds."""
    watch = coordinator.watch
    vectors = [site.vector for site in present.values() if site.vector is not None]
    if not vectors:
        return NOBODY
    total: Vector = np.sum(vectors, axis=0)
    value = watch.function.value(total if watch.combine == "sum" else total / len(vectors))
    low, high = coordinator.bounds or (-np.inf, np.inf)
    slip = 1e-9 * max(abs(value), 1.0)  # of floating point
    return Standing(value, watch.threshold.region(value), low - slip <= value <= high + slip)


def item_standing(coordinator: Coordinator, present: Places) -> Standing:
    """How many items are above: they must be those that the coordinator says."""
    assert isinstance(coordinator, ItemCoordinator)
    if not present:
        return NOBODY
    values = combined_counts(cast(Any, list(present.values())))
    above = {key for key, value in values.items() if value >= coordinator.watch.threshold.tau}  # type: ignore[attr-defined]
    return Standing(float(len(above)), int(bool(above)), above == coordinator.raised_keys)
