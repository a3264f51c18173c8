"""What a user would pick instead of this library, on the same events in one run.

Peers that are not installed are reported as such; `pip install 'ecmsketch[peers]'` installs them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from ecmsketch.experiments.beyond.peer_builders import (
    Peer,
    build_duckdb,
    build_ours,
    build_panes,
    build_probstructs,
    build_spark_windows,
)
from ecmsketch.experiments.data.event_stream import StreamBatch, newest_events, stream_of_arrays
from ecmsketch.experiments.data.exact_counts import count_exactly
from ecmsketch.experiments.paper.accuracy import observe_points, overall
from ecmsketch.experiments.spec import Context, Experiment, Row


class Candidate(NamedTuple):
    """A peer to measure: its name, its package, the ranges it answers, how to build it, and the events it gets."""

    name: str
    package: str
    answers: str
    build: Callable[[], Peer]
    events: StreamBatch


def run(spec: Experiment, context: Context) -> list[Row]:
    """A row for every peer."""
    events = newest_events(context.stream, spec.parameters["events"])
    last = slice(-spec.parameters["spark_events"], None)
    few = StreamBatch(events.items[last], events.ticks[last], events.sites[last])
    candidates = [
        Candidate("ecmsketch", "ecmsketch", "any range", lambda: build_ours(spec, context, events), events),
        Candidate(
            "probstructs ECM", "probstructs", "any range", lambda: build_probstructs(spec, context, events), events
        ),
        Candidate(
            "datasketches Count-Min panes", "datasketches", "whole panes", lambda: build_panes(spec, context, events),
            events,
        ),
        Candidate("DuckDB, exact", "duckdb", "any range, exactly", lambda: build_duckdb(events), events),
        Candidate(
            "Spark windows, exact", "pyspark", "one range, fixed in advance",
            lambda: build_spark_windows(context.spark, few), few,
        ),
    ]  # fmt: skip
    return [_row(context, candidate) for candidate in candidates]


def _row(context: Context, candidate: Candidate) -> Row:
    count = len(candidate.events.ticks)
    row: Row = {
        "peer": candidate.name, "version": "", "state": "measured", "answers": candidate.answers, "events": count,
    }  # fmt: skip
    empty = dict.fromkeys(("build_s", "events_per_s", "memory_bytes", "queries", "ask_s", "avg_error", "max_error"), "")
    try:
        row["version"] = version(candidate.package)
        import_module(candidate.package)
    except (PackageNotFoundError, ImportError):
        return row | {"state": "not installed"} | empty
    if candidate.package == "pyspark" and context.spark is None:
        return row | {"state": "no Spark session"} | empty
    context.say(candidate.name)
    return row | _measure(context, candidate)


def _measure(context: Context, candidate: Candidate) -> Row:
    peer = candidate.build()
    stream = stream_of_arrays("peers", context.stream.real, "", *candidate.events)
    begin, parts = time.perf_counter(), []
    for truth in count_exactly(stream):
        answer = peer.answer(truth)
        if answer is not None:
            parts.append(observe_points(answer, truth))
    found = overall(parts)
    return {
        "build_s": peer.seconds, "events_per_s": stream.events / peer.seconds, "memory_bytes": peer.memory or "",
        "queries": found.queries, "ask_s": time.perf_counter() - begin, "avg_error": found.average,
        "max_error": found.worst,
    }  # fmt: skip


PEERS = Experiment(
    name="peers",
    title="Peers: what one would pick instead",
    paper="no such table",
    parameters={"epsilon": 0.01, "delta": 0.1, "events": 500_000, "spark_events": 20_000},
    columns=(
        "peer", "version", "state", "answers", "events", "build_s", "events_per_s", "memory_bytes", "queries", "ask_s",
        "avg_error", "max_error",
    ),
    run=run,
    distributed=True,
)  # fmt: skip
