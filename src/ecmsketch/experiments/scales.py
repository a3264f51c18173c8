"""How large a run is: the events of each experiment at each scale, and the time and disk that it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

from ecmsketch.experiments.data.event_stream import Stream
from ecmsketch.experiments.data.named_streams import stream_name
from ecmsketch.experiments.results import StoredResult
from ecmsketch.experiments.spec import Experiment

PAPER_EVENTS = {"worldcup98-generated": 1_090_000_000, "worldcup98-real": 1_090_000_000, "snmp": 134_000_000}
"""The paper's own numbers of events (section 7.1)."""
ALL_EVENTS = ("figure4", "table3")
"""Experiments that need one pass per seed, and no files: at scale "paper" they get PAPER_EVENTS."""
SITE_EVENTS = ("table4", "figure6")
"""Experiments that write the events of every site to disk once per seed: at scale "paper" they get 20 M."""
EVENTS = {"small": 500_000, "default": 5_000_000, "paper": 5_000_000}
"""The events of all other experiments, whose errors do not depend on how long the stream is."""
SITE_BYTES = 16
"""Bytes on disk per event while a distributed experiment runs; see tests/experiments/test_scales.py."""


def events_at(scale: str, experiment: str, data: str) -> int:
    """The most events that an experiment gets of a stream. Real streams may have fewer."""
    if scale == "paper" and experiment in ALL_EVENTS:
        return PAPER_EVENTS.get(data, EVENTS[scale])
    if scale == "paper" and experiment in SITE_EVENTS:
        return 20_000_000
    return EVENTS[scale]


Plan = list[tuple[Experiment, Stream]]
Opening = Callable[[str, int], Stream]
"""Opens the first events of a stream by its name."""


def plan_runs(
    specs: Iterable[Experiment],
    names: Iterable[str],
    open_stream: Opening,
    scale: str,
    events: int | None = None,
) -> Plan:
    """Every experiment on every stream, then those that make their own events.

    Streams have the events of the scale, or `events` if given. Streams that are equal are opened once.
    """
    opened = cache(open_stream)
    at_scale = [spec.at(scale) for spec in specs]
    given = [
        (spec, opened(name, events or events_at(scale, spec.name, stream_name(name))))
        for name in names
        for spec in at_scale
        if spec.own_stream is None
    ]
    return given + [(spec, spec.own_stream) for spec in at_scale if spec.own_stream is not None]


class Costs(NamedTuple):
    """What a run is expected to take, from equal or similar runs before; and how many have no such run."""

    seconds: float
    known: int
    unknown: int
    disk: int

    def __str__(self) -> str:
        runs = self.known + self.unknown
        disk = f"up to {max(self.disk, 10**7) / 1e9:.2g} GB of disk"
        if not runs:
            return "nothing is left to run"
        count = f"{runs:,} run{'s' * (runs != 1)}"
        whole = max(round(self.seconds / 60), 1)
        minutes = f"about {whole:,} minute{'s' * (whole != 1)}" if self.known else "time unknown"
        missing = f" without {self.unknown} that were never timed" if self.known and self.unknown else ""
        return f"{count}, {minutes}{missing}, {disk}"


def expected_costs(plan: Plan, known: Iterable[StoredResult]) -> Costs:
    """The seconds of runs in `known` that had the same experiment and data, in proportion to events and seeds."""
    results = list(known)
    seconds, timed = 0.0, 0
    for spec, stream in plan:
        similar = [_seconds(result, spec, stream) for result in results if _similar(result, spec, stream)]
        seconds += min(similar, default=0.0)
        timed += bool(similar)
    disk = max((stream.events * SITE_BYTES for spec, stream in plan if spec.distributed), default=0)
    return Costs(seconds, timed, len(plan) - timed, disk)


def _similar(result: StoredResult, spec: Experiment, stream: Stream) -> bool:
    return result.experiment == spec.name and result.data == stream.name


def _seconds(result: StoredResult, spec: Experiment, stream: Stream) -> float:
    key = result.manifest["key"]
    share = stream.events / key["events"] * spec.seeds / key["seeds"]
    return float(result.manifest["seconds"] * share)
