"""Sketches from any DataFrame of events, one per site."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from ecmsketch.config import SketchConfig
from ecmsketch.inputs.ticks import Span, Tick
from ecmsketch.spark.arrow_batches import reader_of, use_large_batches
from ecmsketch.spark.event_columns import Chosen, choose, hashed_kind
from ecmsketch.spark.partial_rows import partial_schema, to_batches, unite_partials
from ecmsketch.spark.partials import sketch_batches
from ecmsketch.spark.reading_ahead import read_ahead
from ecmsketch.spark.recipe import AHEAD, Recipe, make_recipe, with_horizon
from ecmsketch.spark.sent_events import Layout
from ecmsketch.spark.workers import use_driver_python


def build_sketches(
    events: DataFrame,
    config: SketchConfig,
    item: str | Sequence[str],
    tick: str,
    site: str | None = None,
    weight: str | None = None,
    *,
    sort: bool = False,
    until: Tick | None = None,
    ahead: Span | None = AHEAD,
    bits: int | None = None,
    radix: int = 16,
) -> DataFrame:
    """One sketch per site: (site, sketch, events, first_tick, last_tick, rejected, reasons).

    `item` is a column of strings, binaries or integers, or several columns whose rows are items. `tick` is a column
    of integers, or of timestamps or dates if the config has a `unit`. Without `site` there is one site, "all".

    A site's events that Spark holds in one task give the very sketch that one process would; pieces that follow each
    other in time add no error; pieces that overlap are merged, which the sketch's `epsilon` then includes. `sort=True`
    sorts by tick first, so that pieces never overlap. Rows that cannot be counted (docs/spark.md lists the reasons) are
    counted in `rejected`, by reason in `reasons`: among them ticks after `until` and, if the config has a `unit`, ticks
    more than `ahead` (default: a day; None: no limit) after the time of this call. With `bits`, PrefixSketches.

    Lifts spark.sql.execution.arrow.maxBytesPerBatch if it is at its default, which takes Spark much time (decision 35).
    """
    recipe = with_horizon(make_recipe(config, bits, radix, until), ahead)  # says what is wrong with the config
    chosen = choose(events, config, item, tick, site, weight, numbers_only=bits is not None)
    recipe = recipe._replace(kind=hashed_kind(events, config, item))
    use_large_batches(events.sparkSession)
    use_driver_python(events.sparkSession)
    if sort:
        chosen = chosen._replace(events=chosen.events.repartitionByRange("tick").sortWithinPartitions("tick"))
    types = tuple(chosen.events.schema[name].dataType.simpleString() for name in chosen.items)
    layout = Layout(types, isinstance(chosen.site_type, T.StringType), weight is not None)
    return unite_partials(_sketch_on_workers(chosen, recipe, layout), recipe, layout, chosen.site_type)


def _sketch_on_workers(chosen: Chosen, recipe: Recipe, layout: Layout) -> DataFrame:
    """Partial sketches of each of Spark's partitions."""
    read = reader_of(chosen.items, chosen.has_site, chosen.has_weight, chosen.size)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        yield from to_batches(sketch_batches(read_ahead(batches), read, recipe, task, layout), layout)

    return chosen.events.mapInArrow(work, partial_schema(layout))
