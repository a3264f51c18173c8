"""The World Cup 98 log as a Spark data source: spark.read.format("worldcup98").load(folder).

One partition per file. Filters are not pushed down (in Spark 4.3.0 they leak between uses of one DataFrame); options
cut what is read instead: `servers` ("0,32,64") and `since`, `until` (epoch seconds, both included).
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ecmsketch import worldcup98
from ecmsketch.errors import InputError
from ecmsketch.spark.file_opening import open_stream
from ecmsketch.spark.file_splits import find_files
from ecmsketch.spark.workers import use_driver_python


class _File(InputPartition):
    def __init__(self, path: str) -> None:
        super().__init__(path)


class WorldCup98Source(DataSource):
    """The log as a data source. All columns are bigint, the fastest type to hand to Python."""

    @classmethod
    def name(cls) -> str:
        """The name of the source: format("worldcup98")."""
        return "worldcup98"

    def schema(self) -> str:
        """The columns: one for each field of a record."""
        return ", ".join(f"{name} bigint" for name in worldcup98.FIELDS)

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader that spark.read uses."""
        return _Reader(dict(self.options))


class _Reader(DataSourceReader):
    def __init__(self, options: dict[str, str]) -> None:
        if "path" not in options:
            raise InputError("worldcup98: no path was given; use load(path)")
        self.path = options["path"]
        self.servers = [_integer("servers", part) for part in options.get("servers", "").split(",") if part.strip()]
        self.since = _integer("since", options["since"]) if "since" in options else None
        self.until = _integer("until", options["until"]) if "until" in options else None

    def partitions(self) -> list[InputPartition]:
        """The partitions: one for each file."""
        return [_File(file.path) for file in find_files(self.path, "worldcup98")]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Batches of a file's records, in bounded memory."""
        with open_stream(partition.value) as stream:
            for records in worldcup98.read_batches(stream):
                columns, names = worldcup98.to_columns(records), list(worldcup98.FIELDS)
                batch = pa.RecordBatch.from_arrays([pa.array(columns[name]) for name in names], names=names)
                yield self._wanted(batch)

    def _wanted(self, batch: Any) -> Any:
        import pyarrow.compute as pc

        if self.servers:
            batch = batch.filter(pc.is_in(batch.column("server"), pa.array(self.servers)))
        if self.since is not None:
            batch = batch.filter(pc.greater_equal(batch.column("timestamp"), self.since))
        if self.until is not None:
            batch = batch.filter(pc.less_equal(batch.column("timestamp"), self.until))
        return batch


def register_sources(spark: SparkSession) -> None:
    """Make format("worldcup98") and format("replay") known to a session. The second needs Spark 4.2 or newer."""
    use_driver_python(spark)
    spark.dataSource.register(WorldCup98Source)
    if find_spec("pyspark.sql.streaming.datasource") is not None:
        from ecmsketch.spark.replay_source import ReplaySource

        spark.dataSource.register(ReplaySource)


def _integer(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"worldcup98: option {name} expects whole numbers, got {text!r}") from None
