"""Read records from a file or stream, compressed or not, whole or damaged."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ecmsketch.errors import InputError
from ecmsketch.worldcup98.records import HIGHEST, RECORD

_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 20
_DAMAGE = (EOFError, OSError, zlib.error)


def open_log(path: str | Path) -> BinaryIO:
    """Open a log, compressed or not. Gzip is recognised by its first two bytes; as a timestamp they would mean 1986."""
    with open(path, "rb") as file:
        compressed = file.read(2) == _GZIP
    return gzip.open(path, "rb") if compressed else open(path, "rb")  # type: ignore[return-value]


def read_batches(
    stream: BinaryIO, records: int = 2**20, begin: int = 0, end: int | None = None
) -> Iterator[NDArray[Any]]:
    """Yield the records [begin, end) of a stream, at most `records` at a time.

    If the stream is damaged or ends within a record, all whole records before that point are yielded first; then an
    InputError is raised.
    """
    if records < 1 or begin < 0:
        raise InputError(f"read_batches: got records={records}, begin={begin}, expected records >= 1 and begin >= 0")
    problem = _skip(stream, begin * RECORD.itemsize)
    if problem is not None:
        raise InputError(f"log: damaged before record {begin}: {problem}; fetch the file again") from problem
    done = begin
    while end is None or done < end:
        wanted = records if end is None else min(records, end - done)
        data, problem = _read(stream, wanted * RECORD.itemsize)
        batch = np.frombuffer(data, RECORD, len(data) // RECORD.itemsize)
        good, complaint = _valid_records(batch)
        done += good
        if good:
            yield batch[:good]
        if complaint:
            raise InputError(f"record {done}: {complaint}; this is no World Cup 98 log, or it begins within a record")
        _raise_for_cut(done, len(data) % RECORD.itemsize, problem)
        if len(batch) < wanted:
            return


def _raise_for_cut(done: int, left: int, problem: Exception | None) -> None:
    if problem is not None:
        raise InputError(f"log: damaged after {done} whole records: {problem}; fetch the file again") from problem
    if left:
        raise InputError(
            f"log: got {left} bytes left over after record {done}, expected whole records of {RECORD.itemsize} bytes; "
            "the file was cut short, fetch it again"
        )


def _skip(stream: BinaryIO, size: int) -> Exception | None:
    """Skip bytes. Returns the error that stopped it, if any."""
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
    """Read `size` bytes, or fewer at the end, and return the error that stopped it, if any.

    It reads in chunks, so that the bytes before an error are not lost.
    """
    read = getattr(stream, "read1", stream.read)
    data = bytearray()
    try:
        while len(data) < size and (piece := read(min(size - len(data), _CHUNK))):
            data += piece
    except _DAMAGE as problem:
        return bytes(data), problem
    return bytes(data), None


def _valid_records(batch: NDArray[Any]) -> tuple[int, str]:
    """How many records come before the first invalid one, and what is wrong with that one."""
    good, complaint = len(batch), ""
    for name, highest in HIGHEST.items():
        values = batch[name] & 63 if name == "status" else batch[name]
        if values[:good].max(initial=0) > highest:
            good = int(np.argmax(values > highest))
            complaint = f"got a {name} of {values[good]}, expected 0 to {highest}"
    return good, complaint
