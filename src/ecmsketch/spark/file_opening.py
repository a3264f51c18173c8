"""Opening a path or URI: its file system, and its bytes, decompressed."""

from __future__ import annotations

import gzip
import io
from typing import Any

import pyarrow as pa
import pyarrow.fs as pfs

from ecmsketch.errors import InputError

_GZIP = b"\x1f\x8b"
_BUFFER_BYTES = 2**20


def open_filesystem(path: str) -> tuple[pfs.FileSystem, str]:
    """The file system of a path or URI, and the path inside it: one of pyarrow's own, or one of fsspec's."""
    try:
        if "://" not in path:
            return pfs.LocalFileSystem(), path
        found: tuple[pfs.FileSystem, str] = pfs.FileSystem.from_uri(path)
        return found
    except pa.ArrowException:
        try:
            import fsspec
        except ImportError:
            raise InputError(f"{path}: pyarrow cannot open it; install fsspec for more file systems") from None
        filesystem, inside = fsspec.core.url_to_fs(path)
        return pfs.PyFileSystem(pfs.FSSpecHandler(filesystem)), inside


def is_gzip(path: str) -> bool:
    """Whether a file is compressed with gzip, by its first bytes."""
    filesystem, inside = open_filesystem(path)
    with filesystem.open_input_file(inside) as file:
        return bytes(file.read(len(_GZIP))) == _GZIP


def open_stream(path: str) -> Any:
    """A stream of plain bytes, whether the file is compressed or not."""
    filesystem, inside = open_filesystem(path)
    file = filesystem.open_input_file(inside)
    return gzip.GzipFile(fileobj=file) if is_gzip(path) else io.BufferedReader(file, _BUFFER_BYTES)
