"""Centring: cells less the mean of their row, so that collisions cancel out instead of adding up.

Centring is a linear map. The average of centred vectors is the centred average, a ball becomes a ball, and the vectors
that it maps into a convex zone are themselves a convex zone. So what holds for a function of one row holds for its
centred vectors as well (docs/monitoring.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from ecmsketch.config import SketchConfig
from ecmsketch.errors import ConfigError
from ecmsketch.monitor.functions import Function, Vector, Zone


def centre(vector: Vector) -> Vector:
    """Cells less the mean of their row, with all rows as one long row: ... x rows x width to ... x 1 x cells.

    Scaled such that a product of long rows is the mean over rows of (<a, b> - sum(a) sum(b) / width) width/(width - 1).
    """
    shifted = vector - vector.mean(axis=-1, keepdims=True)
    centred: Vector = (scale(vector) * shifted).reshape(*vector.shape[:-2], 1, -1)
    return centred


def scale(vector: Vector) -> float:
    """The factor by which centring changes the radius of a ball."""
    depth, width = vector.shape[-2:]
    return sqrt(width / (width - 1) / depth)


@dataclass(frozen=True)
class CentredZone:
    """The vectors that are in a convex zone once they are centred."""

    zone: Zone

    def contains(self, vector: Vector) -> bool:
        return self.zone.contains(centre(vector))


def check_cells(function: Function, sketch: SketchConfig | None) -> None:
    """Refuse to centre vectors that are no cells of sketches: their mean may be what matters."""
    if sketch is None:
        raise ConfigError(
            f"function: {function!r} needs cells of sketches, but the watch has no sketch=; "
            "give one, or centred=False for vectors of your own"
        )
