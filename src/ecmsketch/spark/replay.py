"""Recorded logs played again as a stream: spark.readStream.format("replay"), at a chosen speed, with original ticks.

Offsets are ticks, so a trigger that is done again after a crash reads the very same events. Options:

path    files or a folder, Parquet or World Cup 98
tick    the column of the time, of integers (default "timestamp")
speed   ticks played per second of real time (default 1); "max" plays `step` ticks per trigger, as fast as they go
step    ticks per trigger at most (default: all that is due)
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from ecmsketch import worldcup98
from ecmsketch.errors import InputError
from ecmsketch.spark.files import Split, find_splits, open_filesystem, open_stream

_BATCH_ROWS = 2**17


class ReplaySource(DataSource):
    """A log as a stream."""

    @classmethod
    def name(cls) -> str:
        """As in format("replay")."""
        return "replay"

    def schema(self) -> StructType | str:
        """That of the files."""
        split = find_splits(_path(self.options), self.options.get("format"))[0]
        if split.format == "worldcup98":
            return ", ".join(f"{name} bigint" for name in worldcup98.FIELDS)
        if split.format != "parquet":
            raise InputError(f"replay: expected Parquet or worldcup98 files, got {split.format}")
        filesystem, inside = open_filesystem(split.path)
        with filesystem.open_input_file(inside) as file:
            return from_arrow_schema(pq.read_schema(file))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """For readStream."""
        return _Reader(dict(self.options), schema.fieldNames())


class _Piece(InputPartition):
    """The events of a split with ticks in (since, until]."""

    def __init__(self, split: Split, since: int, until: int) -> None:
        super().__init__((split, since, until))


class _Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: dict[str, str], columns: Sequence[str]) -> None:
        self.tick = options.get("tick", "timestamp")
        if self.tick not in columns:
            raise InputError(f"replay: there is no column {self.tick!r}; the columns are {', '.join(columns)}")
        self.columns = list(columns)
        speed = options.get("speed", "1")
        self.speed = None if speed == "max" else _number("speed", speed)
        self.step = int(_number("step", options["step"])) if "step" in options else None
        self.splits = find_splits(_path(options), options.get("format"))
        self.spans = [_span(split, self.tick) for split in self.splits]
        self.began: tuple[float, int] | None = None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """All of the log is recorded, so all of it is available."""
        self.speed = None

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """`step`, though in ticks and not in rows."""
        return ReadAllAvailable() if self.step is None else ReadMaxRows(self.step)

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Just before the first event."""
        return {"tick": min(first for first, _ in self.spans) - 1}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        """As far as the clock has come, and no further than the log goes."""
        at, now = start["tick"], time.monotonic()
        end = max(last for _, last in self.spans)
        if self.speed is None:
            due = end
        else:
            self.began = self.began or (now, at)
            due = self.began[1] + int((now - self.began[0]) * self.speed)
        if self.step is not None and not isinstance(limit, ReadAllAvailable):
            due = min(due, at + self.step)
        return {"tick": max(min(due, end), at)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """The splits that have events between the two."""
        since, until = start["tick"], end["tick"]
        touched = zip(self.splits, self.spans, strict=True)
        return [_Piece(split, since, until) for split, (first, last) in touched if first <= until and last > since]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Events of one split, in bounded memory."""
        split, since, until = partition.value
        for batch in _batches(split, self.columns):
            ticks = batch.column(self.tick)
            due = batch.filter(pc.and_(pc.greater(ticks, since), pc.less_equal(ticks, until)))
            if due.num_rows:
                yield due


def _batches(split: Split, columns: list[str]) -> Iterator[pa.RecordBatch]:
    if split.format == "worldcup98":
        with open_stream(split.path) as stream:
            for records in worldcup98.read_batches(stream, _BATCH_ROWS, split.begin, split.end):
                found = worldcup98.to_columns(records)
                yield pa.RecordBatch.from_arrays([pa.array(found[name]) for name in columns], names=columns)
        return
    filesystem, inside = open_filesystem(split.path)
    with filesystem.open_input_file(inside) as source, pq.ParquetFile(source) as file:
        groups = list(range(split.begin, split.end or 0))
        yield from file.iter_batches(_BATCH_ROWS, groups, columns, use_threads=False)


def _span(split: Split, tick: str) -> tuple[int, int]:
    """First and last tick of a split; from Parquet's statistics where it has them."""
    if split.format == "parquet":
        filesystem, inside = open_filesystem(split.path)
        with filesystem.open_input_file(inside) as source:
            metadata = pq.read_metadata(source)
        place = metadata.schema.to_arrow_schema().get_field_index(tick)
        statistics = [metadata.row_group(i).column(place).statistics for i in range(split.begin, split.end or 0)]
        if statistics and all(found is not None and found.has_min_max for found in statistics):
            return min(found.min for found in statistics), max(found.max for found in statistics)
    spans = [pc.min_max(batch.column(0)).as_py() for batch in _batches(split, [tick])]
    ticks = [value for span in spans for value in span.values() if value is not None]
    return (min(ticks), max(ticks)) if ticks else (0, -1)


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
