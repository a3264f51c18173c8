"""What a user would pick instead of this library: memory and cost per event as the window grows.

Two sweeps: one over the number of events, all of them in the window, and one over the window of a stream of fixed
length, so that most events expire. Peers that are not installed are reported as such; `pip install 'ecmsketch[peers]'`
installs them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

import numpy as np

from ecmsketch.experiments.beyond import peer_builders
from ecmsketch.experiments.beyond.engine_settings import COARSE, ENGINES
from ecmsketch.experiments.beyond.peer_feed import Built, Feed
from ecmsketch.experiments.data.synthetic import SYNTHETIC
from ecmsketch.experiments.spec import Context, Experiment, Row

ONE_BY_ONE = "ecmsketch slices, one call per event"
EMPTY = dict.fromkeys(("ns_per_event", "memory_bytes", "ask_us", "avg_error", "max_error"), "")


class Candidate(NamedTuple):
    """A peer to measure: its name, its package, how to build it from a feed, and the longest feed it gets."""

    name: str
    package: str
    build: Callable[[Feed], Built]
    most: int
    whole_window: bool = False
    """Whether it answers for the whole window only."""


def run(spec: Experiment, context: Context) -> list[Row]:
    """A row for every peer, sweep and size."""
    parameters = spec.parameters
    rows = []
    for candidate in _candidates(spec, context):
        state, release = _state(context, candidate)
        for sweep, events, window in _sizes(spec, candidate.most):
            row: Row = {
                "sweep": sweep, "peer": candidate.name, "version": release, "state": state, "events": events,
                "window": window,
            }  # fmt: skip
            if state == "measured":
                context.say(f"{candidate.name}: {events:,} events, window {window:,}")
                feed = Feed(events, window, parameters["batch"], context.seed)
                row |= _measure(feed, candidate)
            rows.append({**EMPTY, **row})
    return rows


def _candidates(spec: Experiment, context: Context) -> list[Candidate]:
    most, per_call = spec.parameters["most_ours"], spec.parameters["most_one_by_one"]
    ours = [
        Candidate(f"ecmsketch {engine.name}", "ecmsketch", partial(_ours, spec, engine.name), most)
        for engine in ENGINES
    ]  # fmt: skip
    return [
        *ours,
        Candidate(ONE_BY_ONE, "ecmsketch", partial(_ours, spec, COARSE.name, one_by_one=True), per_call),
        Candidate("probstructs ECM", "probstructs", partial(_of_table, "build_probstructs", spec), per_call),
        Candidate("datasketches Count-Min panes", "datasketches", partial(_of_table, "build_panes", spec), per_call),
        Candidate("DuckDB, exact", "duckdb", peer_builders.build_duckdb, spec.parameters["most_duckdb"]),
        Candidate(
            "Spark windows, exact", "pyspark", partial(peer_builders.build_spark_windows, context.spark),
            spec.parameters["most_spark"], whole_window=True,
        ),
    ]  # fmt: skip


def _ours(spec: Experiment, name: str, feed: Feed, one_by_one: bool = False) -> Built:
    (engine,) = [engine for engine in ENGINES if engine.name == name]
    config = engine.config(spec.parameters["epsilon"], spec.parameters["delta"], feed.seed, window=feed.window)
    return peer_builders.build_ours(config, feed, one_by_one)


def _of_table(builder: str, spec: Experiment, feed: Feed) -> Built:
    """A peer with the table of our coarse slices: all of epsilon is for collisions."""
    config = COARSE.config(spec.parameters["epsilon"], spec.parameters["delta"], feed.seed, window=feed.window)
    built: Built = getattr(peer_builders, builder)(config, feed)
    return built


def _state(context: Context, candidate: Candidate) -> tuple[str, str]:
    try:
        release = version(candidate.package)
        import_module(candidate.package)
    except (PackageNotFoundError, ImportError):
        return "not installed", ""
    if candidate.package == "pyspark" and context.spark is None:
        return "no Spark session", release
    return "measured", release


def _sizes(spec: Experiment, most: int) -> list[tuple[str, int, int]]:
    """The sweep, the events and the window of each measurement."""
    longest = min(spec.parameters["stream"], most)
    grow = [("events", events, events) for events in spec.parameters["sizes"] if events <= most]
    return grow + [("window", longest, window) for window in spec.parameters["windows"] if window <= longest]


def _measure(feed: Feed, candidate: Candidate) -> Row:
    built = candidate.build(feed)
    last = feed.window if candidate.whole_window else max(feed.window // 2, 1)
    asked, times, answers = feed.asked(), [], []
    for item in asked.tolist()[: 10 if candidate.whole_window else None]:
        begin = time.perf_counter()
        answers.append(built.ask(item, last))
        times.append(time.perf_counter() - begin)
    errors = np.abs(np.array(answers) - feed.exact(asked, last)[: len(answers)]) / last
    return {
        "ns_per_event": 1e9 * built.seconds / feed.events, "memory_bytes": built.memory or "",
        "ask_us": 1e6 * float(np.median(times)), "avg_error": float(errors.mean()), "max_error": float(errors.max()),
    }  # fmt: skip


PEERS = Experiment(
    name="peers",
    title="Peers: what one would pick instead",
    paper="no such table",
    parameters={
        "epsilon": 0.01,
        "delta": 0.1,
        "batch": 100_000,
        "sizes": tuple(10**i for i in range(4, 10)),
        "most_ours": 10_000_000,
        "most_duckdb": 10_000_000,
        "most_one_by_one": 1_000_000,
        "most_spark": 10_000,
        "stream": 1_000_000,
        "windows": (1000, 10_000, 100_000, 1_000_000),
    },
    columns=("sweep", "peer", "version", "state", "events", "window", *EMPTY),
    run=run,
    distributed=True,
    seeds=3,
    own_stream=SYNTHETIC,
    scales={
        "small": {
            "seeds": 1, "most_ours": 1_000_000, "most_duckdb": 1_000_000, "most_one_by_one": 100_000, "most_spark": 0,
        },
        "paper": {"most_ours": 10**9, "most_duckdb": 10**8},
    },
)  # fmt: skip
