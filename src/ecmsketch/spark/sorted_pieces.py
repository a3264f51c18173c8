"""Pieces of one site's stream whose events are fed in order of time, for counters that need it.

The newest eighth of the events waits for the next feeding, so that a stream that is nearly in order stays in order.
"""

from __future__ import annotations

from ecmsketch.spark.cleaning import Rows
from ecmsketch.spark.recipe import Recipe
from ecmsketch.spark.row_order import copied, in_order
from ecmsketch.spark.site_pieces import DISORDER, SitePieces


class SortedPieces(SitePieces):
    """The pieces of one site, and its newest events, which wait for others that may come before them."""

    def __init__(self, recipe: Recipe, name: str, first: int = 0) -> None:
        super().__init__(recipe, name, first)
        self._waiting: list[Rows] = []

    @property
    def waiting(self) -> int:
        """Memory held by rows that wait to be counted."""
        return sum(rows.nbytes for rows in self._waiting)

    def feed(self, rows: Rows, final: bool) -> None:
        """Count rows in order of time; unless they are the last, the newest of them wait."""
        ordered = in_order([*self._waiting, rows])
        total = len(ordered.ticks)
        count = total if final else total - total // DISORDER
        self._waiting = [ordered.part(count, total).each(copied)] if count < total else []
        self._count(ordered.part(0, count), int(ordered.ticks[0]))

    def finish(self) -> None:
        """Count what waits."""
        for rows in self._waiting:
            self._count(rows, int(rows.ticks[0]))
        self._waiting = []
