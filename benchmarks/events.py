"""The streams to measure: a generated one, and the real ones if shared/data is there."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

SHARED = Path(__file__).parents[2] / "shared" / "data"


def zipf(events: int, distinct: int = 90_000, exponent: float = 1.1, seed: int = 0) -> Any:
    """Items by a Zipf law, as numbers that are spread over 64 bits."""
    rng = np.random.default_rng(seed)
    weights = np.cumsum(np.arange(1, distinct + 1) ** -exponent)
    ranks = np.searchsorted(weights / weights[-1], rng.random(events))
    return ranks.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def real() -> Iterator[tuple[str, Any, Any, int]]:
    """The name, items, ticks and window of each real stream on this machine."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = SHARED / "twitter" / "cluster52-1m.parquet"
    if path.exists():
        table = pq.read_table(path)
        yield "twitter cache, 1 M requests, window 300 s", table["item"], table["ts"].to_numpy().astype(np.int64), 300
    path = SHARED / "flights" / "flights-3m.parquet"
    if path.exists():
        table = pq.read_table(path, columns=["date", "destination"])
        minutes = table["date"].to_numpy().astype("datetime64[m]").astype(np.int64)
        order = np.argsort(minutes, kind="stable")
        items = table["destination"].take(pa.array(order))
        yield "flights, 3 M departures, window 30 days", items, minutes[order], 30 * 24 * 60
    path = SHARED / "wc98" / "day6_sample.csv.gz"
    if path.exists():
        with gzip.open(path, "rt") as lines:
            rows = list(csv.DictReader(lines))
        ticks = np.array([int(row["epoch"]) for row in rows])
        yield "World Cup web log, 200 k requests, window 6 h", pa.array([row["url"] for row in rows]), ticks, 6 * 3600
