"""A stream from files of the real World Cup 98 log (wc_day5_1.gz to wc_day92_1.gz), read one batch at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from glob import glob
from pathlib import Path

import numpy as np

from ecmsketch.errors import InputError
from ecmsketch.experiments.data.event_stream import BATCH_EVENTS, Stream, StreamBatch
from ecmsketch.worldcup98 import open_log, read_batches

REAL_LOG = "worldcup98-real"
_NAME = re.compile(r"wc_day(\d+)_(\d+)(\.\w+)?$")


def raw_log_files(given: str) -> list[Path]:
    """The files of the log that a path, a folder or a pattern such as 'logs/wc_day*.gz' names, in order of time."""
    paths = [Path(given)] if Path(given).is_file() else list(map(Path, sorted(glob(given))))
    if Path(given).is_dir():
        paths = list(Path(given).iterdir())
    named = [(found, path) for path in paths if (found := _NAME.search(path.name)) and path.is_file()]
    return [path for *_, path in sorted((int(found[1]), int(found[2]), path) for found, path in named)]


def read_raw_logs(files: list[Path], events: int) -> Stream:
    """The first `events` requests of the files. Opening reads them once: the log does not say how long it is."""

    def batches() -> Iterator[StreamBatch]:
        return _batches(files, events)

    count, first, now, seen = 0, None, 0, np.zeros(256, bool)
    for batch in batches():
        count += len(batch.ticks)
        first = int(batch.ticks[0]) if first is None else first
        now = int(batch.ticks[-1])
        seen[batch.sites] = True
    if first is None:
        raise InputError(f"data: {files[0].name} has no requests; give files of the World Cup 98 log")
    what = f"{count:,} real requests of the World Cup 98 log, {_span(files)}; items are objects, sites are servers"
    return Stream(REAL_LOG, True, what, count, first, now, int(seen.sum()), batches)


def _span(files: list[Path]) -> str:
    names = [path.name.split(".")[0] for path in (files[0], files[-1])]
    return f"file {names[0]}" if len(files) == 1 else f"{len(files)} files from {names[0]} to {names[1]}"


def _batches(files: list[Path], events: int) -> Iterator[StreamBatch]:
    """Files are ordered by time; a request that is older than the one before it counts at that one's time."""
    left, latest = events, 0
    for path in files:
        with open_log(path) as stream:
            for records in read_batches(stream, BATCH_EVENTS, 0, left):
                items, ticks, sites = (records[name].astype(np.int64) for name in ("object", "timestamp", "server"))
                if ticks[0] < latest - _LATE:
                    raise InputError(
                        f"data: {path.name} begins {latest - ticks[0]:,} s before the end of the file before it"
                    )
                np.maximum.accumulate(np.maximum(ticks, latest), out=ticks)
                left, latest = left - len(ticks), int(ticks[-1])
                yield StreamBatch(items.view(np.uint64), ticks, sites)
        if left <= 0:
            return


_LATE = 3600
"""Seconds by which a request may be older than the one before it; more means that files overlap."""
