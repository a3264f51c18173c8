"""One sketch per site, from sketches and events of the site that come one after the other: many sites in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ecmsketch.errors import MergeError
from ecmsketch.kernels.grouping import order_runs
from ecmsketch.sketch.loading import load
from ecmsketch.sketch.merging import unite
from ecmsketch.spark.cleaning import REFUSED, Reasons, Rows, add_reasons
from ecmsketch.spark.partials import name_of
from ecmsketch.spark.recipe import Recipe
from ecmsketch.spark.row_order import Ints, pick_rows
from ecmsketch.spark.sent_events import Layout, received
from ecmsketch.spark.small_sketches import Counted, SmallSketches

SKETCHES = ("site", "sketch", "events", "first_tick", "last_tick", "reasons")
"""The columns of sketches."""
_BYTES = 2**22
"""About how many bytes of sketches are handed on at a time."""


class _Runs(NamedTuple):
    """Rows of whole sites, one site after the other. Site i has the rows from begins[i] to before begins[i + 1]."""

    columns: dict[str, Any]
    begins: Ints
    parts: Ints
    others: NDArray[np.bool_]
    """Which rows are not events: sketches, and reasons."""
    rows: Rows
    """The events of all sites, those of each site in order of time."""
    events: Ints
    """Where the events of each site begin, and the last end."""


def unite_rows(batches: Iterator[pa.RecordBatch], recipe: Recipe, layout: Layout) -> Iterator[pa.RecordBatch]:
    """One row per site, from batches in which the rows of a site follow each other, in the order of their parts."""
    small = SmallSketches(recipe)
    for batch in whole_sites(batches):
        yield from _unite(_runs(batch, layout), small)


def whole_sites(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, in batches that hold all rows of their sites."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        begins = _run_begins(batch.column("site"))
        same = bool(held) and held[-1].column("site")[-1] == batch.column("site")[0]
        if same and len(begins) == 1:
            held.append(batch)
            continue
        last = int(begins[-1])
        if held or last:
            yield _joined([*held, batch.slice(0, last)])
        held = [batch.slice(last)]
    if held:
        yield _joined(held)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.concat_batches(batches) if len(batches) > 1 else batches[0]


def _run_begins(sites: Any) -> Ints:
    """Where another site begins than that of the row before."""
    codes = sites.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
    return np.flatnonzero(np.diff(codes, prepend=-1))


def _runs(batch: pa.RecordBatch, layout: Layout) -> _Runs:
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    begins = np.append(_run_begins(columns["site"]), batch.num_rows)
    rows, places = received(columns, layout)
    order = np.arange(len(rows.ticks))
    order_runs(rows.ticks.copy(), order, places[begins])
    others = columns["ticks"].is_null().to_numpy(zero_copy_only=False)
    return _Runs(columns, begins, columns["part"].to_numpy(), others, pick_rows(rows, order), places[begins])


def _unite(runs: _Runs, small: SmallSketches) -> Iterator[pa.RecordBatch]:
    """A row for each site, some at a time."""
    sites = runs.columns["site"].take(pa.array(runs.begins[:-1]))
    done, size, united = 0, 0, []
    for i, site in enumerate(sites.to_pylist()):
        found = _unite_site(runs, i, site, small)
        united.append(found)
        size += len(found.sketch or b"")
        if size >= _BYTES or i + 1 == len(sites):
            yield _to_batch(sites.slice(done, len(united)), united)
            done, size, united = i + 1, 0, []


def _unite_site(runs: _Runs, i: int, site: Any, small: SmallSketches) -> Counted:
    """One sketch of all parts of a site. A site with one sketch keeps its very bytes."""
    begin, end = runs.begins.item(i), runs.begins.item(i + 1)
    first, last = runs.events.item(i), runs.events.item(i + 1)
    name = name_of(site, runs.parts.item(begin))
    pieces = [small.count(runs.rows.part(first, last), name)] if first < last else []
    if runs.others[begin:end].any():
        pieces += _sketches(runs, begin, end)
    if len(pieces) == 1 and pieces[0].sketch is not None:
        return pieces[0]
    return _united(pieces, None if site is None else small.nothing(name))


def _sketches(runs: _Runs, begin: int, end: int) -> list[Counted]:
    """What tasks have made of a site, and why they rejected rows. A long sketch comes in several rows."""
    reasons: list[Counted] = []
    sketches: list[Counted] = []
    chunks: list[list[bytes]] = []
    for k in range(begin, end):
        if not runs.others[k]:
            continue
        row = _row(runs.columns, k)
        if row.sketch is None:
            reasons.append(row)
        elif runs.columns["chunk"][k].as_py():
            chunks[-1].append(row.sketch)
        else:
            sketches.append(row)
            chunks.append([row.sketch])
    whole = [row._replace(sketch=b"".join(parts)) for row, parts in zip(sketches, chunks, strict=True)]
    return [*whole, *reasons]


def _row(columns: dict[str, Any], k: int) -> Counted:
    """A sketch that was made by a task, or why it rejected rows of the site."""
    sketch, events, first_tick, last_tick, reasons = (columns[name][k].as_py() for name in SKETCHES[1:])
    return Counted(sketch, events, first_tick, last_tick, dict(reasons or {}))


def _united(pieces: list[Counted], nothing: bytes | None) -> Counted:
    """One sketch of all pieces; `nothing` if there is none among them."""
    reasons: Reasons = {}
    for piece in pieces:
        add_reasons(reasons, piece.reasons)
    sketches = [(piece.sketch, piece.events) for piece in pieces if piece.sketch is not None]
    united, left_out = _unite_sketches(sketches)
    add_reasons(reasons, {REFUSED: left_out})
    ticks = [tick for piece in pieces for tick in (piece.first_tick, piece.last_tick) if tick is not None]
    events = sum(piece.events for piece in pieces) - left_out
    first, last = min(ticks, default=None), max(ticks, default=None)
    return Counted(united or nothing, events, first, last, dict(sorted(reasons.items())))


def _unite_sketches(pieces: list[tuple[bytes, int]]) -> tuple[bytes | None, int]:
    """One sketch of all sketches, and how many events were left out.

    If they have more arrivals than one sketch holds, the fullest ones are left out.
    """
    if len(pieces) < 2:
        return (pieces[0][0] if pieces else None), 0
    kept = [(load(sketch, max_nbytes=None), events) for sketch, events in pieces]
    left_out = 0
    while True:
        try:
            return unite([sketch for sketch, _ in kept]).serialize(), left_out
        except MergeError:
            kept.sort(key=lambda piece: piece[0].total().upper)
            left_out += kept.pop()[1]
            if not kept:
                raise


def _to_batch(sites: Any, united: list[Counted]) -> pa.RecordBatch:
    sketches, events, first_ticks, last_ticks, reasons = zip(*united, strict=True)
    arrays = [
        sites,
        pa.array(sketches, pa.binary()),
        *(pa.array(column, pa.int64()) for column in (events, first_ticks, last_ticks)),
        pa.array([list(found.items()) for found in reasons], pa.map_(pa.string(), pa.int64())),
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(SKETCHES))
