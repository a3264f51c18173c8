"""Files found, cut into splits, and dealt out to tasks.

Parquet and Delta are cut by row groups, plain CSV by bytes, plain worldcup98 logs by records. Other files, and
whatever is compressed as a whole, are one split each.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.fs as pfs

from ecmsketch import worldcup98
from ecmsketch.errors import InputError
from ecmsketch.spark.delta_fragments import delta_fragments, is_delta
from ecmsketch.spark.file_formats import check_format, dataset_format, format_of
from ecmsketch.spark.file_opening import is_gzip, open_filesystem

SPLIT_BYTES = 2**27
"""About how many bytes a split has. A task has one or more splits that follow each other."""
_GZIP_FACTOR = 5
"""About how many times larger a log is once it is decompressed."""


class Split(NamedTuple):
    """A file, or a part of one.

    begin, end  the bytes (CSV) or records (worldcup98) from begin to before end; no end means to the end of the file
    fragment    what pyarrow.dataset reads, for other formats: a file, or some of its row groups
    schema      that of the Delta table, which a fragment may lack columns of; else None
    """

    path: str
    format: str
    size: int
    begin: int = 0
    end: int | None = None
    fragment: Any = None
    schema: Any = None


def find_files(paths: str | Sequence[str], format: str | None) -> list[Split]:
    """All files under the paths, each as one split, in the order of their names."""
    check_format(format)
    given = [paths] if isinstance(paths, str) else list(paths)
    files = [file for path in given for file in _files(str(path), format)]
    if not files:
        raise InputError(f"paths: there are no files in {paths!r}; names that begin with _ or . are left out")
    return files


def find_splits(paths: str | Sequence[str], format: str | None) -> list[Split]:
    """All files under the paths, cut into splits, in the order of their names."""
    files = find_files(paths, format)
    with ThreadPoolExecutor(16) as pool:
        return [split for part in pool.map(_cut, files) for split in part]


def assign(splits: list[Split], tasks: int) -> list[list[Split]]:
    """The splits of each task: splits that follow each other, of about equal size in all."""
    total = max(sum(split.size for split in splits), 1)
    count = min(tasks, len(splits))
    ends = np.cumsum([split.size for split in splits])
    owner = np.clip((ends - 1) * count // total, 0, count - 1)
    work = [[split for split, task in zip(splits, owner, strict=True) if task == i] for i in range(count)]
    return [part for part in work if part]


def _files(path: str, format: str | None) -> list[Split]:
    filesystem, inside = open_filesystem(path)
    prefix = path[: len(path) - len(inside)] if path.endswith(inside) else ""
    try:
        info = filesystem.get_file_info(inside)
    except OSError as error:
        raise InputError(f"{path}: it cannot be opened: {error}") from error
    if info.type == pfs.FileType.NotFound:
        raise InputError(f"{path}: there is no such file or folder")
    if format == "delta" or (format is None and is_delta(filesystem, inside)):
        schema, fragments = delta_fragments(path)
        return [Split(f"{path}/{part.path}", "delta", 0, fragment=part, schema=schema) for part in fragments]
    found = [info] if info.type == pfs.FileType.File else _listed(filesystem, inside)
    return [_whole(prefix + file.path, file, filesystem, format) for file in found]


def _listed(filesystem: pfs.FileSystem, folder: str) -> list[Any]:
    """The files in a folder and its folders, except those that Spark and others hide."""
    found = filesystem.get_file_info(pfs.FileSelector(folder, recursive=True))
    return [
        file
        for file in sorted(found, key=lambda file: file.path)
        if file.type == pfs.FileType.File
        and not any(part[:1] in "_." for part in file.path[len(folder) :].split("/") if part)
    ]


def _whole(path: str, file: Any, filesystem: pfs.FileSystem, format: str | None) -> Split:
    kind = format_of(path, format)
    reader = dataset_format(kind)
    fragment = None if reader is None else reader.make_fragment(file.path, filesystem)
    return Split(path, kind, file.size, fragment=fragment)


def _cut(file: Split) -> list[Split]:
    if file.format in ("parquet", "delta"):
        return _row_groups(file)
    if file.fragment is not None:
        return [file]
    if is_gzip(file.path):
        return [file._replace(size=file.size * _GZIP_FACTOR)]
    unit = 1 if file.format == "csv" else worldcup98.RECORD.itemsize
    whole = -(-file.size // unit)
    bounds = [*range(0, max(whole, 1), SPLIT_BYTES // unit), whole]
    return [file._replace(begin=a, end=b, size=(b - a) * unit) for a, b in pairwise(bounds)]


def _row_groups(file: Split) -> list[Split]:
    """A Parquet file cut into splits of consecutive row groups."""
    try:
        sizes = [group.total_byte_size for group in file.fragment.row_groups]
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{file.path}: cannot be read as {file.format}: {error}") from error
    groups: list[int] = []
    splits: list[Split] = []
    size = 0
    for i, bytes_of_group in enumerate(sizes):
        groups.append(i)
        size += bytes_of_group
        if size >= SPLIT_BYTES or i + 1 == len(sizes):
            splits.append(file._replace(size=size, fragment=file.fragment.subset(row_group_ids=groups)))
            groups, size = [], 0
    return splits or [file._replace(size=0)]
