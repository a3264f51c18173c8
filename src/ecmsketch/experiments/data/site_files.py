"""A stream split by site: one Parquet file per site, which Spark's tasks or this process then read."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ecmsketch.config import SketchConfig
from ecmsketch.experiments.data.event_stream import Stream, StreamBatch
from ecmsketch.experiments.spec import Context
from ecmsketch.sketch import EcmSketch

BUFFERED_EVENTS = 4_000_000
"""The number of events that are held in memory before they are written."""
SITE_SCHEMA = pa.schema([("item", pa.int64()), ("tick", pa.int64()), ("site", pa.int64())])


@contextmanager
def site_files(context: Context, sites: int | None = None) -> Iterator[list[Path]]:
    """Temporary files, one per site of the stream, or one for each of `sites` sites that share it evenly."""
    folder = context.scratch / f"{context.stream.name}-{sites or 'sites'}"
    shutil.rmtree(folder, ignore_errors=True)
    context.say(f"dealing out {context.stream.events:,} events to {sites or context.stream.sites} sites")
    try:
        yield write_sites(context.stream, folder, sites, context.seed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_sites(stream: Stream, folder: Path, sites: int | None = None, seed: int = 0) -> list[Path]:
    """Write the events of every site to a file of its own. With `sites`, deal them to that many sites at random."""
    folder.mkdir(parents=True)
    writers: dict[int, Any] = {}
    held: list[StreamBatch] = []
    random = np.random.default_rng(seed)
    try:
        for batch in stream.batches():
            places = batch.sites if sites is None else random.integers(0, sites, len(batch.ticks))
            held.append(batch._replace(sites=places))
            if sum(len(part.ticks) for part in held) >= BUFFERED_EVENTS:
                _append(held, writers, folder)
                held = []
        if held:
            _append(held, writers, folder)
    finally:
        for writer in writers.values():
            writer.close()
    return sorted(folder.iterdir())


def _append(held: list[StreamBatch], writers: dict[int, Any], folder: Path) -> None:
    items, ticks, sites = (np.concatenate(column) for column in zip(*held, strict=True))
    order = np.argsort(sites, kind="stable")
    names, begins = np.unique(sites[order], return_index=True)
    for site, begin, end in zip(names.tolist(), begins, [*begins[1:], len(order)], strict=True):
        mine = order[begin:end]
        if site not in writers:
            writers[site] = pq.ParquetWriter(folder / f"site-{site % 2**64:020d}.parquet", SITE_SCHEMA)
        writers[site].write_table(pa.table([items[mine].view(np.int64), ticks[mine], sites[mine]], schema=SITE_SCHEMA))


def sketch_site(path: Path, config: SketchConfig) -> EcmSketch:
    """The sketch of one site's file, read one row group at a time."""
    sketch = EcmSketch(config, site=path.stem)
    for items, ticks in _row_groups(path):
        sketch.update_many(items, ticks)
    return sketch


def _row_groups(path: Path) -> Iterator[tuple[Any, Any]]:
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=["item", "tick"])
            yield table["item"].to_numpy(), table["tick"].to_numpy()
