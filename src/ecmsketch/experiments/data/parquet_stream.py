"""A stream from the user's own Parquet files, which must be ordered by time; read one batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.errors import InputError
from ecmsketch.experiments.data.event_stream import BATCH_EVENTS, Stream, StreamBatch
from ecmsketch.inputs.items import hash_items

_LABEL = "_GENERATED.json"
"""The file that `ecmsketch generate` writes beside its data."""


class ColumnNames(NamedTuple):
    """The names of the columns to read; without `site`, all events come from one site."""

    item: str = "item"
    tick: str = "tick"
    site: str | None = None


def read_parquet(path: str, events: int, columns: ColumnNames) -> Stream:
    """The first `events` rows of a file, or of a folder of files by name."""
    import pyarrow.dataset as ds

    data = ds.dataset(path, format="parquet", exclude_invalid_files=False)
    wanted = [name for name in columns if name is not None]
    missing = [name for name in wanted if name not in data.schema.names]
    if missing:
        raise InputError(
            f"data: {path} has no column {missing[0]!r}; its columns are {', '.join(data.schema.names)}; "
            "choose them with --item, --tick and --site"
        )

    def batches() -> Iterator[StreamBatch]:
        return _batches(data.to_batches(columns=wanted, batch_size=BATCH_EVENTS), events, columns)

    count, first, now, sites = 0, None, 0, np.empty(0, np.int64)
    for batch in batches():
        count += len(batch.ticks)
        first = int(batch.ticks[0]) if first is None else first
        now = int(batch.ticks[-1])
        sites = np.union1d(sites, batch.sites)
    if first is None:
        raise InputError(f"data: {path} has no rows; give files with events")
    generated = Path(path).is_dir() and (Path(path) / _LABEL).exists()
    name = Path(path).name.removesuffix(".parquet") or "path"
    what = f"{count:,} events of {Path(path).name}, {'generated' if generated else 'as given'}"
    return Stream(name, not generated, what, count, first, now, len(sites), batches)


def _batches(tables: Iterator[Any], events: int, columns: ColumnNames) -> Iterator[StreamBatch]:
    done, before = 0, None
    for table in tables:
        part = table.slice(0, events - done)
        if not len(part):
            continue
        ticks = _seconds(part.column(columns.tick), columns.tick)
        if (before is not None and ticks[0] < before) or (np.diff(ticks) < 0).any():
            raise InputError(
                f"{columns.tick}: rows {done:,} to {done + len(ticks):,} go back in time; sort the files by it first"
            )
        done, before = done + len(ticks), ticks[-1]
        sites = np.zeros(len(ticks), np.int64) if columns.site is None else _numbers(part.column(columns.site))
        yield StreamBatch(hash_items(part.column(columns.item)), ticks, sites)


def _seconds(column: Any, name: str) -> NDArray[np.int64]:
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind == "M":
        values = values.astype("datetime64[s]")
    elif values.dtype.kind not in "iu":
        raise InputError(f"{name}: got {column.type}, expected integers (seconds) or timestamps, without nulls")
    seconds: NDArray[np.int64] = values.astype(np.int64)
    return seconds


def _numbers(column: Any) -> NDArray[np.int64]:
    values = column.to_numpy(zero_copy_only=False)
    return values.astype(np.int64) if values.dtype.kind in "iu" else hash_items(column).view(np.int64)
