"""Compaction: joins the neighbouring segments of each site, and drops rows that others replaced."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from typing import Any, NamedTuple

import pyarrow as pa

from ecmsketch.config import SketchConfig
from ecmsketch.sketch.uniting import clusters
from ecmsketch.store.delta import DeltaFolder
from ecmsketch.store.given_rows import facts_of
from ecmsketch.store.row_reader import RowReader, chunks, decode_row, unite_pieces
from ecmsketch.store.schema import FACTS, SCHEMA
from ecmsketch.store.stored_rows import StoredRow, live_rows


class CompactReport(NamedTuple):
    """What compacting did to the rows, and to the bytes of their sketches."""

    rows_before: int
    rows_after: int
    bytes_before: int
    bytes_after: int


def compact(folder: DeltaFolder, rows: RowReader, before_tick: int | None, span: int | None) -> CompactReport:
    """Replace the rows of one version by fewer, in one commit. `SketchStore.compact` says which are joined."""
    records: list[dict[str, Any]] = []
    live = live_rows(rows.all)
    replaced = _replaced(rows.all, live)
    for chunk in chunks(live):
        data = rows.load(row for given in chunk.values() for row in given)
        for given in chunk.values():
            config = decode_row(given[0], data[given[0]]).config
            records += [_joined(run, data, replaced) for run in _runs(given, config, before_tick, span)]
    if len(records) < len(rows.all):  # the files of this version are replaced: what was appended since stays
        folder.replace(rows.table, pa.Table.from_pylist(records, SCHEMA))
    before, after = sum(row.bytes for row in rows.all), sum(record["bytes"] for record in records)
    return CompactReport(len(rows.all), len(records), before, after)


def _replaced(rows: list[StoredRow], live: dict[str, list[StoredRow]]) -> dict[StoredRow, bytes]:
    """The fingerprints of what each live snapshot replaced, so that it is still known when its rows are gone."""
    counted = {row for given in live.values() for row in given}
    snapshots = {row.stream: row for row in counted if row.part == "snapshot"}
    found: dict[StoredRow, bytes] = defaultdict(bytes)
    for row in rows:
        if row not in counted and row.fingerprints and row.stream in snapshots:
            found[snapshots[row.stream]] += row.fingerprints
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


def _joined(run: list[StoredRow], data: dict[StoredRow, bytes], replaced: dict[StoredRow, bytes]) -> dict[str, Any]:
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
    marks = b"".join(row.fingerprints or b"" for row in run) + replaced.get(newest, b"")
    return record | {"fingerprints": marks or None}
