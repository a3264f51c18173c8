"""Pieces of one site's stream, as one worker makes them of the site's events: a sketch each.

Rows go to the piece that ends latest before them, or begin a new piece beside the others. Slices take rows as they
come (`UnsortedPieces`). Counters in cells want them in order of time (sorted_pieces.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ecmsketch.sketch.any_order import AnyOrder
from ecmsketch.sketch.loading import AnySketch
from ecmsketch.spark.cleaning import Reasons, Rows, add_reasons, feed
from ecmsketch.spark.recipe import Recipe

PIECE_BYTES = 8_000
"""What a piece takes as objects, besides what its sketch counts: 4 to 6 KB were measured."""
DISORDER = 8
"""One in eight rows may be out of order, and still they go into one piece with those before them."""


class Piece:
    """One sketch that is being built, and what it has counted."""

    def __init__(self, recipe: Recipe, name: str) -> None:
        self._recipe = recipe
        empty = recipe.new(name)
        self.sketch: AnySketch | AnyOrder[AnySketch] = AnyOrder(empty) if recipe.any_order else empty
        self.events = 0
        self.first_tick: int | None = None
        self.last_tick: int | None = None

    def feed(self, rows: Rows) -> Reasons:
        """Count rows; returns why some could not be counted."""
        return feed(self._count, rows)

    def _count(self, rows: Rows) -> None:
        self.sketch.update_many(self._recipe.items(rows.items), rows.ticks, rows.weights)
        self.events += len(rows.ticks)
        ticks = rows.arrival_ticks()
        if len(ticks):
            first, last = int(ticks.min()), int(ticks.max())
            self.first_tick = first if self.first_tick is None else min(first, self.first_tick)
            self.last_tick = last if self.last_tick is None else max(last, self.last_tick)


class SitePieces(ABC):
    """The pieces of one site, and why events of it could not be counted."""

    def __init__(self, recipe: Recipe, name: str, first: int = 0) -> None:
        """The pieces are named by `name` and a number, from `first` on."""
        self._recipe, self._name = recipe, name
        self._made = first
        self.pieces: list[Piece] = []
        self.reasons: Reasons = {}

    @property
    def nbytes(self) -> int:
        """Memory held, by objects too."""
        return self.waiting + sum(piece.sketch.nbytes + PIECE_BYTES for piece in self.pieces)

    @property
    def waiting(self) -> int:
        """Memory held by rows that wait to be counted."""
        return 0

    @abstractmethod
    def feed(self, rows: Rows, final: bool) -> None:
        """Take some rows of the site, in any order; if `final`, no more will come. They are valid only meanwhile."""

    @abstractmethod
    def finish(self) -> None:
        """Count what still waits to be counted: no more rows will come."""

    def take(self) -> tuple[list[Piece], Reasons]:
        """All pieces, and why rows were not counted; then nothing is left."""
        taken = self.pieces, self.reasons
        self.pieces, self.reasons = [], {}
        return taken

    def _count(self, rows: Rows, begin: int) -> None:
        """Count rows in the piece that ends latest but not after the tick `begin`, or in a new one."""
        ended = [piece for piece in self.pieces if piece.last_tick is None or piece.last_tick <= begin]
        piece = max(ended, key=lambda piece: (piece.last_tick is not None, piece.last_tick), default=None)
        add_reasons(self.reasons, (piece or self._begin()).feed(rows))

    def _begin(self) -> Piece:
        """A new piece. Its name differs from those of all others."""
        self.pieces.append(Piece(self._recipe, f"{self._name}/{self._made}"))
        self._made += 1
        return self.pieces[-1]


class UnsortedPieces(SitePieces):
    """Pieces of slices: nothing is sorted and nothing waits. An eighth of the rows may come behind their piece."""

    def feed(self, rows: Rows, final: bool) -> None:
        """Count rows."""
        oldest = len(rows.ticks) // DISORDER
        self._count(rows, int(np.partition(rows.ticks, oldest)[oldest]))

    def finish(self) -> None:
        """Do nothing: nothing waits."""
