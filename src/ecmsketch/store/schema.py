"""The columns of a store's table, and how its files are laid out."""

from __future__ import annotations

from typing import Any

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    from deltalake import ColumnProperties, WriterProperties
except ImportError as error:
    raise ImportError("ecmsketch.store needs deltalake and pyarrow; pip install 'ecmsketch[store]'") from error

SCHEMA = pa.schema(
    [
        ("site", pa.string()),
        ("kind", pa.string()),
        ("part", pa.string()),
        ("sketch", pa.binary()),
        ("first_tick", pa.int64()),
        ("last_tick", pa.int64()),
        ("events", pa.int64()),
        ("bytes", pa.int64()),
        ("writer", pa.string()),
        ("generation", pa.int64()),
        ("batch", pa.int64()),
        ("version", pa.int64()),
        ("position", pa.int64()),
        ("fingerprints", pa.binary()),
        ("written", pa.timestamp("us", "UTC")),
    ]
)
PARTS = ("segment", "snapshot")
FACTS = [name for name in SCHEMA.names if name != "sketch"]
"""The columns that are read without reading sketches."""

UNSORTED = ("sketch", "fingerprints")
"""Columns of bytes that neither repeat nor have an order."""
_GROUP = 2**19
"""Bytes of sketches in a row group: one site is read without most others."""
_MOST_ROWS = 1024


def rows_in_group(rows: Any) -> int:
    """How many rows a row group holds, for rows whose column `bytes` says how large they are."""
    return group_size(pc.sum(rows["bytes"]).as_py() or 0, len(rows))


def group_size(size: int, rows: int) -> int:
    """How many rows a row group holds, if some rows have a size in all."""
    return max(1, min(_MOST_ROWS, _GROUP * rows // max(size, 1)))


def layout(rows: int) -> WriterProperties:
    """How deltalake writes files, with so many rows in a row group."""
    plain = ColumnProperties(dictionary_enabled=False, statistics_enabled="NONE")
    return WriterProperties(
        compression="ZSTD", max_row_group_size=rows, column_properties=dict.fromkeys(UNSORTED, plain)
    )


def layout_of(rows: Any) -> WriterProperties:
    """How deltalake writes a file of given rows."""
    return layout(rows_in_group(rows))
