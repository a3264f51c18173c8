"""Events gathered from batches: those that can be counted, by site, and why others cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ecmsketch.kernels.grouping import add_counts, scatter
from ecmsketch.spark.cleaning import Events, Reasons, Rows, add_reasons, clean
from ecmsketch.spark.recipe import Recipe
from ecmsketch.spark.row_order import Ints, copied, join_rows, numbers, one_chunk, pick_rows, plain_items
from ecmsketch.spark.site_numbers import number_sites


class Grouped(NamedTuple):
    """Rows, site by site: first all of the first site."""

    names: Any
    """The sites, as an Arrow column."""
    counts: Ints
    """How many rows each site has."""
    rows: Rows

    def only(self, wanted: NDArray[np.bool_]) -> Grouped:
        """The rows of some sites."""
        if wanted.all():
            return self
        mask = np.repeat(wanted, self.counts)
        arrow = pa.array(mask)
        rows = self.rows.each(lambda column: column[mask] if isinstance(column, np.ndarray) else column.filter(arrow))
        return Grouped(self.names.filter(pa.array(wanted)), self.counts[wanted], rows)

    def by_site(self) -> Iterator[tuple[Any, Rows]]:
        """The rows of each site."""
        ends = np.cumsum(self.counts).tolist()
        for name, end, count in zip(self.names.to_pylist(), ends, self.counts.tolist(), strict=True):
            yield name, self.rows.part(end - count, end)


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
        self._one_site = False

    def add(self, events: Events) -> int:
        """Take some events; returns how many are gathered now, without those put back."""
        kept, rejected = clean(events, self._recipe)
        for site, reasons in rejected.items():
            add_reasons(self._rejected.setdefault(site, {}), reasons)
        if len(kept.ticks):
            weights = None if kept.weights is None else numbers(kept.weights)
            self._gathered.append((kept.sites, Rows(plain_items(kept.items), numbers(kept.ticks), weights)))
            self._count += len(kept.ticks)
            self._one_site = kept.sites is None
        return self._count

    def put_back(self, grouped: Grouped) -> None:
        """Take rows that came out before. They come before all that are gathered since."""
        sites = None
        if not self._one_site:
            sites = grouped.names.take(pa.array(np.repeat(np.arange(len(grouped.counts)), grouped.counts)))
        self._gathered.insert(0, (sites, grouped.rows.each(copied)))

    def group(self) -> tuple[Grouped | None, dict[Any, Reasons]]:
        """What was gathered, by site, and why other events cannot be counted; then nothing is left.

        The rows are valid only until more are taken.
        """
        rejected, self._rejected = self._rejected, {}
        gathered, self._gathered, self._count = self._gathered, [], 0
        return (self._sorter.group(gathered) if gathered else None), rejected

    def take(self) -> Iterator[tuple[Any, Rows | None, Reasons]]:
        """What `group` gives, one site at a time."""
        grouped, rejected = self.group()
        for site, rows in [] if grouped is None else grouped.by_site():
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

    def group(self, gathered: list[tuple[Any, Rows]]) -> Grouped:
        """The rows by site. They are valid only until the next call."""
        if gathered[0][0] is None:
            rows = join_rows([rows for _, rows in gathered])
            return Grouped(pa.array(["all"]), np.array([len(rows.ticks)]), rows)
        names, codes = _numbered(gathered)
        counts = _tallied(codes, len(names))
        return Grouped(names, counts, self._together(gathered, codes, np.cumsum(counts) - counts))

    def together(
        self, gathered: list[tuple[Any, Rows]], rejected: dict[Any, Reasons], rank: Callable[[list[Any]], Ints]
    ) -> Together:
        """The rows of all sites, those of the lowest rank first. They are valid only until the next call."""
        names, codes = _numbered(gathered)
        known = dict.fromkeys(names.to_pylist())
        sites = [*known, *(site for site in rejected if site not in known)]
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


def _numbered(gathered: list[tuple[Any, Rows]]) -> tuple[Any, list[NDArray[np.int32]]]:
    """The sites of some rows, as an Arrow column, and for every row which of them."""
    if not gathered or gathered[0][0] is None:
        return pa.array(["all"][: len(gathered)]), [np.zeros(len(rows.ticks), np.int32) for _, rows in gathered]
    return number_sites([one_chunk(sites) for sites, _ in gathered])


def _tallied(codes: list[NDArray[np.int32]], sites: int) -> Ints:
    """How many rows each site has."""
    counts = np.zeros(sites, np.int64)
    for which in codes:
        add_counts(which, counts)
    return counts
