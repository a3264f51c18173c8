"""Small tables about the whole World Cup 98 log, derived from its real counts (see README.md)."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

DAYS = range(5, 93)
"""The days of the log that have requests, numbered as in its file names: 1 is 26 April 1998, 50 is 14 June."""

PROFILE_STEP = 600
"""The seconds that a column of `profile` covers."""


class Responses(NamedTuple):
    """The kinds of responses, as columns of equal length. Size -2 means the object's own size, -1 means none."""

    method: Ints
    version: Ints
    status: Ints
    size: Ints
    requests: Ints


class Types(NamedTuple):
    """The number of requests for each type of file. Sizes are roughly log-normal."""

    type: Ints
    requests: Ints
    mean_log_size: NDArray[np.float64]
    sd_log_size: NDArray[np.float64]


def midnight(day: int) -> int:
    """The second at which a day begins in Paris."""
    return 893_455_200 + 86_400 * day


@cache
def file_requests() -> tuple[Ints, Ints]:
    """The first second of each of the 245 files of the log, and its requests, with a column per server of SERVERS."""
    table = _table("servers.csv")
    return table[:, 1], table[:, 2:]


@cache
def server_requests() -> Ints:
    """The number of requests, with a row per day of DAYS and a column per server of SERVERS."""
    table = _table("servers.csv")
    requests = np.zeros((len(DAYS), table.shape[1] - 2), np.int64)
    np.add.at(requests, table[:, 0] - DAYS[0], table[:, 2:])
    return requests


@cache
def profile() -> Ints:
    """A row per day: of 10,000 requests, about how many arrived in each ten minutes."""
    return _table("profile.csv")[:, 1:]


@cache
def responses() -> Responses:
    """Methods, versions and statuses, counted in 10,000 records of day 50."""
    rows = [[int(value or -2) for value in row] for row in _rows("responses.csv")]
    return Responses(*np.array(rows, np.int64).T)


@cache
def types() -> Types:
    """Types of files, counted in 10,000 records of day 50."""
    kind, requests, mean, sd = np.array(_rows("types.csv"), np.float64).T
    return Types(kind.astype(np.int64), requests.astype(np.int64), mean, sd)


def _table(name: str) -> Ints:
    return np.array(_rows(name), np.int64)


def _rows(name: str) -> list[list[str]]:
    lines = files(__package__).joinpath(name).read_text().splitlines()
    return list(csv.reader(lines[1:]))
