"""Bytes <-> a bucket: what is kept of some sites of a group, as columns of Arrow.

Only the sites that change in a trigger become objects. The others are copied column by column.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa

from ecmsketch.inputs.ticks import MAX_TICK
from ecmsketch.spark.cleaning import Reasons, add_reasons
from ecmsketch.spark.clocks import Clock
from ecmsketch.spark.row_order import Ints
from ecmsketch.spark.site_groups import bucket_bits, hash_sites

NEVER = MAX_TICK
"""When a bucket without sites is looked at."""
_CLOCK = [(name, pa.bool_() if name == "live" else pa.int64()) for name in Clock._fields]
_COLUMNS = [
    ("events", pa.int64()),
    ("now", pa.int64()),
    ("due", pa.int64()),
    *_CLOCK,
    ("reasons", pa.map_(pa.string(), pa.int64())),
    ("large", pa.bool_()),
    ("sketch", pa.binary()),
]


@dataclass(slots=True)
class SiteRecord:
    """What is kept of a site between triggers."""

    site: Any
    events: int = 0
    now: int | None = None
    """The clock of the sketch."""
    due: int = 0
    """When to look at the site again if nothing comes, on Spark's clock."""
    clock: Clock = field(default_factory=Clock)
    reasons: Reasons = field(default_factory=dict)
    large: bool = False
    """Whether the sketch is kept on its own, and not here."""
    sketch: bytes | None = None
    added: Reasons = field(default_factory=dict)
    """What this trigger adds to `reasons`; it is not kept."""

    def reject(self, more: Reasons) -> None:
        """Count rows that are rejected."""
        add_reasons(self.reasons, more)
        add_reasons(self.added, more)


class Bucket:
    """The sites of a bucket."""

    def __init__(self, table: pa.RecordBatch) -> None:
        self._table = table

    @classmethod
    def new(cls, text: bool) -> Self:
        """A bucket without sites; they are texts or integers."""
        return cls(_table([], text))

    @classmethod
    def decode(cls, data: bytes, text: bool) -> Self:
        """The bucket that `encode` wrote."""
        return cls(pa.ipc.read_record_batch(pa.py_buffer(data), _schema(text)))

    def encode(self) -> bytes:
        """All sites as bytes. The schema is not among them: it is always the same."""
        return bytes(self._table.serialize())

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @property
    def sites(self) -> list[Any]:
        """All sites."""
        found: list[Any] = self._table.column("site").to_pylist()
        return found

    @property
    def due(self) -> int:
        """When the first of the sites is due."""
        return min(self._dues().tolist(), default=NEVER)

    def due_by(self, moment: int) -> list[int]:
        """The places of the sites that are due at some moment."""
        return np.flatnonzero(self._dues() <= moment).tolist()

    def records(self, places: list[int]) -> list[SiteRecord]:
        """The sites at some places."""
        columns = self._table.take(pa.array(places, pa.int64())).to_pydict()
        clocks = zip(*(columns[name] for name in Clock._fields), strict=True)
        return [
            SiteRecord(site, events, now, due, Clock(*clock), dict(reasons or ()), large, sketch)
            for site, events, now, due, clock, reasons, large, sketch in zip(
                *(columns[name] for name in ("site", "events", "now", "due")),
                clocks,
                *(columns[name] for name in ("reasons", "large", "sketch")),
                strict=True,
            )
        ]

    def replaced(self, places: list[int], records: list[SiteRecord], text: bool) -> Bucket:
        """The bucket without the sites at some places, and with some records behind the others."""
        keep = np.ones(len(self), bool)
        keep[places] = False
        others = self._table.filter(pa.array(keep))
        return Bucket(_joined([others, _table(records, text)], text))

    def split(self, bit: int) -> tuple[Bucket, Bucket]:
        """Two buckets: of the sites whose name's hash has a bit of zero, and of the others."""
        ones = ((bucket_bits(hash_sites(self.sites)) >> bit) & 1).astype(bool)
        return Bucket(self._table.filter(pa.array(~ones))), Bucket(self._table.filter(pa.array(ones)))

    def _dues(self) -> Ints:
        dues: Ints = self._table.column("due").to_numpy()
        return dues


def _schema(text: bool) -> pa.Schema:
    return pa.schema([("site", pa.string() if text else pa.int64()), *_COLUMNS])


def _table(records: list[SiteRecord], text: bool) -> pa.RecordBatch:
    columns: dict[str, list[Any]] = {
        name: [getattr(record, name) for record in records]
        for name in ("site", "events", "now", "due", "large", "sketch")
    }
    for i, name in enumerate(Clock._fields):
        columns[name] = [record.clock[i] for record in records]
    columns["reasons"] = [list(record.reasons.items()) or None for record in records]
    schema = _schema(text)
    return pa.RecordBatch.from_arrays([pa.array(columns[part.name], part.type) for part in schema], schema=schema)


def _joined(batches: list[pa.RecordBatch], text: bool) -> pa.RecordBatch:
    table = pa.Table.from_batches(batches, _schema(text)).combine_chunks()
    return table.to_batches()[0] if len(table) else _table([], text)
