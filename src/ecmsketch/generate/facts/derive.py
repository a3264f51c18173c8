"""Derive the tables in this folder from the real World Cup 98 data: `python derive.py <folder wc98> [<target>]`."""

from __future__ import annotations

import csv
import gzip
import sys
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import numpy as np

from ecmsketch.generate.facts import DAYS, PROFILE_STEP, Ints, midnight
from ecmsketch.worldcup98 import SERVERS, open_log, read_batches, to_columns

_RESPONSE = ("method", "version", "status")


def derive(source: Path, target: Path) -> None:
    """Write all tables."""
    with open(source / "requests_per_day_part_server.csv") as lines:
        rows = [{name: int(value) for name, value in row.items()} for row in csv.DictReader(lines)]
    _write(target / "servers.csv", ["day", "start", *SERVERS], _servers(rows))
    _write(target / "profile.csv", ["day", *range(0, 1440, PROFILE_STEP // 60)], _profile(source))
    with open_log(source / "wc_day50_4.head") as stream:
        columns = to_columns(next(read_batches(stream)))
    _write(target / "responses.csv", [*_RESPONSE, "size", "requests"], _responses(columns))
    _write(target / "types.csv", ["type", "requests", "mean_log_size", "sd_log_size"], _types(columns))


def _servers(rows: list[dict[str, int]]) -> Iterable[list[int]]:
    """Requests per server for each file of the log (at most 7 million requests), with its day and its first second."""
    requests: Counter[tuple[int, int]] = Counter()
    for row in rows:
        requests[row["start_time"], row["server"]] += row["requests"]
    files = sorted({(row["day"], row["start_time"]) for row in rows})
    return ([day, start, *(requests[start, server] for server in SERVERS)] for day, start in files)


def _profile(source: Path) -> Iterable[list[int]]:
    """Each day's requests per ten minutes, scaled to 10,000 per day."""
    counts = np.zeros((len(DAYS), 86_400 // PROFILE_STEP))
    with gzip.open(source / "requests_per_minute.csv.gz", "rt") as lines:
        for row in csv.DictReader(lines):
            second = datetime.fromisoformat(row["period"] + "+00:00").timestamp() - midnight(DAYS[0])
            counts.flat[int(second) // PROFILE_STEP] += int(row["count"])
    shares = np.rint(counts / counts.sum(axis=1, keepdims=True) * 10_000).astype(int)
    return ([day, *row] for day, row in zip(DAYS, shares.tolist(), strict=True))


def _responses(columns: dict[str, Ints]) -> Iterable[list[object]]:
    """Requests by method, version, status and size; the size is empty if it was that of the object itself."""
    sizes = np.where(np.isin(columns["status"], (200, 206)), -2, columns["size"])
    kinds = Counter(map(tuple, np.transpose([*(columns[name] for name in _RESPONSE), sizes]).tolist()))
    return ([*kind[:3], "" if kind[3] == -2 else kind[3], requests] for kind, requests in sorted(kinds.items()))


def _types(columns: dict[str, Ints]) -> Iterable[list[object]]:
    """Requests by type of file, with the sizes of files that were sent whole."""
    for kind in np.unique(columns["type"]).tolist():
        this = columns["type"] == kind
        logs = np.log(columns["size"][this & (columns["status"] == 200)])
        yield [kind, int(this.sum()), f"{logs.mean():.2f}", f"{logs.std():.2f}"]


def _write(path: Path, header: list[object], rows: Iterable[Iterable[object]]) -> None:
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


if __name__ == "__main__":
    derive(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent)
