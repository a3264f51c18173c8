"""Progress of a running query, reported as one line for each trigger."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)  # fmt: skip

from ecmsketch.spark.topic_progress import topic_progress

_METRICS = "ecmsketch"


def observed(sketches: DataFrame) -> DataFrame:
    """The same sketches, with the metrics that a `ProgressListener` reports."""
    return sketches.observe(
        _METRICS,
        F.count(F.lit(1)).alias("sites"),
        *(F.sum(name).alias(name) for name in ("late_counted", "late_dropped", "rejected")),
        F.sum(F.length("sketch")).alias("bytes"),
    )


class ProgressListener(StreamingQueryListener):
    """Reports for every trigger the rows, their rate, the newest event, and what was late or rejected so far."""

    def __init__(self, say: Callable[[str], Any]) -> None:
        self._say = say

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Do nothing: only progress is reported."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Do nothing: only progress is reported."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Do nothing: only progress is reported."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Report a trigger in one line."""
        progress = event.progress
        found = progress.observedMetrics.get(_METRICS)
        counts = found.asDict() if found is not None else {}
        newest = progress.eventTime.get("watermark", "")
        moment = f", newest {datetime.fromisoformat(newest):%Y-%m-%dT%H:%M:%SZ}" if newest > "1971" else ""
        rate = f"{progress.processedRowsPerSecond or 0:,.0f} a second"
        say = [
            f"trigger {progress.batchId}: {progress.numInputRows:,} rows, {rate}{moment}",
            f"{counts.get('sites') or 0} sites changed, {counts.get('bytes') or 0:,} bytes",
            f"late: {counts.get('late_counted') or 0:,} counted, {counts.get('late_dropped') or 0:,} dropped",
            f"rejected: {counts.get('rejected') or 0:,}",
            *(words for source in progress.sources for words in topic_progress(source.endOffset, source.latestOffset)),
        ]
        self._say("; ".join(say))
