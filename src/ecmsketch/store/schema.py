"""The columns of a store's table, and how its files are laid out."""

from __future__ import annotations

try:
    import pyarrow as pa
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

# Few rows a group, so that one site is read without the others; a sketch's bytes neither repeat nor have an order.
LAYOUT = WriterProperties(
    compression="ZSTD",
    max_row_group_size=64,
    column_properties={
        name: ColumnProperties(dictionary_enabled=False, statistics_enabled="NONE")
        for name in ("sketch", "fingerprints")
    },
)
