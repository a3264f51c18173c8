"""One record of the log: its 20 bytes, and what the numbers in it mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.errors import InputError

RECORD = np.dtype(
    [
        ("timestamp", ">u4"),
        ("client", ">u4"),
        ("object", ">u4"),
        ("size", ">u4"),
        ("method", "u1"),
        ("status", "u1"),
        ("type", "u1"),
        ("server", "u1"),
    ]
)
"""One request as the files store it, without header or padding. `status` also holds the HTTP version."""

FIELDS = ("timestamp", "client", "object", "size", "method", "status", "type", "server")
"""The columns of tables that Spark reads from the log, all integers; `status` excludes the HTTP version."""
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "OPTIONS", "CONNECT", "other")
STATUSES = (100, 101, *range(200, 207), *range(300, 306), *range(400, 416), *range(500, 506), -1)
"""HTTP codes by the low six bits of `status`; -1 stands for any other code."""
VERSIONS = ("HTTP/0.9", "HTTP/1.0", "HTTP/1.1", "other")
"""HTTP versions by the high two bits of `status`."""
TYPES = (
    *("HTML", "IMAGE", "AUDIO", "VIDEO", "JAVA", "FORMATTED", "DYNAMIC"),
    *("TEXT", "COMPRESSED", "PROGRAMS", "DIRECTORY", "ICL", "other"),
)
REGIONS = ("Santa Clara", "Plano", "Herndon", "Paris")
"""Regions by the high three bits of `server`; the low five bits number the servers of a region."""
SERVERS = (*range(6), *range(32, 43), *range(64, 74), *range(96, 102))
"""The 33 bytes that identify a server."""
NO_SIZE = 2**32 - 1
"""The size of a response that had none; columns have -1 instead."""

HIGHEST = {"method": len(METHODS) - 1, "status": len(STATUSES) - 1, "type": len(TYPES) - 1, "server": 127}
"""The highest value of each field that has few values. Any 20 bytes parse as a record, so this is how a log is told
from another file."""


def server_name(server: int) -> str:
    """The region of a server and its number there.

    >>> server_name(99)
    'paris-3'
    """
    if server not in SERVERS:
        raise InputError(f"server: got {server!r}, expected one of the 33 numbers in worldcup98.SERVERS")
    return f"{REGIONS[server >> 5].lower().replace(' ', '-')}-{server & 31}"


def as_records(records: NDArray[Any]) -> NDArray[Any]:
    """Records in the byte order of the files, which numpy loses when it joins arrays."""
    if not isinstance(records, np.ndarray) or records.ndim != 1 or records.dtype.newbyteorder(">") != RECORD:
        got = f"{records.dtype} of shape {records.shape}" if isinstance(records, np.ndarray) else type(records).__name__
        raise InputError(f"records: got {got}, expected a one-dimensional array of RECORD; make one with from_columns")
    return records.astype(RECORD, copy=False)
