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
from ecmsketch.generate import SlicedLog, SnmpLog, WorldCupLog
from ecmsketch.inputs.items import hash_items

GENERATED_DAYS = 14
"""The length of generated logs: somewhat longer than the window, so that events expire."""


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


def open_event_stream(name: str, events: int, seed: int = 0, columns: ColumnNames | None = None) -> Stream:
    """The first `events` events of a stream: one of STREAM_NAMES, or a path of Parquet files ordered by time."""
    if name in _GENERATED:
        return _generated(name, *_GENERATED[name](events, seed))
    if name in _REAL:
        path = _path_of(name)
        if path is None:
            raise InputError(
                f"data: {name} needs the file {_REAL[name][0]}, which is not on this machine; "
                "set ECMSKETCH_DATA to a folder that has it"
            )
        return _REAL[name][1](path, events)
    if not Path(name).exists():
        raise InputError(f"data: got {name!r}, expected one of {', '.join(STREAM_NAMES)}, or a path of Parquet files")
    return read_parquet(name, events, columns or ColumnNames())


def _path_of(name: str) -> Path | None:
    folder = data_folder()
    path = None if folder is None else folder / _REAL[name][0]
    return path if path is not None and path.exists() else None


def _generated(name: str, log: SlicedLog, item: str, site: str) -> Stream:
    def batches() -> Iterator[StreamBatch]:
        for index in range(log.slices):
            made: Any = log.slice(index)
            items, ticks, sites = (made[column].astype(np.int64) for column in (item, "timestamp", site))
            if len(ticks):
                yield StreamBatch(items.view(np.uint64), ticks, sites)

    made: Any = next(log.slice(index) for index in reversed(range(log.slices)) if log.slice_events(index))
    sites = 33 if isinstance(log, WorldCupLog) else log.sites  # type: ignore[attr-defined]
    now = int(made["timestamp"].max())
    return Stream(name, False, log.describe(), log.events, log.slice_span(0)[0], now, sites, batches)


def _worldcup_log(events: int, seed: int) -> tuple[SlicedLog, str, str]:
    return WorldCupLog(events, seed=seed, day=50, days=GENERATED_DAYS, all_servers=True), "object", "server"


def _snmp_log(events: int, seed: int) -> tuple[SlicedLog, str, str]:
    return SnmpLog(events, seed=seed, days=GENERATED_DAYS), "device", "site"


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


_GENERATED: dict[str, Callable[[int, int], tuple[SlicedLog, str, str]]] = {
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
