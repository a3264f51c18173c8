"""The data that experiments know by name: real where it is on this machine, generated elsewhere, always labelled.

Real streams are read from the folder that ECMSKETCH_DATA names, or from shared/data beside the project.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ecmsketch.errors import InputError
from ecmsketch.experiments.parquet import Columns, read_parquet
from ecmsketch.experiments.stream import Batch, Stream, of_arrays
from ecmsketch.generate import SlicedLog, SnmpLog, WorldCupLog
from ecmsketch.hashing import hash_items

DAYS = 14
"""Of generated logs: somewhat longer than the window, so that events expire."""


def data_folder() -> Path | None:
    """Where real streams are, if they are on this machine."""
    given = os.environ.get("ECMSKETCH_DATA")
    places = [Path(given)] if given else [Path.cwd().parent / "shared/data", Path(__file__).parents[4] / "shared/data"]
    return next((place for place in places if place.is_dir()), None)


def expand(names: list[str]) -> list[str]:
    """Names with "worldcup98" spelt out: the real sample, where it is, and the generated log at the paper's scale."""
    spelt = [name for given in names for name in ALIASES.get(given, (given,))]
    given = set(names)
    return [
        name
        for name in dict.fromkeys(spelt)
        if name in given or name not in _REAL or _path_of(name) is not None
    ]  # fmt: skip


def open_stream(name: str, events: int, seed: int = 0, columns: Columns | None = None) -> Stream:
    """The first `events` events of a stream: one of NAMES, or the path of Parquet files in order of time."""
    if name in _GENERATED:
        return _generated(name, *_GENERATED[name](events, seed))
    if name in _REAL:
        path = _path_of(name)
        if path is None:
            raise InputError(
                f"{name}: its file {_REAL[name][0]} is not on this machine; put it into a folder and set ECMSKETCH_DATA"
            )
        return _REAL[name][1](path, events)
    if not Path(name).exists():
        raise InputError(f"data: expected one of {', '.join(NAMES)}, or a path of Parquet files; got {name!r}")
    return read_parquet(name, events, columns or Columns())


def _path_of(name: str) -> Path | None:
    folder = data_folder()
    path = None if folder is None else folder / _REAL[name][0]
    return path if path is not None and path.exists() else None


def _generated(name: str, log: SlicedLog, item: str, site: str) -> Stream:
    def batches() -> Iterator[Batch]:
        for index in range(log.slices):
            made: Any = log.slice(index)
            items, ticks, sites = (made[column].astype(np.int64) for column in (item, "timestamp", site))
            if len(ticks):
                yield Batch(items.view(np.uint64), ticks, sites)

    made: Any = next(log.slice(index) for index in reversed(range(log.slices)) if log.slice_events(index))
    sites = 33 if isinstance(log, WorldCupLog) else log.sites  # type: ignore[attr-defined]
    now = int(made["timestamp"].max())
    return Stream(name, False, log.describe(), log.events, log.slice_span(0)[0], now, sites, batches)


def _worldcup_log(events: int, seed: int) -> tuple[SlicedLog, str, str]:
    return WorldCupLog(events, seed=seed, day=50, days=DAYS, all_servers=True), "object", "server"


def _snmp_log(events: int, seed: int) -> tuple[SlicedLog, str, str]:
    return SnmpLog(events, seed=seed, days=DAYS), "device", "site"


def _worldcup_sample(path: Path, events: int) -> Stream:
    import pyarrow.csv as pcsv

    table = pcsv.read_csv(path).slice(0, events)
    what = f"{len(table):,} real requests of 1 May 1998, a sample of the World Cup 98 log without its servers"
    ticks = table["epoch"].to_numpy().astype(np.int64)
    return of_arrays("worldcup98-sample", True, what, hash_items(table["url"]), ticks)


def _flights(path: Path, events: int) -> Stream:
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["date", "destination", "origin"])
    ticks = table["date"].to_numpy().astype("datetime64[s]").astype(np.int64)
    order = np.argsort(ticks, kind="stable")[:events]
    origins = table["origin"].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    what = f"{len(order):,} real departures in the USA from January 2001 on, by destination; sites are origins"
    items = hash_items(table["destination"])[order]
    return of_arrays("flights", True, what, items, ticks[order], origins[order])


def _twitter(path: Path, events: int) -> Stream:
    import pyarrow.parquet as pq

    table = pq.read_table(path).slice(0, events)
    what = f"{len(table):,} real requests to a cache of Twitter (cluster 52); they do not say where they came from"
    return of_arrays("twitter", True, what, hash_items(table["item"]), table["ts"].to_numpy().astype(np.int64))


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
NAMES = (*ALIASES, *_GENERATED, *_REAL)
