"""Packs of many sites: one row for each group of sites that has events in some batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Row

from ecmsketch.spark.cleaning import Reasons, Rows, add_reasons
from ecmsketch.spark.gathered_rows import GatheredEvents, Together
from ecmsketch.spark.packing import Form, newest_arrival, rows_from_bytes, rows_to_bytes
from ecmsketch.spark.row_order import Ints, in_order, join_rows, pick_rows
from ecmsketch.spark.site_groups import group_of, hash_sites

_MANY = 256
"""Events of a site, on average, from which on sites are sorted one by one."""
_REASONS = pa.map_(pa.string(), pa.int64())


class Arrived(NamedTuple):
    """What came for a site in a trigger: events in order of time, and why others cannot be counted."""

    site: Any
    rows: Rows | None
    reasons: Reasons


def grouped_batch(taken: Together, part: int, text: bool, unit: str | None, ahead: int | None) -> pa.RecordBatch:
    """Gathered events as packs, one row for each group. The sites of a group come one after the other."""
    sites, counts, rows, rejected = taken
    groups, firsts = np.unique(group_of(hash_sites(sites)), return_index=True)
    bounds = np.append(firsts, len(sites)).astype(np.int32)
    ends = np.concatenate([[0], np.cumsum(counts)])[bounds].tolist()
    newest, alone = newest_arrival([] if rows is None else [rows.arrival_ticks()], unit, ahead)
    events = [
        rows_to_bytes(rows.part(begin, end)) if rows is not None and begin < end else None
        for begin, end in pairwise(ends)
    ]
    reasons = [list(rejected[site].items()) if site in rejected else None for site in sites]
    columns = {
        "group": pa.array(groups, pa.int64()),
        "part": pa.array([part] * len(groups), pa.int64()),
        "sites": _lists(bounds, pa.array(sites, pa.string() if text else pa.int64())),
        "counts": _lists(bounds, pa.array(counts)),
        "reasons": _lists(bounds, pa.array(reasons, _REASONS)),
        "events": pa.array(events, pa.binary()),
        "newest": pa.array([newest] * len(groups), pa.int64()),
        "alone": pa.array([alone] * len(groups), pa.bool_()),
    }
    return pa.RecordBatch.from_pydict(columns)


def _lists(bounds: Any, values: Any) -> Any:
    return pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), values)


def _pack_groups(
    gathered: GatheredEvents, part: int, text: bool, unit: str | None, ahead: int | None
) -> pa.RecordBatch:
    return grouped_batch(gathered.take_together(_by_group), part, text, unit, ahead)


def _by_group(sites: list[Any]) -> Ints:
    return group_of(hash_sites(sites))


BY_GROUP = Form(
    "group bigint, part bigint, sites array<{site}>, counts array<bigint>, reasons array<map<string, bigint>>, "
    "events binary, newest bigint, alone boolean",
    _pack_groups,
)
"""A row for each group of sites."""


def unpack_sites(packs: Iterable[Row]) -> list[Arrived]:
    """What some packs of one group say of each of its sites."""
    given = sorted(packs, key=lambda row: row["part"])
    numbers: dict[Any, int] = {}
    reasons: list[Reasons] = []
    which, counts, parts = [], [], []
    for pack in given:
        for site in pack["sites"]:
            if numbers.setdefault(site, len(numbers)) == len(reasons):
                reasons.append({})
        for site, more in zip(pack["sites"], pack["reasons"], strict=True):
            if more is not None:
                add_reasons(reasons[numbers[site]], dict(more))
        if pack["events"] is not None:
            which.append(np.array([numbers[site] for site in pack["sites"]]))
            counts.append(np.array(pack["counts"]))
            parts.append(rows_from_bytes(bytes(pack["events"])))
    rows = _of_each(parts, which, counts, len(numbers))
    return [Arrived(site, mine, why) for site, mine, why in zip(numbers, rows, reasons, strict=True)]


def _of_each(parts: list[Rows], which: list[Ints], counts: list[Ints], sites: int) -> Iterator[Rows | None]:
    """The rows of each site in order of time, from parts in which those of a site are together; None if it has none."""
    if sum(len(part.ticks) for part in parts) >= _MANY * sites:
        yield from _one_by_one(parts, which, counts, sites)
        return
    if not parts:
        yield from [None] * sites
        return
    codes = np.concatenate([np.repeat(sites, count) for sites, count in zip(which, counts, strict=True)])
    rows = join_rows(parts)
    rows = pick_rows(rows, np.lexsort((rows.ticks, codes)))
    ends = np.cumsum(np.bincount(codes, minlength=sites)).tolist()
    for begin, end in pairwise([0, *ends]):
        yield rows.part(begin, end) if begin < end else None


def _one_by_one(parts: list[Rows], which: list[Ints], counts: list[Ints], sites: int) -> Iterator[Rows | None]:
    mine: list[list[Rows]] = [[] for _ in range(sites)]
    for part, numbers, lengths in zip(parts, which, counts, strict=True):
        ends = np.cumsum(lengths).tolist()
        for site, (begin, end) in zip(numbers.tolist(), pairwise([0, *ends]), strict=True):
            if begin < end:
                mine[site].append(part.part(begin, end))
    for some in mine:
        yield in_order(some) if some else None
