"""The access log of the 1998 World Cup web site: 20-byte binary records, read and written in batches.

>>> import io
>>> log = io.BytesIO(bytes.fromhex("358d3a270000003700000003ffffffff004d0160"))
>>> for records in read_batches(log):
...     columns = to_columns(records)
...     print(columns["object"], columns["status"], columns["size"], server_name(columns["server"][0]))
[3] [304] [-1] paris-0
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ecmsketch.columns import as_column
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
"""One request as the files have it: no header before it, no padding inside. `status` also holds the HTTP version."""

FIELDS = ("timestamp", "client", "object", "size", "method", "status", "type", "server")
"""The columns of tables that Spark makes of the log, all of integers; `status` without the HTTP version."""
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "OPTIONS", "CONNECT", "other")
STATUSES = (100, 101, *range(200, 207), *range(300, 306), *range(400, 416), *range(500, 506), -1)
"""HTTP codes by the low six bits of `status`; -1 is any other."""
VERSIONS = ("HTTP/0.9", "HTTP/1.0", "HTTP/1.1", "other")
"""By the high two bits of `status`."""
TYPES = (
    *("HTML", "IMAGE", "AUDIO", "VIDEO", "JAVA", "FORMATTED", "DYNAMIC"),
    *("TEXT", "COMPRESSED", "PROGRAMS", "DIRECTORY", "ICL", "other"),
)
REGIONS = ("Santa Clara", "Plano", "Herndon", "Paris")
"""By the high three bits of `server`; the low five number the servers there."""
SERVERS = (*range(6), *range(32, 43), *range(64, 74), *range(96, 102))
"""The 33 bytes that identify a server."""
NO_SIZE = 2**32 - 1
"""The size of a response that had none; -1 in columns."""

COLUMNS = ("timestamp", "client", "object", "size", "method", "version", "status", "type", "server")

_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 20
_DAMAGE = (EOFError, OSError, zlib.error)
_HIGHEST = {"method": len(METHODS) - 1, "status": len(STATUSES) - 1, "type": len(TYPES) - 1, "server": 127}
"""Of the fields that have few values: what tells a log from another file, since any 20 bytes would be a record."""
_LIMITS = {
    **dict.fromkeys(("timestamp", "client", "object"), (0, 2**32 - 1)),
    **{name: (0, highest) for name, highest in _HIGHEST.items()},
    "size": (-1, NO_SIZE - 1),
    "version": (0, len(VERSIONS) - 1),
    "status": (-1, max(STATUSES)),
}
_CODES = np.full(64, -1)
_CODES[: len(STATUSES)] = STATUSES
_STATUS_OF_CODE = np.full(507, 255, np.uint8)  # code -1 is the last entry
_STATUS_OF_CODE[list(STATUSES)] = np.arange(len(STATUSES))


def server_name(server: int) -> str:
    """Where a server stood, and its number there.

    >>> server_name(99)
    'paris-3'
    """
    if server not in SERVERS:
        raise InputError(f"server: expected one of the 33 in SERVERS, got {server!r}")
    return f"{REGIONS[server >> 5].lower().replace(' ', '-')}-{server & 31}"


def open_log(path: str | Path) -> BinaryIO:
    """Open a log, compressed or not: gzip is known by its first bytes, which as a time would be the year 1986."""
    with open(path, "rb") as file:
        compressed = file.read(2) == _GZIP
    return gzip.open(path, "rb") if compressed else open(path, "rb")  # type: ignore[return-value]


def read_batches(
    stream: BinaryIO, records: int = 2**20, begin: int = 0, end: int | None = None
) -> Iterator[NDArray[Any]]:
    """The records [begin, end) of a stream, at most `records` at a time.

    A stream that is damaged, or ends within a record, raises only after all whole records before that were given.
    """
    if records < 1 or begin < 0:
        raise InputError(f"read_batches: expected records >= 1 and begin >= 0, got {records} and {begin}")
    problem = _skip(stream, begin * RECORD.itemsize)
    if problem is not None:
        raise InputError(f"log: damaged before record {begin}: {problem}; fetch it again") from problem
    done = begin
    while end is None or done < end:
        wanted = records if end is None else min(records, end - done)
        data, problem = _read(stream, wanted * RECORD.itemsize)
        whole, left = divmod(len(data), RECORD.itemsize)
        if whole:
            batch = np.frombuffer(data, RECORD, whole)
            good, complaint = _whole_records(batch)
            done += good
            if good:
                yield batch[:good]
            if complaint:
                raise InputError(f"record {done}: {complaint}; this is no World Cup 98 log, or begins within a record")
        if problem is not None:
            raise InputError(f"log: damaged after {done} whole records: {problem}; fetch it again") from problem
        if left:
            raise InputError(
                f"log: expected records of {RECORD.itemsize} bytes, got {left} bytes left over after record {done}; "
                "the file was cut short, fetch it again"
            )
        if whole < wanted:
            return


def to_columns(records: NDArray[Any]) -> dict[str, NDArray[np.int64]]:
    """Records as native int64 columns: `status` is the HTTP code (-1: other), `size` is -1 where there was none."""
    known = _as_records(records)
    columns = {name: known[name].astype(np.int64) for name in COLUMNS if name != "version"}
    columns["size"][columns["size"] == NO_SIZE] = -1
    columns["version"] = columns["status"] >> 6
    columns["status"] = _CODES[columns["status"] & 63]
    return {name: columns[name] for name in COLUMNS}


def from_columns(columns: Mapping[str, Any]) -> NDArray[Any]:
    """The records that `to_columns` made these columns from; without a `version` column, of HTTP/1.0."""
    missing = [name for name in COLUMNS if name not in columns and name != "version"]
    if missing:
        raise InputError(f"columns: expected {', '.join(COLUMNS)}, got none called {', '.join(missing)}")
    length = len(as_column(columns["timestamp"], "timestamp"))
    given = {**columns, "version": columns.get("version", np.ones(length, np.int64))}
    values = {name: _checked(name, given[name], length) for name in COLUMNS}
    records = np.empty(length, RECORD)
    for name in RECORD.names or ():
        records[name] = values[name] & NO_SIZE  # makes the size -1 the one that stands for none
    records["status"] = _STATUS_OF_CODE[values["status"]] | (values["version"].astype(np.uint8) << 6)
    return records


def write_log(path: str | Path, batches: Iterable[NDArray[Any]], compress: bool) -> int:
    """Write records to a file, as gzip or plain; how many there were. The same records give the same bytes."""
    written = 0
    with open(path, "wb") as file:
        packed = gzip.GzipFile("", "wb", compresslevel=1, fileobj=file, mtime=0) if compress else nullcontext(file)
        with packed as target:
            for batch in batches:
                target.write(_as_records(batch).tobytes())
                written += len(batch)
    return written


def _skip(stream: BinaryIO, size: int) -> Exception | None:
    """Pass over bytes; what broke that off."""
    try:
        if size and stream.seekable():
            stream.seek(size, 1)
            return None
        while size and (passed := len(stream.read(min(size, _CHUNK)))):
            size -= passed
    except _DAMAGE as problem:
        return problem
    return None


def _read(stream: BinaryIO, size: int) -> tuple[bytes, Exception | None]:
    """Up to `size` bytes, fewer only at the end, and what broke that off: in pieces, so that none is lost."""
    read = getattr(stream, "read1", stream.read)
    data = bytearray()
    try:
        while len(data) < size and (piece := read(min(size - len(data), _CHUNK))):
            data += piece
    except _DAMAGE as problem:
        return bytes(data), problem
    return bytes(data), None


def _whole_records(batch: NDArray[Any]) -> tuple[int, str]:
    """How many records come before the first that cannot be one, and what is wrong with that one."""
    good, complaint = len(batch), ""
    for name, highest in _HIGHEST.items():
        values = batch[name] & 63 if name == "status" else batch[name]
        if values[:good].max(initial=0) > highest:
            good = int(np.argmax(values > highest))
            complaint = f"expected a {name} of 0 to {highest}, got {values[good]}"
    return good, complaint


def _as_records(records: NDArray[Any]) -> NDArray[Any]:
    """Records in the byte order of the files, which numpy gives up when it joins arrays."""
    if not isinstance(records, np.ndarray) or records.ndim != 1 or records.dtype.newbyteorder(">") != RECORD:
        got = f"{records.dtype} of shape {records.shape}" if isinstance(records, np.ndarray) else type(records).__name__
        raise InputError(f"records: expected a one-dimensional array of RECORD, got {got}; make one with from_columns")
    return records.astype(RECORD, copy=False)


def _checked(name: str, values: Any, length: int) -> NDArray[np.int64]:
    column = as_column(values, name)
    if len(column) != length:
        raise InputError(f"{name}: expected {length} values, one per timestamp, got {len(column)}")
    if length and column.dtype.kind not in "iu":
        raise InputError(f"{name}: expected integers, got an array of {column.dtype}")
    low, high = _LIMITS[name]
    if length and (int(column.min()) < low or int(column.max()) > high):
        raise InputError(f"{name}: expected {low} to {high}, got {column.min()} to {column.max()}")
    column = column.astype(np.int64)
    if name == "status" and (_STATUS_OF_CODE[column] == 255).any():
        unknown = int(column[_STATUS_OF_CODE[column] == 255][0])
        raise InputError(f"status: expected one of STATUSES, got {unknown}; use -1 for others")
    return column
