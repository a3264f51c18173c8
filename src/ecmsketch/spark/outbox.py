"""The coordinator's messages to sites: a file for each trigger, read by the monitor's own query as a stream.

Spark's file source lists its files once when a query with trigger(availableNow=True) starts, so that answers written
during the run would never be read. This source looks again before every trigger, so a run ends when no message is
left. The driver reads the files, and the messages travel with the tasks. Files are deleted once their trigger is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from ecmsketch.spark.trigger_files import TriggerFiles


class OutboxSource(DataSource):
    """Messages as rows (site, message)."""

    @classmethod
    def name(cls) -> str:
        """The name of the source: format("ecmsketch_outbox")."""
        return "ecmsketch_outbox"

    def schema(self) -> str:
        """The columns: the site that a message is for, and its bytes."""
        return "site string, message binary"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """The reader that readStream uses."""
        return OutboxReader(self.options["path"])


class OutboxReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are the numbers of triggers whose messages are read."""

    def __init__(self, folder: str) -> None:
        self._files = TriggerFiles(folder)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Do nothing: answers to this run's own reports belong to the run, so no end is fixed."""

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """The offset before the first trigger."""
        return {"number": -1}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        """The number of the newest file."""
        return {"number": max([start["number"], *self._files.numbers()])}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """All messages between two offsets, read in the driver."""
        wanted = [number for number in self._files.numbers() if start["number"] < number <= end["number"]]
        rows = [row for number in wanted for row in self._files.read(number)]
        return [InputPartition([(row["site"], row["message"]) for row in rows])]

    def read(self, partition: InputPartition) -> Iterator[tuple[str, bytes]]:
        """The messages themselves."""
        yield from partition.value

    def commit(self, end: dict[str, int]) -> None:
        """Delete the messages of triggers that are done: they are not needed again."""
        for number in self._files.numbers():
            if number <= end["number"]:
                self._files.delete(number)
