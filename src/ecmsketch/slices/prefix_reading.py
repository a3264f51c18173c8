"""Reads prefixes from slices in parts: what surely lies in the range, and what cut slices may add.

Nothing is centred here. All children of a prefix collide alike, so what they have too much is found by adding them up
(sketch/projection.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64
from numpy.typing import NDArray

from ecmsketch.inputs.row_hashes import RowHashes, cells_of
from ecmsketch.kernels import kernel
from ecmsketch.slices.stream_reading import StreamReading

Floats = NDArray[np.float64]


class Parts(NamedTuple):
    """Counts of some prefixes over a range, one entry for each prefix. Collisions are in all but `events`."""

    events: Floats
    """How often it is among the events: exact."""
    inside: Floats
    """At most so often it is among the events and in slices that lie inside the range."""
    value: Floats
    """`inside` with the interpolated parts of cut slices."""
    upper: Floats
    """`inside` with all that cut slices may add."""


def read_prefixes(
    stream: StreamReading, prefixes: NDArray[np.uint64], rows: RowHashes, since: int, until: int
) -> Parts:
    """How often some prefixes came in (since, until]. A prefix is an item without the low bits that `rows` drop."""
    drop = rows.drop.item(0)
    events = stream._exact(prefixes, drop, since, until)
    found = stream._locate(since, until)
    if not found.inside and not len(found.slots):
        return Parts(events, events, events, events)
    view = stream._view(found)
    cells = cells_of(prefixes << np.uint64(drop), rows)
    return Parts(events, *_read(view.tables, view.whole, cells, found.shares, found.slack, found.most, events))


@kernel
def _read(tables: Any, whole: Any, cells: Any, shares: Any, slack: Any, most: Any, events: Any) -> Any:
    """Add up the least cells of each prefix, whose cells are rows x prefixes: (inside, value, upper)."""
    rows, count = cells.shape
    inside, value, upper = events.copy(), np.empty(count), np.empty(count)
    for i in range(count):
        parts, largest = 0.0, 0.0
        for t in range(tables.shape[0]):
            smallest = float64(np.inf)
            for row in range(rows):
                smallest = min(smallest, float64(tables[t, cells[row, i]]))
            if t < whole:
                inside[i] += smallest
            else:
                cut = t - whole
                part = min(max(shares[cut] * smallest, smallest - slack[cut]), slack[cut])
                parts += min(part, most[cut])
                largest += min(smallest, most[cut])
        value[i] = inside[i] + parts
        upper[i] = inside[i] + largest
    return inside, value, upper
