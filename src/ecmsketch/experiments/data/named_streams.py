"""The streams that have names: real ones where this machine has their files, and generated ones. All are labelled.

Real streams are read from the folder that ECMSKETCH_DATA names, or from shared/data beside the project.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ecmsketch.errors import InputError
from ecmsketch.experiments.data.event_stream import Stream, StreamBatch, stream_of_arrays
from ecmsketch.experiments.data.parquet_stream import ColumnNames, read_parquet
from ecmsketch.experiments.data.raw_logs import REAL_LOG, raw_log_files, read_raw_logs
from ecmsketch.generate import SlicedLog, SnmpLog, WorldCupLog
from ecmsketch.inputs.items import hash_items
from ecmsketch.worldcup98 import SERVERS

SHORT_DAYS = 28
"""The days of generated logs of fewer than WHOLE_EVENTS events: the window slides by more than its own length."""
WHOLE_EVENTS = 100_000_000
"""From this number on, generated logs are as long as the traces: 88 days and 119 days. The World Cup log ends with two
quiet weeks, which have 2.5 % of its requests: of a sample of 5 M, hardly any would be left in short ranges."""


def data_folder() -> Path | None:
    """The folder of the real streams, if this machine has one."""
    given = os.environ.get("ECMSKETCH_DATA")
    places = [Path(given)] if given else [Path.cwd().parent / "shared/data", Path(__file__).parents[5] / "shared/data"]
    return next((place for place in places if place.is_dir()), None)


def expand_names(names: list[str]) -> list[str]:
    """Replace "worldcup98" by the generated log and, if this machine has it, the real sample."""
    spelt = [name for given in names for name in ALIASES.get(given, (given,))]
    given = set(names)
    return [
        name
        for name in dict.fromkeys(spelt)
        if name in given or name not in _REAL or _path_of(name) is not None
    ]  # fmt: skip


def stream_name(given: str) -> str:
    """The name of the stream that is opened for what a user gave; a path of other files stands for itself."""
    return REAL_LOG if given not in STREAM_NAMES and raw_log_files(given) else given


def open_event_stream(name: str, events: int, seed: int = 0, columns: ColumnNames | None = None) -> Stream:
    """The first `events` events of a stream: one of STREAM_NAMES, Parquet files ordered by time, or wc_day*.gz."""
    if name in _GENERATED:
        return _GENERATED[name](name, events, seed)
    if name in _REAL:
        path = _path_of(name)
        if path is None:
            raise InputError(
                f"data: {name} needs the file {_REAL[name][0]}, which is not on this machine; "
                "set ECMSKETCH_DATA to a folder that has it"
            )
        return _REAL[name][1](path, events)
    raw = raw_log_files(name)
    if raw:
        return read_raw_logs(raw, events)
    if not Path(name).exists():
        raise InputError(
            f"data: got {name!r}, expected one of {', '.join(STREAM_NAMES)}, a path of Parquet files, or files of the "
            "World Cup 98 log (wc_day*.gz)"
        )
    return read_parquet(name, events, columns or ColumnNames())


def _path_of(name: str) -> Path | None:
    folder = data_folder()
    path = None if folder is None else folder / _REAL[name][0]
    return path if path is not None and path.exists() else None


def _generated(name: str, log: SlicedLog, make: Callable[[int], dict[str, Any]], sites: int) -> Stream:
    def batches_from(tick: int) -> Iterator[StreamBatch]:
        for index in range(log.slices):
            if log.slice_events(index) and log.slice_span(index)[1] >= tick:
                ticks, items, places = make(index).values()
                yield StreamBatch(items.view(np.uint64), ticks, places)

    first, last = log.slice_span(0)[0], max(index for index in range(log.slices) if log.slice_events(index))
    now = int(make(last)["timestamp"].max())
    return Stream(
        name, False, log.describe(), log.events, first, now, sites, lambda: batches_from(first), batches_from
    )  # fmt: skip


def _worldcup_log(name: str, events: int, seed: int) -> Stream:
    """The whole log with the servers of its files, or its busiest days (from 14 June 1998 on) with all 33 servers."""
    whole = {"day": 5, "days": 88} if events >= WHOLE_EVENTS else {"day": 50, "days": SHORT_DAYS}
    log = WorldCupLog(events, seed=seed, all_servers=events < WHOLE_EVENTS, **whole)
    return _generated(name, log, log.requests, len(SERVERS))


def _snmp_log(name: str, events: int, seed: int) -> Stream:
    log = SnmpLog(events, seed=seed, days=119 if events >= WHOLE_EVENTS else SHORT_DAYS)

    def make(index: int) -> dict[str, Any]:
        made = log.slice(index)
        return {column: made[column] for column in ("timestamp", "device", "site")}

    return _generated(name, log, make, log.sites)


def _worldcup_sample(path: Path, events: int) -> Stream:
    import pyarrow.csv as pcsv

    table = pcsv.read_csv(path).slice(0, events)
    what = f"{len(table):,} real requests of 1 May 1998, a sample of the World Cup 98 log without its servers"
    ticks = table["epoch"].to_numpy().astype(np.int64)
    return stream_of_arrays("worldcup98-sample", True, what, hash_items(table["url"]), ticks)


def _flights(path: Path, events: int) -> Stream:
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["date", "destination", "origin"])
    ticks = table["date"].to_numpy().astype("datetime64[s]").astype(np.int64)
    order = np.argsort(ticks, kind="stable")[:events]
    origins = table["origin"].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    what = f"{len(order):,} real departures in the USA from January 2001 on; items are destinations, sites are origins"
    items = hash_items(table["destination"])[order]
    return stream_of_arrays("flights", True, what, items, ticks[order], origins[order])


def _twitter(path: Path, events: int) -> Stream:
    import pyarrow.parquet as pq

    table = pq.read_table(path).slice(0, events)
    what = f"{len(table):,} real requests to a cache of Twitter (cluster 52); they do not name a site"
    return stream_of_arrays("twitter", True, what, hash_items(table["item"]), table["ts"].to_numpy().astype(np.int64))


_GENERATED: dict[str, Callable[[str, int, int], Stream]] = {
    "worldcup98-generated": _worldcup_log,
    "snmp": _snmp_log,
}
_REAL: dict[str, tuple[str, Callable[[Path, int], Stream]]] = {
    "worldcup98-sample": ("wc98/day6_sample.csv.gz", _worldcup_sample),
    "flights": ("flights/flights-3m.parquet", _flights),
    "twitter": ("twitter/cluster52-1m.parquet", _twitter),
}
ALIASES = {"worldcup98": ("worldcup98-generated", "worldcup98-sample")}
STREAM_NAMES = (*ALIASES, *_GENERATED, *_REAL)
