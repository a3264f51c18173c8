"""Sketches of many sites over time in a Delta table: many write it, anyone reads it, no Spark needed."""

from ecmsketch.store.schema import PARTS, SCHEMA  # isort: skip, says what to install if deltalake is missing
from ecmsketch.store.compaction import CompactReport
from ecmsketch.store.given_rows import SketchRow
from ecmsketch.store.rejections import Rejected
from ecmsketch.store.sketch_store import KEEP_HOURS, READER_HOURS, SketchStore
from ecmsketch.store.stored_rows import StoredRow

__all__ = [
    "KEEP_HOURS", "PARTS", "READER_HOURS", "SCHEMA",
    "CompactReport", "Rejected", "SketchRow", "SketchStore", "StoredRow",
]  # fmt: skip
