"""How a stream is cut into slices (counter="slices"), and how much memory they take.

The newest events are kept as they are. After every `block` events, all but the newest `recent` become slices: a small
table of counts each. A slice holds at most 2 epsilon_t of what is newer; neighbours are joined as far as that allows.
"""

from __future__ import annotations

from math import ceil, log, log1p

FIRST_NBYTES = 3072
"""Memory that a first arrival takes: an event, the arrays it is in, and the objects of the sketch."""
_LEAST_BLOCK, _MOST_BLOCK = 1024, 65_536
_CELLS_PER_EVENT = 4
_BLOCKS_OF_RECENT = 8
"""A block has no less than this part of the newest events: all slices are looked at after every block."""
_LEAST_SLICE, _MOST_SLICE = 64, 16_384
_CELLS_PER_SLICED_EVENT = 16
"""A slice's table has so many cells for each event of the smallest slices: with two bits a cell, it takes less memory
than the events.
"""
_EVENT_NBYTES = 12
_EVENT_NBYTES_AT_MOST = 24
_CELL_NBYTES, _CELL_NBYTES_AT_MOST = 0.9, 8
_SLICE_NBYTES = 200
"""Memory of a slice besides its table."""
_FULLNESS = 0.75
"""How much a slice holds on average, as a share of the most it may hold."""


def block_of(cells: int, recent: int) -> int:
    """After how many events older ones become slices, for tables of that many cells and so many newest events."""
    return min(max(ceil(cells / _CELLS_PER_EVENT), recent // _BLOCKS_OF_RECENT, _LEAST_BLOCK), _MOST_BLOCK)


def newest_slice_of(cells: int) -> int:
    """How many events the newest slice has, for tables of that many cells."""
    return min(max(ceil(cells / _CELLS_PER_SLICED_EVENT), _LEAST_SLICE), _MOST_SLICE)


def recent_of(cells: int, epsilon_t: float) -> int:
    """The newest events that are kept as they are: so many that the newest slice has at most 2 epsilon_t of them."""
    return ceil(newest_slice_of(cells) / (2 * epsilon_t))


def unsliced_nbytes(cells: int, recent: int) -> int:
    """The most memory that the newest events and one table take."""
    return recent * _EVENT_NBYTES_AT_MOST + cells * _CELL_NBYTES_AT_MOST


def expected_slices(arrivals: float, cells: int, recent: int, epsilon_t: float) -> float:
    """The slices that some arrivals need: each older one makes all that it and newer ones hold grow by its share."""
    if arrivals <= recent:
        return 0.0
    grown = log(arrivals / recent) / log1p(_FULLNESS * 2 * epsilon_t)
    return min(grown, (arrivals - recent) / newest_slice_of(cells))


def expected_nbytes(arrivals: float, cells: int, block: int, recent: int, epsilon_t: float) -> int:
    """Memory with that many arrivals inside the window: events, and tables of mostly one byte a cell."""
    events = min(arrivals, recent + block / 2) * _EVENT_NBYTES
    slices = expected_slices(arrivals, cells, recent, epsilon_t)
    return ceil(events + slices * (cells * _CELL_NBYTES + _SLICE_NBYTES))
