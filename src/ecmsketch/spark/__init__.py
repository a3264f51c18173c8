"""Sketches on Spark: built, merged, asked in SQL. Needs `pip install 'ecmsketch[spark]'`."""

from ecmsketch.spark.batch import build_sketches
from ecmsketch.spark.files import build_sketches_from_files
from ecmsketch.spark.functions import register_functions
from ecmsketch.spark.generating import LABEL, generated_events, write_generated
from ecmsketch.spark.merging import MergeLevel, merge_sketches
from ecmsketch.spark.sources import register_sources

__all__ = [
    "LABEL",
    "MergeLevel",
    "build_sketches",
    "build_sketches_from_files",
    "generated_events",
    "merge_sketches",
    "register_functions",
    "register_sources",
    "write_generated",
]
