"""Any DataFrame of events into one sketch per site."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from ecmsketch.config import SketchConfig
from ecmsketch.errors import ConfigError, InputError
from ecmsketch.loading import load
from ecmsketch.prefix_config import PrefixConfig
from ecmsketch.spark.columns import choose
from ecmsketch.spark.partials import Events, Partial, Recipe, sketch_batches
from ecmsketch.ticks import Tick, to_tick
from ecmsketch.uniting import unite

_BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_DEFAULT_ROWS, _FAST_ROWS = "10000", "100000"


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
    bits: int | None = None,
    radix: int = 16,
) -> DataFrame:
    """One sketch per site: (site, sketch, events, first_tick, last_tick, rejected, reasons).

    `item` is a column of strings, binaries or integers, or several columns whose rows are items. `tick` is a column
    of integers, or of timestamps or dates if the config has a `unit`. Without `site` there is one site, "all".

    A site's events that Spark holds in one task give the very sketch that one process would; pieces that follow each
    other in time add no error; pieces that overlap are merged, which the sketch's `epsilon` then includes. `sort=True`
    sorts by tick first, so that pieces never overlap. Rows that cannot be counted (nulls, negative weights, ticks
    after `until`) are counted in `rejected`, by reason in `reasons`. With `bits`, PrefixSketches of that domain.

    Sets spark.sql.execution.arrow.maxRecordsPerBatch to 100,000 if it is at its default: several times the speed.
    """
    recipe = make_recipe(config, bits, radix, until)
    chosen = choose(events, config, item, tick, site, weight, numbers_only=bits is not None)
    use_large_batches(events.sparkSession)
    ready = chosen.events
    if sort:
        ready = ready.repartitionByRange("tick").sortWithinPartitions("tick")
    read = reader_of(chosen.items, chosen.has_site, chosen.has_weight)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        yield from to_batches(sketch_batches(batches, read, recipe, task), text)

    text = isinstance(chosen.site_type, T.StringType)
    return unite_partials(ready.mapInArrow(work, partial_schema(text)), chosen.site_type)


def make_recipe(config: SketchConfig, bits: int | None, radix: int, until: Tick | None) -> Recipe:
    """What to build, checked before Spark starts."""
    if not isinstance(config, SketchConfig):
        raise ConfigError(f"config: expected a SketchConfig, got {type(config).__name__}")
    if config.model == "count":
        raise ConfigError(
            "model: on Spark events come from many tasks, and only model='time' says in which order; got 'count'"
        )
    if bits is not None:
        PrefixConfig.of(config, bits, radix)
    return Recipe(config, bits, radix, None if until is None else to_tick(until, config.unit))


def use_large_batches(spark: SparkSession) -> None:
    """Larger Arrow batches, unless the user has chosen a size."""
    if spark.conf.get(_BATCH_ROWS, _DEFAULT_ROWS) == _DEFAULT_ROWS:
        spark.conf.set(_BATCH_ROWS, _FAST_ROWS)


def unite_partials(partials: DataFrame, site_type: T.DataType) -> DataFrame:
    """Partial sketches of each site into one."""
    schema = partials.schema
    united = partials.groupBy("site").applyInArrow(_unite, schema)
    reasons = united.selectExpr(
        "site", "sketch", "events", "first_tick", "last_tick",
        "aggregate(map_values(reasons), 0L, (a, b) -> a + b) as rejected", "reasons",
    )  # fmt: skip
    return reasons.withColumn("site", reasons["site"].cast(site_type))


def partial_schema(text: bool) -> str:
    """Of the partials' rows; sites are texts or integers."""
    site = "string" if text else "bigint"
    return (
        f"site {site}, sketch binary, events bigint, first_tick bigint, last_tick bigint, reasons map<string, bigint>"
    )


def to_batches(partials: Iterator[Partial], text: bool, rows: int = 64) -> Iterator[pa.RecordBatch]:
    """Partials as Arrow, some at a time."""
    gathered: list[Partial] = []
    for partial in partials:
        gathered.append(partial)
        if len(gathered) == rows:
            yield _to_batch(gathered, text)
            gathered = []
    if gathered:
        yield _to_batch(gathered, text)


def _to_batch(partials: list[Partial], text: bool) -> pa.RecordBatch:
    arrays = [
        pa.array([partial.site for partial in partials], pa.string() if text else pa.int64()),
        pa.array([partial.sketch for partial in partials], pa.binary()),
        *(
            pa.array([getattr(partial, name) for partial in partials], pa.int64())
            for name in ("events", "first_tick", "last_tick")
        ),
        pa.array([list(partial.reasons.items()) for partial in partials], pa.map_(pa.string(), pa.int64())),
    ]
    return pa.RecordBatch.from_arrays(arrays, names=["site", "sketch", "events", "first_tick", "last_tick", "reasons"])


def _unite(group: pa.Table) -> pa.Table:
    """All pieces of one site as one row."""
    reasons: dict[str, int] = {}
    for found in group["reasons"].to_pylist():
        for reason, count in found:
            reasons[reason] = reasons.get(reason, 0) + count
    pieces = [piece for piece in group["sketch"].to_pylist() if piece is not None]
    ticks = [tick for name in ("first_tick", "last_tick") for tick in group[name].to_pylist() if tick is not None]
    row = {
        "site": group["site"][:1],
        "sketch": pa.array([_unite_bytes(pieces)], pa.binary()),
        "events": pa.array([sum(group["events"].to_pylist())], pa.int64()),
        "first_tick": pa.array([min(ticks, default=None)], pa.int64()),
        "last_tick": pa.array([max(ticks, default=None)], pa.int64()),
        "reasons": pa.array([sorted(reasons.items())], pa.map_(pa.string(), pa.int64())),
    }
    return pa.table(row)


def _unite_bytes(pieces: list[bytes]) -> bytes | None:
    if len(pieces) < 2:
        return pieces[0] if pieces else None
    return unite([load(piece) for piece in pieces]).serialize()


def reader_of(items: list[str], has_site: bool, has_weight: bool) -> Callable[[Any], Events]:
    """Events from a batch of the chosen columns."""

    def read(batch: Any) -> Events:
        columns = {name: batch.column(name) for name in items}
        return Events(
            columns[items[0]] if len(items) == 1 else columns,
            batch.column("tick"),
            batch.column("site") if has_site else None,
            batch.column("weight") if has_weight else None,
        )

    return read


def check_columns(have: Sequence[str], wanted: dict[str, str | None]) -> None:
    """An error that names the column that is missing."""
    for role, name in wanted.items():
        if name is not None and name not in have:
            raise InputError(f"{role}: there is no column {name!r}; the columns are {', '.join(sorted(have))}")
