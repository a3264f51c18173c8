"""Compaction: joins the neighbouring segments of each site, and drops rows that others replaced."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ecmsketch.config import SketchConfig
from ecmsketch.sketch.merging import clusters
from ecmsketch.store.clustering import depth
from ecmsketch.store.file_writer import FileWriter
from ecmsketch.store.given_rows import facts_of
from ecmsketch.store.liveness import live_mask
from ecmsketch.store.row_facts import stored_rows
from ecmsketch.store.row_reader import (
    RowReader,
    by_site,
    decode_row,
    pieces,
    rows_of_sites,
    site_ends,
    unite_pieces,
)
from ecmsketch.store.schema import FACTS, SCHEMA
from ecmsketch.store.stored_rows import StoredRow


class CompactReport(NamedTuple):
    """What compacting did to the rows, and to the bytes of their sketches."""

    rows_before: int
    rows_after: int
    bytes_before: int
    bytes_after: int


def compact(rows: RowReader, before_tick: int | None, span: int | None) -> CompactReport:
    """Replace the rows of one version by fewer, in one commit. `SketchStore.compact` says which are joined."""
    writer = FileWriter(rows.table)
    join = _Joining(rows, before_tick, span)
    count = size = 0
    for begin, end in pieces(rows.live):
        kept = join(rows.live.slice(begin, end - begin))
        writer.write(kept)
        count, size = count + len(kept), size + pc.sum(kept["bytes"]).as_py()
    if count < len(rows.facts) or depth(rows.files.all) > 1:  # what was appended to this version since stays
        writer.commit(rows.files.all, changed=count < len(rows.facts))
    else:
        writer.discard()
    return CompactReport(len(rows.facts), count, pc.sum(rows.facts["bytes"]).as_py() or 0, size)


class _Joining:
    """Joins the live rows of some sites. Most sites of a large store have one row, which stays as it is unread."""

    def __init__(self, rows: RowReader, before_tick: int | None, span: int | None) -> None:
        self._rows, self._before_tick, self._span = rows, before_tick, span
        self._replaced = _replaced(rows)
        self._config: SketchConfig | None = None

    def __call__(self, live: Any) -> Any:
        """The rows that replace some, with all columns, by site."""
        ends = site_ends(live)
        lengths = np.diff(np.r_[0, ends])
        alone = np.repeat(lengths == 1, lengths)
        if self._replaced:
            alone &= np.array([order not in self._replaced for order in _orders(live)])
        several = rows_of_sites(live.filter(~alone))
        data = self._rows.load(row for given in several.values() for row in given)
        records = [_joined(run, data, self._replaced) for given in several.values() for run in self._runs(given, data)]
        return by_site(pa.concat_tables([self._rows.whole(live.filter(alone)), pa.Table.from_pylist(records, SCHEMA)]))

    def _runs(self, given: list[StoredRow], data: dict[StoredRow, bytes]) -> list[list[StoredRow]]:
        if self._config is None:  # a store holds sketches of one
            self._config = decode_row(given[0], data[given[0]]).config
        return _runs(given, self._config, self._before_tick, self._span)


def _orders(facts: Any) -> list[tuple[int, int]]:
    return list(zip(facts["version"].to_pylist(), facts["position"].to_pylist(), strict=True))


def _replaced(rows: RowReader) -> dict[tuple[int, int], bytes]:
    """The fingerprints of what each live snapshot replaced, so that it is still known when its rows are gone.

    Snapshots are named by their order.
    """
    dead = rows.facts.filter(np.asarray(pc.is_valid(rows.facts["fingerprints"])) & ~live_mask(rows.facts))
    found: dict[tuple[int, int], bytes] = defaultdict(bytes)
    if len(dead):
        live = stored_rows(rows.live.filter(pc.equal(rows.live["part"], "snapshot")))
        snapshots = {row.stream: row.order for row in live}
        for row in stored_rows(dead):
            if row.stream in snapshots:
                found[snapshots[row.stream]] += row.fingerprints or b""
    return found


def _runs(
    live: list[StoredRow], config: SketchConfig, before_tick: int | None, span: int | None
) -> list[list[StoredRow]]:
    """Group the rows of one site: each group is to be joined into one row, and holds segments of one writer only."""

    def old(row: StoredRow) -> bool:
        return row.part == "segment" and (before_tick is None or row.extent[1] <= before_tick)

    if config.model == "count":  # its rows have no common ticks: what was written one after the other is joined
        together = groupby(live, lambda row: (row.stream, row.part == "segment" and before_tick is None))
        return [run for (_, join), rows in together for run in ([list(rows)] if join else [[row] for row in rows])]
    longest = config.window // 2 if span is None else min(span, config.window)
    runs: list[list[StoredRow]] = []
    growing: StoredRow | None = None
    for cluster in clusters(live, lambda row: row.extent):
        alone = cluster[0] if len(cluster) == 1 and old(cluster[0]) else None
        follows = alone is not None and growing is not None and alone.stream == growing.stream
        if follows and cluster[0].extent[1] - runs[-1][0].extent[0] <= longest:
            runs[-1] += cluster
        else:
            runs += [[row] for row in cluster]
        growing = alone
    return runs


def _joined(
    run: list[StoredRow], data: dict[StoredRow, bytes], replaced: dict[tuple[int, int], bytes]
) -> dict[str, Any]:
    """The record of the one row that replaces several; a row alone stays as it is.

    It counts from when its newest part does, so that it is live as long as any of them.
    """
    newest = max(run, key=lambda row: row.order)
    record = {name: getattr(newest, name) for name in FACTS} | {"sketch": data[newest]}
    if len(run) > 1:
        events = [row.events for row in run if row.events is not None]
        united = unite_pieces(newest.site, [decode_row(row, data[row]) for row in run])
        record |= facts_of(united, united.serialize())
        record["events"] = sum(events) if len(events) == len(run) else None
        record["written"] = max(row.written for row in run)
    marks = b"".join(row.fingerprints or b"" for row in run) + replaced.get(newest.order, b"")
    return record | {"fingerprints": marks or None}
