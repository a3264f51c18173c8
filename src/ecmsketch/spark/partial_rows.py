"""Partial sketches as rows of Spark: workers make them, and those of one site are united into one sketch."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from ecmsketch.errors import MergeError
from ecmsketch.sketch.loading import load
from ecmsketch.sketch.uniting import unite
from ecmsketch.spark.cleaning import REFUSED, Reasons, add_reasons
from ecmsketch.spark.partials import Partial


def partial_schema(text: bool) -> str:
    """The schema of partial sketches as rows; sites are texts or integers."""
    site = "string" if text else "bigint"
    return (
        f"site {site}, sketch binary, events bigint, first_tick bigint, last_tick bigint, reasons map<string, bigint>"
    )


def to_batches(partials: Iterator[Partial], text: bool, rows: int = 64) -> Iterator[pa.RecordBatch]:
    """Partial sketches as Arrow batches of some rows each."""
    gathered: list[Partial] = []
    for partial in partials:
        gathered.append(partial)
        if len(gathered) == rows:
            yield _to_batch(gathered, text)
            gathered = []
    if gathered:
        yield _to_batch(gathered, text)


def _to_batch(partials: list[Partial], text: bool) -> pa.RecordBatch:
    arrays = [
        pa.array([partial.site for partial in partials], pa.string() if text else pa.int64()),
        pa.array([partial.sketch for partial in partials], pa.binary()),
        *(
            pa.array([getattr(partial, name) for partial in partials], pa.int64())
            for name in ("events", "first_tick", "last_tick")
        ),
        pa.array([list(partial.reasons.items()) for partial in partials], pa.map_(pa.string(), pa.int64())),
    ]
    return pa.RecordBatch.from_arrays(arrays, names=["site", "sketch", "events", "first_tick", "last_tick", "reasons"])


def unite_partials(partials: DataFrame, site_type: T.DataType) -> DataFrame:
    """Unite the partial sketches of each site into one."""
    schema = partials.schema
    united = partials.groupBy("site").applyInArrow(_unite, schema)
    reasons = united.selectExpr(
        "site", "sketch", "events", "first_tick", "last_tick",
        "aggregate(map_values(reasons), 0L, (a, b) -> a + b) as rejected", "reasons",
    )  # fmt: skip
    return reasons.withColumn("site", reasons["site"].cast(site_type))


def _unite(group: pa.Table) -> pa.Table:
    """Unite all pieces of one site into one row."""
    reasons: Reasons = {}
    for found in group["reasons"].to_pylist():
        add_reasons(reasons, dict(found))
    pairs = zip(group["sketch"].to_pylist(), group["events"].to_pylist(), strict=True)
    pieces = [(sketch, events) for sketch, events in pairs if sketch is not None]
    united, left_out = _unite_pieces(pieces)
    add_reasons(reasons, {REFUSED: left_out})
    ticks = [tick for name in ("first_tick", "last_tick") for tick in group[name].to_pylist() if tick is not None]
    row = {
        "site": group["site"][:1],
        "sketch": pa.array([united], pa.binary()),
        "events": pa.array([sum(events for _, events in pieces) - left_out], pa.int64()),
        "first_tick": pa.array([min(ticks, default=None)], pa.int64()),
        "last_tick": pa.array([max(ticks, default=None)], pa.int64()),
        "reasons": pa.array([sorted(reasons.items())], pa.map_(pa.string(), pa.int64())),
    }
    return pa.table(row)


def _unite_pieces(pieces: list[tuple[bytes, int]]) -> tuple[bytes | None, int]:
    """One sketch of all pieces, and how many events were left out.

    If the pieces have more arrivals than one sketch holds, the fullest ones are left out.
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
