"""Events gathered from batches: those that can be counted, by site, and why others cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.spark.cleaning import Events, Reasons, Rows, add_reasons, clean
from ecmsketch.spark.grouping import number_sites, scatter, tally
from ecmsketch.spark.recipe import Recipe
from ecmsketch.spark.row_order import Ints, join_rows, numbers, one_chunk, pick_rows, plain_items


class Together(NamedTuple):
    """Gathered events, those of a site together (`counts` says how many), and why others cannot be counted."""

    sites: list[Any]
    counts: Ints
    rows: Rows | None
    rejected: dict[Any, Reasons]


class GatheredEvents:
    """Takes events in any order, and gives them back by site."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._gathered: list[tuple[Any, Rows]] = []
        self._count = 0
        self._rejected: dict[Any, Reasons] = {}
        self._sorter = _Sorter()

    def add(self, events: Events) -> int:
        """Take some events; returns how many are gathered now."""
        kept, rejected = clean(events, self._recipe)
        for site, reasons in rejected.items():
            add_reasons(self._rejected.setdefault(site, {}), reasons)
        if len(kept.ticks):
            weights = None if kept.weights is None else numbers(kept.weights)
            self._gathered.append((kept.sites, Rows(plain_items(kept.items), numbers(kept.ticks), weights)))
            self._count += len(kept.ticks)
        return self._count

    def take(self) -> Iterator[tuple[Any, Rows | None, Reasons]]:
        """What was gathered, by site: the rows that can be counted, and why others cannot; then nothing is left.

        The rows are valid only until more are taken.
        """
        rejected, self._rejected = self._rejected, {}
        gathered, self._gathered, self._count = self._gathered, [], 0
        for site, rows in self._sorter.by_site(gathered):
            yield site, rows, rejected.pop(site, {})
        for site, reasons in rejected.items():
            yield site, None, reasons

    def take_together(self, rank: Callable[[list[Any]], Ints]) -> Together:
        """What was gathered, the sites of the lowest rank first; then nothing is left.

        Sites of which nothing can be counted come too. The rows are valid only until more are taken.
        """
        rejected, self._rejected = self._rejected, {}
        gathered, self._gathered, self._count = self._gathered, [], 0
        return self._sorter.together(gathered, rejected, rank)


class _Sorter:
    """Puts the rows of each site together, in their order, in memory that is used again and again."""

    def __init__(self) -> None:
        self._scratch = (np.empty(0, np.int64), np.empty(0, np.int64))

    def by_site(self, gathered: list[tuple[Any, Rows]]) -> Iterator[tuple[Any, Rows]]:
        """The rows of each site. They are valid only until the next call."""
        if not gathered:
            return
        if gathered[0][0] is None:
            yield "all", join_rows([rows for _, rows in gathered])
            return
        names: dict[Any, int] = {}
        codes = _codes(gathered, names)
        counts = _tallied(codes, len(names))
        ends = np.cumsum(counts)
        rows = self._together(gathered, codes, ends - counts)
        for name, end, count in zip(names, ends.tolist(), counts.tolist(), strict=True):
            yield name, rows.part(end - count, end)

    def together(
        self, gathered: list[tuple[Any, Rows]], rejected: dict[Any, Reasons], rank: Callable[[list[Any]], Ints]
    ) -> Together:
        """The rows of all sites, those of the lowest rank first. They are valid only until the next call."""
        names: dict[Any, int] = {}
        codes = _codes(gathered, names)
        sites = [*names, *(site for site in rejected if site not in names)]
        counts = _tallied(codes, len(sites))
        order = np.argsort(rank(sites), kind="stable")
        begins = np.empty(len(sites), np.int64)
        begins[order] = np.cumsum(counts[order]) - counts[order]
        rows = self._together(gathered, codes, begins) if gathered else None
        return Together([sites[i] for i in order.tolist()], counts[order], rows, rejected)

    def _together(self, gathered: list[tuple[Any, Rows]], codes: list[NDArray[np.int32]], begins: Ints) -> Rows:
        total = sum(map(len, codes))
        if len(self._scratch[0]) < total:
            self._scratch = (np.empty(total, np.int64), np.empty(total, np.int64))
        simple = isinstance(gathered[0][1].items, np.ndarray) and gathered[0][1].weights is None
        at = begins.copy()
        done = 0
        for (_, rows), which in zip(gathered, codes, strict=True):
            first = rows.items if simple else np.arange(done, done + len(which))
            scatter((first, rows.ticks), which, at, self._scratch)
            done += len(which)
        first, ticks = (column[:total] for column in self._scratch)
        if simple:
            return Rows(first, ticks, None)
        return pick_rows(join_rows([rows for _, rows in gathered]), first)


def _codes(gathered: list[tuple[Any, Rows]], names: dict[Any, int]) -> list[NDArray[np.int32]]:
    """The number of every row's site, by part; sites that are new get the next numbers."""
    codes = []
    for sites, rows in gathered:
        if sites is None:
            codes.append(np.full(len(rows.ticks), names.setdefault("all", 0), np.int32))
            continue
        found, which = number_sites(one_chunk(sites))
        known = np.array([names.setdefault(name, len(names)) for name in found], np.int32)
        codes.append(known[which])
    return codes


def _tallied(codes: list[NDArray[np.int32]], sites: int) -> Ints:
    """How many rows each site has."""
    counts = np.zeros(sites, np.int64)
    for which in codes:
        tally(which, counts)
    return counts
