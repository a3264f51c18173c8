"""The fast path: workers read the files themselves, and only sketches cross to Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from ecmsketch.config import SketchConfig
from ecmsketch.errors import InputError
from ecmsketch.inputs.kinds import INTEGER
from ecmsketch.inputs.ticks import Span, Tick
from ecmsketch.spark.arrow_batches import use_large_batches
from ecmsketch.spark.column_roles import Roles, make_roles
from ecmsketch.spark.column_types import decoded_type, kind_of_items
from ecmsketch.spark.file_checks import check_file
from ecmsketch.spark.file_reading import read_events
from ecmsketch.spark.file_splits import SPLIT_BYTES, Split, assign, find_splits
from ecmsketch.spark.partial_rows import partial_schema, to_batches, unite_partials
from ecmsketch.spark.partials import Part, PartialSketches
from ecmsketch.spark.recipe import AHEAD, Recipe, make_recipe, with_horizon
from ecmsketch.spark.sent_events import Layout, type_name
from ecmsketch.spark.workers import use_driver_python

_SPLITS_A_TASK = 4
_CORES_OF_CONNECT = 8


def build_sketches_from_files(
    spark: SparkSession,
    paths: str | Sequence[str],
    config: SketchConfig,
    item: str | Sequence[str],
    tick: str,
    site: str | None = None,
    weight: str | None = None,
    *,
    format: str | None = None,
    tasks: int | None = None,
    until: Tick | None = None,
    ahead: Span | None = AHEAD,
    bits: int | None = None,
    radix: int = 16,
    where: Any = None,
) -> DataFrame:
    """Do as `build_sketches`, from files or folders that every worker can open: local, hdfs, s3, gs, fsspec.

    format  "parquet", "csv" (with a header; items and sites are texts; no line breaks in quotes), "json" (an object a
            line), "orc", "arrow", "delta" or "worldcup98". By default names decide: .parquet, .csv, .tsv, .jsonl,
            .orc, .arrow, .feather; a folder with a _delta_log is a Delta table; others are worldcup98
    where   only these rows count: an expression such as pyarrow.compute.field("status") >= 400, pushed into the files
    """
    recipe = with_horizon(make_recipe(config, bits, radix, until), ahead)
    roles = make_roles(config, item, tick, site, weight, bits)
    use_large_batches(spark)
    use_driver_python(spark)
    splits = find_splits(paths, format)
    columns = check_file(splits[0], roles, where)
    roles = roles._replace(kind=kind_of_items(columns, roles))
    recipe = recipe._replace(kind=None if roles.names or roles.numbers or roles.kind == INTEGER else roles.kind)
    text = site is None or not pa.types.is_integer(decoded_type(columns[site]))
    work = assign(splits, tasks or _task_count(spark, splits))
    layout = Layout(_item_types(columns, roles), text, weight is not None)
    partials = _sketch_on_workers(spark, work, roles, recipe, where, layout)
    return unite_partials(partials, recipe, layout, T.StringType() if text else T.LongType())


def _item_types(columns: dict[str, Any], roles: Roles) -> tuple[str, ...]:
    """The types of the items once they are read, as Spark calls them."""
    if roles.numbers or not roles.names:
        return ("bigint",)
    return tuple(type_name(decoded_type(columns[name])) for name in roles.items)


def sketch_splits(
    splits: list[Split], roles: Roles, recipe: Recipe, task: int, where: Any = None, layout: Layout | None = None
) -> Iterator[Part]:
    """Partial sketches of some splits, one after the other."""
    partials = PartialSketches(recipe, task, layout)
    for split in splits:
        try:
            for events in read_events(split, roles, where):
                yield from partials.add(events)
        except (OSError, EOFError, pa.ArrowException) as error:
            raise InputError(f"{split.path}: cannot be read as {split.format}: {error}") from error
    yield from partials.finish()


def _sketch_on_workers(
    spark: SparkSession, work: list[list[Split]], roles: Roles, recipe: Recipe, where: Any, layout: Layout
) -> DataFrame:
    """Partial sketches, from one task for each list of splits."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column("id").to_pylist():
                yield from to_batches(sketch_splits(work[task], roles, recipe, task, where, layout), layout)

    return spark.range(0, len(work), 1, len(work)).mapInArrow(run, partial_schema(layout))


def _task_count(spark: SparkSession, splits: list[Split]) -> int:
    """A task for each core, and more if tasks would otherwise have many splits."""
    try:
        cores = int(spark.sparkContext.defaultParallelism)
    except PySparkException:  # Spark Connect does not say
        cores = _CORES_OF_CONNECT
    return max(cores, -(-sum(split.size for split in splits) // (_SPLITS_A_TASK * SPLIT_BYTES)))
