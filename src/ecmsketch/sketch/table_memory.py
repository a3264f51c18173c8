"""Remembers what was computed from all cells over a range, until the state changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ecmsketch.counters import Reading
from ecmsketch.sketch.bounds import Collisions

Key = TypeVar("Key")
Found = TypeVar("Found")

_MOST_TABLES = 8
_MOST_COLLISIONS = 1024


class TableView(NamedTuple):
    """All cells over a range, and what follows from them for every item."""

    cells: Reading
    expected: float
    """What an item's least collision is expected to be."""
    sums: NDArray[np.float64]
    """The sum of each row's cells."""

    def read(self, numbers: NDArray[np.uint32]) -> Reading:
        """Some of the cells."""
        return Reading(*(part[numbers] for part in self.cells))


@dataclass
class TableMemory:
    """Tables are large, so few are remembered; what they say about collisions is a few numbers."""

    views: dict[tuple[int, int], TableView] = field(default_factory=dict)
    since: dict[int, Reading] = field(default_factory=dict)
    """All cells since a tick. Consecutive intervals share them."""
    collisions: dict[tuple[int, int, float], Collisions] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget everything."""
        for known in (self.views, self.since, self.collisions):
            known.clear()

    def view(self, key: tuple[int, int], find: Callable[[], TableView]) -> TableView:
        """The table of a range, found if it is not known."""
        return _known(self.views, key, find, _MOST_TABLES)

    def cells_since(self, key: int, find: Callable[[], Reading]) -> Reading:
        """All cells since a tick, found if they are not known."""
        return _known(self.since, key, find, _MOST_TABLES)

    def collisions_in(self, key: tuple[int, int, float], find: Callable[[], Collisions]) -> Collisions:
        """What a table says about collisions, found if it is not known."""
        return _known(self.collisions, key, find, _MOST_COLLISIONS)


def _known(known: dict[Key, Found], key: Key, find: Callable[[], Found], most: int) -> Found:
    if key not in known:
        found = find()
        if len(known) >= most:
            del known[next(iter(known))]
        known[key] = found
    return known[key]
