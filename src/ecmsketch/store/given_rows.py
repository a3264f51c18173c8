"""Rows that are given to be written: checked, and turned into records of the table."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pyarrow as pa

from ecmsketch.errors import FormatError, StoreError
from ecmsketch.inputs.columns import is_integer
from ecmsketch.sketch.loading import AnySketch, load, summarize
from ecmsketch.store.delta import Turn
from ecmsketch.store.fingerprints import fingerprint
from ecmsketch.store.schema import PARTS, SCHEMA
from ecmsketch.store.store_config import PROPERTY, StoreConfig


class SketchRow(NamedTuple):
    """A row to be written: a sketch, or the bytes of one, and whose it is."""

    site: str
    sketch: AnySketch | bytes
    events: int | None = None
    part: str = "segment"


class GivenRows:
    """Rows to be written: checked, and as records in the order given. `config` is the one that all of them have."""

    def __init__(self, rows: Iterable[SketchRow], own: bool = False) -> None:
        """`own`: the bytes are this library's, so those of snapshots are summarized instead of loaded."""
        if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
            raise StoreError(f"rows: expected SketchRows, got {type(rows).__name__}")
        self._own = own
        self.config: StoreConfig | None = None
        self.records: list[dict[str, Any]] = []
        for i, row in enumerate(rows):
            try:
                self._add(_checked(row))
            except (FormatError, StoreError) as error:
                raise StoreError(f"rows[{i}]: {error}; nothing was written") from error

    @property
    def properties(self) -> dict[str, str]:
        """The properties of a table that holds these rows."""
        return {} if self.config is None else {PROPERTY: self.config.text()}

    def table(self, version: int, writer: str | None = None, turn: Turn | None = None, batch: int | None = None) -> Any:
        """The rows as Arrow, as they are to be committed; sorted by site, so that a site's lie together."""
        generation = None if turn is None else turn.generation
        commit = {"writer": writer, "generation": generation, "batch": batch, "version": version,
                  "written": datetime.now(UTC)}  # fmt: skip
        rows = [{**record, **commit, "position": i} for i, record in enumerate(self.records)]
        return pa.Table.from_pylist(sorted(rows, key=lambda row: str(row["site"])), SCHEMA)

    def _add(self, row: SketchRow) -> None:
        config, facts, marks = self._summarized(row) if self._may_summarize(row) else _loaded(row)
        self.config = self.config or config
        different = self.config.differences(config)
        if different:
            raise StoreError(
                f"sketch: expected {self.config.describe(different)} as in rows[0], got {config.describe(different)}; "
                "a store holds sketches of one config: write these into a store of their own"
            )
        self.config = self.config.with_items(config)
        known = {"site": row.site, "part": row.part, "events": _count(row.events), "fingerprints": marks or None}
        self.records.append(known | facts)

    def _may_summarize(self, row: SketchRow) -> bool:
        return self._own and row.part == "snapshot" and isinstance(row.sketch, bytes)

    @staticmethod
    def _summarized(row: SketchRow) -> tuple[StoreConfig, dict[str, Any], bytes]:
        assert isinstance(row.sketch, bytes)
        kind, about = summarize(row.sketch)
        facts = _facts(kind.__name__, row.sketch, about.first_tick, about.now)
        return StoreConfig(kind.__name__, about.config, about.kinds), facts, b""


def _loaded(row: SketchRow) -> tuple[StoreConfig, dict[str, Any], bytes]:
    """A row's config, the columns that follow from its sketch, and its fingerprint if it is a segment."""
    if isinstance(row.sketch, AnySketch):
        sketch = row.sketch.copy()  # no other thread changes it between its bytes and its ticks
        data = sketch.serialize()
    else:
        sketch, data = load(row.sketch, max_nbytes=None), bytes(row.sketch)
    return StoreConfig.of(sketch), facts_of(sketch, data), fingerprint(sketch, data) if row.part == "segment" else b""


def facts_of(sketch: AnySketch, data: bytes) -> dict[str, Any]:
    """The columns that follow from a sketch and its bytes."""
    return _facts(type(sketch).__name__, data, sketch.first_tick, sketch.now)


def _facts(kind: str, data: bytes, first_tick: int | None, last_tick: int | None) -> dict[str, Any]:
    return {"kind": kind, "sketch": data, "first_tick": first_tick, "last_tick": last_tick, "bytes": len(data)}


def _checked(row: Any) -> SketchRow:
    if not isinstance(row, tuple) or not 2 <= len(row) <= len(SketchRow._fields):
        raise StoreError(f"expected a SketchRow, got {type(row).__name__}")
    given = SketchRow(*row)
    if not isinstance(given.site, str) or not given.site:
        raise StoreError(f"site: expected a name, got {given.site!r}")
    if given.part not in PARTS:
        raise StoreError(f"part: expected one of {PARTS}, got {given.part!r}")
    if given.events is not None and _count(given.events) is None:
        raise StoreError(f"events: expected a number from 0 to 2**63 - 1 or None, got {given.events!r}")
    return given


def _count(value: Any) -> int | None:
    """A number that a column holds, or None."""
    good = is_integer(value) and 0 <= int(value) < 2**63
    return int(value) if good else None
