"""What is known of a stored row without reading its sketch, and which rows count.

Rows of one site and one writer are a stream; rows without a writer are one too. In a stream only the newest generation
counts, and in it a *snapshot* replaces the earlier snapshots, and those earlier *segments* that end no later than it
does. What nothing replaced is *live*. Earlier means in an earlier commit, or earlier in the same one: clocks are never
asked. A writer's batches are committed in rising order, so its highest batch is its newest. liveness.py finds them.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from ecmsketch.inputs.ticks import MIN_TICK
from ecmsketch.sketch.merging import Extent

Fingerprints = bytes
"""Fingerprints joined one after the other (fingerprints.py)."""


class StoredRow(NamedTuple):
    """What is known of a stored row without reading its sketch, and where it lies."""

    site: str
    kind: str
    part: str
    first_tick: int | None
    """None if the sketch is empty."""
    last_tick: int | None
    """The sketch's clock."""
    events: int | None
    bytes: int
    writer: str | None
    generation: int | None
    """Counts the writer's generations from 1; None without a writer."""
    batch: int | None
    version: int
    """The table's version that the row came with."""
    position: int
    """The row's place among those of its commit."""
    fingerprints: Fingerprints | None
    """The fingerprints of all segments that went into the row."""
    written: datetime
    """When the row was written by the writer's clock, for people to read."""
    file: str
    number: int
    """The row's place in its file, from 0."""

    @property
    def extent(self) -> Extent:
        """First and last tick; where there is none, as early as can be."""
        end = MIN_TICK if self.last_tick is None else self.last_tick
        return (end if self.first_tick is None else self.first_tick), end

    @property
    def order(self) -> tuple[int, int]:
        """Smaller is earlier."""
        return self.version, self.position

    @property
    def stream(self) -> tuple[str, str | None]:
        """Site and writer: rows replace rows of their own stream only."""
        return self.site, self.writer

    def touches(self, since: int, until: int) -> bool:
        """Whether arrivals of it may lie in (since, until]."""
        begin, end = self.extent
        return self.first_tick is not None and begin <= until and end > since

    def __str__(self) -> str:
        return f"site {self.site!r}, row {self.number} of {self.file}"
