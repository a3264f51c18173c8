"""Sketches on Spark: build them, merge them, query them in SQL. Needs `pip install 'ecmsketch[spark]'`."""

from ecmsketch.spark.batch import build_sketches
from ecmsketch.spark.coordinator_folder import Status
from ecmsketch.spark.event_columns import item_kinds
from ecmsketch.spark.failures import spark_errors
from ecmsketch.spark.files import build_sketches_from_files
from ecmsketch.spark.generating import LABEL, generated_events, generated_stream, write_generated
from ecmsketch.spark.listening import ProgressListener, observed
from ecmsketch.spark.merge_tree import MergeLevel, merge_sketches
from ecmsketch.spark.message_parsing import parse_messages
from ecmsketch.spark.monitoring import monitor_sites
from ecmsketch.spark.sources import register_sources
from ecmsketch.spark.sql_functions import register_functions
from ecmsketch.spark.streaming import stream_sketches, use_rocksdb, write_to_store

__all__ = [
    "LABEL",
    "MergeLevel",
    "ProgressListener",
    "Status",
    "build_sketches",
    "build_sketches_from_files",
    "generated_events",
    "generated_stream",
    "item_kinds",
    "merge_sketches",
    "monitor_sites",
    "observed",
    "parse_messages",
    "register_functions",
    "register_sources",
    "spark_errors",
    "stream_sketches",
    "use_rocksdb",
    "write_generated",
    "write_to_store",
]
