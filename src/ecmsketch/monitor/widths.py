"""Widths: how far sites may be from what the coordinator has of them, together no farther than the value has room."""

from __future__ import annotations

from math import floor, sqrt

import numpy as np

from ecmsketch.monitor.functions import Vector
from ecmsketch.monitor.vector_bytes import is_whole
from ecmsketch.monitor.watch import Watch

_MOST_ROOM = 2.0**50
_LEAST_SHARE = 1 / 64
"""Widths of numbers that are not whole are given up when they have shrunk so far."""


def room_of(watch: Watch, value: float, low: float, high: float) -> float:
    """How far every entry of the combined vector may move before its value may leave the bounds; 0 if not known.

    It is negative if the value is outside of them.
    """
    room = min(value - low, high - value, _MOST_ROOM)
    slope = watch.function.slope
    return room / slope if slope is not None else min(room, 0.0)


def share_widths(vectors: dict[str, Vector], total: float, widest: float) -> dict[str, float]:
    """A total shared out among sites, by the roots of their entries: where much comes, much changes.

    Widths of whole numbers are whole. Less than that serves nothing.
    """
    weights = {site: sqrt(1 + float(np.abs(vector).max(initial=0.0))) for site, vector in vectors.items()}
    unit = total / sum(weights.values())
    shares = {site: unit * weight for site, weight in weights.items()}
    if all(is_whole(vector) for vector in vectors.values()):
        return {site: float(floor(share)) for site, share in shares.items()}
    return shares if total > _LEAST_SHARE * widest else dict.fromkeys(vectors, 0.0)
