"""The formats that workers read: which one a file has, and who reads it.

pyarrow.dataset reads Parquet, ORC, Arrow and JSON lines. A Delta table is a set of Parquet files. CSV and worldcup98
have readers of their own: one big CSV file is read by several tasks, which pyarrow.dataset cannot do.
"""

from __future__ import annotations

from typing import Any

import pyarrow.json as pjson

from ecmsketch.errors import InputError

_JSON_BLOCK_BYTES = 2**24
"""The types of a JSON file's columns are those of its first block; a line must fit into a block."""

_ENDINGS = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "json": (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz"),
    "orc": (".orc",),
    "arrow": (".arrow", ".feather", ".ipc"),
}
FORMATS = (*_ENDINGS, "delta", "worldcup98")


def check_format(format: str | None) -> None:
    """Raise an error if a format is not one of FORMATS; None means that file names decide."""
    if format is not None and format not in FORMATS:
        raise InputError(f"format: expected one of {', '.join(FORMATS)}, got {format!r}")


def format_of(path: str, format: str | None) -> str:
    """The format that the caller gave, else the one that the file's name says; other names are worldcup98."""
    lowered = path.lower()
    named = (name for name, endings in _ENDINGS.items() if lowered.endswith(endings))
    return format or next(named, "worldcup98")


def dataset_format(format: str) -> Any:
    """The reader of pyarrow.dataset for a format, or None if it has none."""
    import pyarrow.dataset as ds  # not above: it imports pandas, which takes half a second

    if format == "json":
        return ds.JsonFileFormat(read_options=pjson.ReadOptions(block_size=_JSON_BLOCK_BYTES, use_threads=False))
    made = {"parquet": ds.ParquetFileFormat, "orc": ds.OrcFileFormat, "arrow": ds.IpcFileFormat}.get(format)
    return None if made is None else made()


def scan_options(format: str) -> Any:
    """How pyarrow.dataset scans a fragment: Parquet as a stream, so that memory does not grow with a row group."""
    import pyarrow.dataset as ds

    if format in ("parquet", "delta"):
        return ds.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
    return None
