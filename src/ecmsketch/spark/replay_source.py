"""Recorded logs played again as a stream, at a chosen speed, with their original ticks: readStream.format("replay").

Offsets are ticks, so a trigger that is done again after a crash reads the very same events. Options:

path    files or a folder, Parquet or World Cup 98
tick    the column of the time (default "timestamp"): integers, timestamps or dates
unit    what an integer tick is ("s", "ms", ...); without it `speed` and `step` are in ticks
speed   seconds of the log played per second of real time (default 1); "max" plays a `step` per trigger, without waits
step    the most seconds of the log in one trigger (default: all that is due)

Offsets of timestamps and dates are nanoseconds. Rows without a tick are played with the first tick of their split, so
that they can be counted as rejected.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from ecmsketch.errors import InputError
from ecmsketch.inputs.ticks import TICKS_PER_DAY, UNITS
from ecmsketch.spark.column_types import time_unit
from ecmsketch.spark.file_reading import read_fragment, read_records, schema_of
from ecmsketch.spark.file_splits import Split, find_files, find_splits

_BATCH_ROWS = 2**17
_SECONDS_PER_DAY = 86_400


class _Span(NamedTuple):
    """First and last offset of a split; both None if no row has a tick."""

    first: int | None
    last: int | None


class ReplaySource(DataSource):
    """A recorded log as a stream."""

    @classmethod
    def name(cls) -> str:
        """The name of the source: format("replay")."""
        return "replay"

    def schema(self) -> StructType | str:
        """The schema of the first file, in types that Spark takes."""
        split = find_files(_path(self.options), self.options.get("format"))[0]
        if split.format not in ("parquet", "worldcup98"):
            raise InputError(f"replay: expected Parquet or worldcup98 files, got {split.format}")
        return from_arrow_schema(_for_spark(schema_of(split)), prefer_timestamp_ntz=True)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """The reader that readStream uses."""
        return _Reader(dict(self.options), schema)


class _Piece(InputPartition):
    """The events of a split with offsets in (since, until], and those without a tick if `nulls` is true."""

    def __init__(self, split: Split, since: int, until: int, nulls: bool) -> None:
        super().__init__((split, since, until, nulls))


class _Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        self.tick = options.get("tick", "timestamp")
        columns = schema.fieldNames()
        if self.tick not in columns:
            raise InputError(f"replay: there is no column {self.tick!r}; the columns are {', '.join(columns)}")
        self.splits = find_splits(_path(options), options.get("format"))
        found = _for_spark(schema_of(self.splits[0]))
        self.schema = pa.schema([found.field(name) for name in columns])
        second = _offsets_per_second(_tick_type(self.splits[0], self.tick), options.get("unit"))
        speed = options.get("speed", "1")
        self.speed = None if speed == "max" else _number("speed", speed) * second
        self.step = max(int(_number("step", options["step"]) * second), 1) if "step" in options else None
        spans = [_span(split, self.tick) for split in self.splits]
        self.first = min((span.first for span in spans if span.first is not None), default=0)
        self.last = max((span.last for span in spans if span.last is not None), default=0)
        self.spans = [(self.first if first is None else first, last) for first, last in spans]
        self.began: tuple[float, int] | None = None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Make all of the log due, since all of it is recorded."""
        self.speed = None

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The `step` of a trigger, in ticks though Spark calls them rows."""
        return ReadAllAvailable() if self.step is None else ReadMaxRows(self.step)

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """The offset just before the first event."""
        return {"tick": self.first - 1}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        """The offset that is due by now, no later than the end of the log. The first tick is due at once."""
        at, now, end = start["tick"], time.monotonic(), self.last
        if self.speed is None:
            due = end
        else:
            self.began = self.began or (now, at + 1)
            due = self.began[1] + int((now - self.began[0]) * self.speed)
        if self.step is not None and not isinstance(limit, ReadAllAvailable):
            due = min(due, at + self.step)
        return {"tick": max(min(due, end), at)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """The splits that have events between two offsets."""
        since, until = start["tick"], end["tick"]
        return [
            _Piece(split, since, until, since < first <= until)
            for split, (first, last) in zip(self.splits, self.spans, strict=True)
            if since < first <= until or (last is not None and first <= until and last > since)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Batches of one split's events, in bounded memory."""
        split, since, until, nulls = partition.value
        kind = _tick_type(split, self.tick)
        low, high = (_clamped(offset // _scale(kind)) for offset in (since, until))
        for batch in _batches(split, self.schema.names):
            ticks = _counts(batch.column(self.tick))
            due = pc.fill_null(pc.and_(pc.greater(ticks, low), pc.less_equal(ticks, high)), nulls)
            rows = batch.filter(due)
            if rows.num_rows:
                yield _as_spark_has_it(rows, self.schema)


def _batches(split: Split, columns: list[str]) -> Iterator[pa.RecordBatch]:
    read = read_records if split.format == "worldcup98" else read_fragment
    yield from read(split, columns, _BATCH_ROWS)


def _for_spark(schema: Any) -> Any:
    """The types that Spark takes from Arrow: times in microseconds, dates in days, no dictionaries."""

    def taken(kind: Any) -> Any:
        if pa.types.is_dictionary(kind):
            return taken(kind.value_type)
        if pa.types.is_timestamp(kind):
            return pa.timestamp("us", None if kind.tz is None else "UTC")
        return pa.date32() if pa.types.is_date(kind) else kind

    return pa.schema([(field.name, taken(field.type)) for field in schema])


def _as_spark_has_it(batch: Any, schema: Any) -> Any:
    """A batch in the types of a schema."""
    columns = [_cast(batch.column(field.name), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(column: Any, kind: Any) -> Any:
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns" and kind != column.type:
        column = pc.floor_temporal(column, unit="microsecond")
    return column if column.type == kind else column.cast(kind)


def _tick_type(split: Split, tick: str) -> Any:
    """The type of a split's ticks, if they can be played by."""
    schema = schema_of(split)
    kind = schema.field(tick).type if tick in schema.names else None
    known = kind is not None and (
        pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind)
    )  # fmt: skip
    if not known:
        raise InputError(
            f"replay: {split.path}: expected a column {tick!r} of integers, timestamps or dates, got "
            f"{'none' if kind is None else kind}; cast it first"
        )
    return kind


def _scale(kind: Any) -> int:
    """How many offsets one count of a tick column is: times are played in nanoseconds, integers as they are."""
    return 1 if pa.types.is_integer(kind) else TICKS_PER_DAY["ns"] // TICKS_PER_DAY[time_unit(kind)]


def _offsets_per_second(kind: Any, unit: str | None) -> float:
    if not pa.types.is_integer(kind):
        return TICKS_PER_DAY["ns"] / _SECONDS_PER_DAY
    if unit is None:
        return 1
    if unit not in UNITS:
        raise InputError(f"replay: option unit expects one of {', '.join(UNITS)}, got {unit!r}")
    return TICKS_PER_DAY[unit] / _SECONDS_PER_DAY


def _counts(column: Any) -> Any:
    """Ticks as integers: as they are, or since 1970 in the column's own unit."""
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    return column if pa.types.is_integer(column.type) else column.cast(pa.int64())


def _clamped(offset: int) -> int:
    return max(min(offset, 2**63 - 1), -(2**63))


def _span(split: Split, tick: str) -> _Span:
    """First and last offset of a split; from Parquet's statistics where it has them."""
    scale = _scale(_tick_type(split, tick))
    found = _statistics(split, tick) if split.format == "parquet" else None
    if found is None:
        spans = [pc.min_max(_counts(batch.column(0))).as_py() for batch in _batches(split, [tick])]
        found = [value * scale for span in spans for value in span.values() if value is not None]
    return _Span(min(found), max(found)) if found else _Span(None, None)


def _statistics(split: Split, tick: str) -> list[int] | None:
    """Least and largest offset of each row group, or None if some row group does not say."""
    metadata = split.fragment.metadata
    places = [i for i in range(metadata.num_columns) if metadata.schema.column(i).path == tick]
    if len(places) != 1:  # a field of a struct may have the same path as a column with a dot in its name
        return None
    scale = _stored_scale(metadata.schema.column(places[0]))
    if scale is None:
        return None
    found: list[int] = []
    for group in split.fragment.row_groups:
        statistics = metadata.row_group(group.id).column(places[0]).statistics
        if statistics is None or not statistics.has_min_max:
            return None
        found += [statistics.min_raw * scale, statistics.max_raw * scale]
    return found


def _stored_scale(column: Any) -> int | None:
    """How many offsets one count of a Parquet column is: its unit may differ from Arrow's. None: read it to know."""
    if column.physical_type not in ("INT32", "INT64"):
        return None
    kind = json.loads(column.logical_type.to_json())
    if kind["Type"] == "Timestamp":
        return {"milliseconds": 10**6, "microseconds": 10**3, "nanoseconds": 1}.get(kind["timeUnit"])
    if kind["Type"] == "Date":
        return TICKS_PER_DAY["ns"]
    signed = kind["Type"] == "None" or (kind["Type"] == "Int" and kind["isSigned"])
    return 1 if signed else None


def _path(options: Any) -> str:
    if "path" not in options:
        raise InputError("replay: no path was given; use load(path)")
    return str(options["path"])


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise InputError(f"replay: option {name} expects a number above 0, got {text!r}")
    return value
