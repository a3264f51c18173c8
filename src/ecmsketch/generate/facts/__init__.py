"""What is known of the whole World Cup 98 log, in small tables derived from its real counts (README.md)."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

DAYS = range(5, 93)
"""The days of the log that have requests, numbered as its files are: 1 is 26 April 1998, 50 is 14 June."""

PROFILE_STEP = 600
"""Seconds per column of `profile`."""


class Responses(NamedTuple):
    """How requests ended: columns of equal length. A size of -2 is the object's own, -1 none."""

    method: Ints
    version: Ints
    status: Ints
    size: Ints
    requests: Ints


class Types(NamedTuple):
    """How often each type of file was asked for; sizes are about log-normal."""

    type: Ints
    requests: Ints
    mean_log_size: NDArray[np.float64]
    sd_log_size: NDArray[np.float64]


def midnight(day: int) -> int:
    """The second at which a day begins, in Paris."""
    return 893_455_200 + 86_400 * day


@cache
def server_requests() -> Ints:
    """Requests per day (a row each, from the first of DAYS) and server (a column each, as in SERVERS)."""
    return _table("servers.csv")[:, 1:]


@cache
def region_requests() -> tuple[Ints, Ints]:
    """First seconds of the log's files, about 7 million requests each, and the requests per file and region."""
    table = _table("regions.csv")
    return table[:, 0], table[:, 1:]


@cache
def profile() -> Ints:
    """Per day (a row each) about how many of 10,000 requests came in each ten minutes."""
    return _table("profile.csv")[:, 1:]


@cache
def responses() -> Responses:
    """Methods, versions and statuses, from 10,000 records of day 50."""
    rows = [[int(value or -2) for value in row] for row in _rows("responses.csv")]
    return Responses(*np.array(rows, np.int64).T)


@cache
def types() -> Types:
    """Types of files, from 10,000 records of day 50."""
    kind, requests, mean, sd = np.array(_rows("types.csv"), np.float64).T
    return Types(kind.astype(np.int64), requests.astype(np.int64), mean, sd)


def _table(name: str) -> Ints:
    return np.array(_rows(name), np.int64)


def _rows(name: str) -> list[list[str]]:
    lines = files(__package__).joinpath(name).read_text().splitlines()
    return list(csv.reader(lines[1:]))
