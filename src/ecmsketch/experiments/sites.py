"""A stream dealt out to sites: one Parquet file each on disk, which Spark's tasks or this process then read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ecmsketch.config import SketchConfig
from ecmsketch.experiments.stream import Batch, Stream
from ecmsketch.sketch import EcmSketch

BUFFERED_EVENTS = 4_000_000
"""Held in memory before they are written."""
SCHEMA = pa.schema([("item", pa.int64()), ("tick", pa.int64()), ("site", pa.int64())])


def deal(stream: Stream, folder: Path, sites: int | None = None, seed: int = 0) -> list[Path]:
    """Write every site's events to a file of its own, by site number; with `sites`, to that many at random, evenly."""
    folder.mkdir(parents=True)
    writers: dict[int, Any] = {}
    held: list[Batch] = []
    random = np.random.default_rng(seed)
    try:
        for batch in stream.batches():
            places = batch.sites if sites is None else random.integers(0, sites, len(batch.ticks))
            held.append(batch._replace(sites=places))
            if sum(len(part.ticks) for part in held) >= BUFFERED_EVENTS:
                _write(held, writers, folder)
                held = []
        if held:
            _write(held, writers, folder)
    finally:
        for writer in writers.values():
            writer.close()
    return sorted(folder.iterdir())


def _write(held: list[Batch], writers: dict[int, Any], folder: Path) -> None:
    items, ticks, sites = (np.concatenate(column) for column in zip(*held, strict=True))
    order = np.argsort(sites, kind="stable")
    names, begins = np.unique(sites[order], return_index=True)
    for rank, begin, end in zip(names.tolist(), begins, [*begins[1:], len(order)], strict=True):
        mine = order[begin:end]
        if rank not in writers:
            writers[rank] = pq.ParquetWriter(folder / f"site-{rank % 2**64:020d}.parquet", SCHEMA)
        writers[rank].write_table(pa.table([items[mine].view(np.int64), ticks[mine], sites[mine]], schema=SCHEMA))


def sketch_site(path: Path, config: SketchConfig) -> EcmSketch:
    """The sketch of one site, a row group at a time."""
    sketch = EcmSketch(config, site=path.stem)
    for items, ticks in _row_groups(path):
        sketch.update_many(items, ticks)
    return sketch


def _row_groups(path: Path) -> Iterator[tuple[Any, Any]]:
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=["item", "tick"])
            yield table["item"].to_numpy(), table["tick"].to_numpy()
