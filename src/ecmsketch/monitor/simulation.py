"""Replays recorded streams through real sites and a real coordinator, and counts what they say to each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.errors import InputError
from ecmsketch.monitor.alert import Alert
from ecmsketch.monitor.changes_coordinator import ChangesCoordinator
from ecmsketch.monitor.channel import Channel, Post
from ecmsketch.monitor.coordinator import Coordinator
from ecmsketch.monitor.events import Events, ExactWindow, Observed
from ecmsketch.monitor.messages import message_kind
from ecmsketch.monitor.site import Site
from ecmsketch.monitor.standings import item_standing, vector_standing
from ecmsketch.monitor.synchronising import Synchronising
from ecmsketch.monitor.vector_site import VectorSite
from ecmsketch.monitor.watch import Watch

_COORDINATOR = ""
_MOST_STEPS = 512
"""The longest period of synchronising that is tried, in checks."""


class Outage(NamedTuple):
    """A site does nothing from a tick to before another; what it should have observed, it observes afterwards."""

    site: str
    begin: int
    end: int


class Moment(NamedTuple):
    """How things stand after one step. `settled` means that the guarantee must hold: nothing is being resolved."""

    tick: int
    settled: bool
    missed: bool
    value: float
    region: int
    truth: float
    known_value: float
    known_region: int
    messages: int
    bytes: int
    syncs: int


@dataclass
class Simulation:
    """What happened. Columns of `moments` by name: simulation.column("value").

    messages, bytes  sent, by kind: report, request, sync, balance, recall; what the channel doubles counts once
    moments          after every step: `value` and `region` are of the sites' own vectors, `truth` of the exact
                     frequencies, `known_value` and `known_region` are the coordinator's
    synchronising    what synchronising would have taken, if baselines were asked for
    """

    watch: Watch
    sites: int
    every: int
    messages: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)
    moments: list[Moment] = field(default_factory=list)
    alerts: list[Alert] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    synchronising: Synchronising = field(default_factory=lambda: Synchronising(1, 0))

    def column(self, name: str) -> NDArray[Any]:
        """One column of the moments."""
        return np.array([getattr(moment, name) for moment in self.moments])

    @property
    def missed(self) -> int:
        """Steps that break the guarantee: nothing was being resolved, and yet the coordinator was wrong."""
        return int(self.column("missed").sum())

    @property
    def settled(self) -> int:
        """Steps at which nothing was being resolved."""
        return int(self.column("settled").sum())

    @property
    def lag(self) -> int:
        """The longest that the coordinator's region was not that of the sites' vectors, in ticks."""
        return longest(self.column("region") != self.column("known_region")) * self.every


def longest(wrong: NDArray[np.bool_]) -> int:
    """The longest run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], wrong.astype(np.int8), [0]])))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def simulate(
    watch: Watch,
    events: Events,
    *,
    every: int,
    until: int | None = None,
    channel: Channel | None = None,
    outages: Iterable[Outage] = (),
    sites: Iterable[str] = (),
    truth: bool = False,
    baselines: bool = False,
) -> Simulation:
    """Replay events. Every `every` ticks all sites observe what has come, move their clocks and check.

    It ends at `until`, by default when everything has left the window.

    sites      names of sites beyond those in the events
    truth      also compute the exact value at every step
    baselines  also count the bytes that synchronising all sites would take, for many periods
    """
    names = [str(name) for name in (*events.site_names, *sites)]
    last = watch.last or 0
    until = int(events.ticks[-1]) + last + every if until is None else until
    places: dict[str, Site] = {name: Site(name, watch) for name in names}
    run = _Run(watch, places, every, channel or Channel(), list(outages), baselines)
    exact = ExactWindow(events, last, 1.0 if watch.combine == "sum" else 1 / len(names)) if truth else None
    waiting: list[Observed] = []
    for tick, where in events.steps(every, until):
        waiting = _observe(run, places, tick, [*waiting, *events.batches(where)])
        run.finish_step(tick, None if exact is None else _truth(watch, exact, tick))
    return run.simulation


def _truth(watch: Watch, exact: ExactWindow, tick: int) -> float:
    exact.move(tick)
    return watch.function.exact(exact)


def _observe(run: _Run, places: Mapping[str, Site], tick: int, batches: list[Observed]) -> list[Observed]:
    """Let all sites that are up observe their batches and check; returns the batches of those that are down."""
    down = run.down(tick)
    for batch in batches:
        if batch.site not in down:
            places[batch.site].observe(batch.items, batch.ticks, batch.weights, batch.stream, check=False)
    for name, site in places.items():
        if name not in down:
            run.send(tick, site.tick(tick))
    return [batch for batch in batches if batch.site in down]


def simulate_vectors(
    watch: Watch, vectors: Any, *, channel: Channel | None = None, baselines: bool = False
) -> Simulation:
    """Replay vectors, given as rounds x sites x the shape of the function's vector; a round takes one tick."""
    vectors = np.asarray(vectors, np.float64)
    if vectors.ndim < 3:
        raise InputError(f"vectors: expected rounds x sites x the shape of a vector, got shape {vectors.shape}")
    places = {f"{number}": VectorSite(f"{number}", watch) for number in range(vectors.shape[1])}
    run = _Run(watch, places, 1, channel or Channel(), [], baselines)
    for tick, now in enumerate(vectors):
        for site, vector in zip(places.values(), now, strict=True):
            run.send(tick, site.check(vector, tick))
        run.finish_step(tick, None)
    return run.simulation


class _Run:
    """A simulation under way: the coordinator, the sites, and what is sent between them."""

    def __init__(
        self,
        watch: Watch,
        places: Mapping[str, VectorSite],
        every: int,
        channel: Channel,
        outages: list[Outage],
        baselines: bool,
    ) -> None:
        self._watch, self._places, self._outages = watch, places, outages
        self._coordinator = Coordinator(watch, places)
        self._post = Post(channel)
        self.simulation = Simulation(watch, len(places), every)
        self.simulation.synchronising = Synchronising(every, _MOST_STEPS if baselines else 0)
        self.simulation.alerts, self.simulation.counts = self._coordinator.alerts, self._coordinator.counts

    def down(self, tick: int) -> set[str]:
        return {outage.site for outage in self._outages if outage.begin <= tick < outage.end}

    def send(self, tick: int, data: list[bytes], receiver: str = _COORDINATOR) -> None:
        for message in data:
            kind = message_kind(message)
            self.simulation.messages[kind] += 1
            self.simulation.bytes[kind] += len(message)
            self._post.send(tick, receiver, message)

    def finish_step(self, tick: int, truth: float | None) -> None:
        self._exchange(tick)
        for name, message in self._coordinator.tick(tick):
            self.send(tick, [message], name)
        self._exchange(tick)
        self.simulation.moments.append(self._moment(tick, truth))
        self.simulation.synchronising.step(self._places, tick)

    def _exchange(self, tick: int) -> None:
        """Deliver messages and send the answers, until nothing more arrives at this tick."""
        down = self.down(tick)
        while arrived := self._post.arrived(tick):
            reports = [message for receiver, message in arrived if receiver == _COORDINATOR]
            for receiver, message in arrived:
                if receiver != _COORDINATOR and receiver not in down:
                    self.send(tick, self._places[receiver].receive(message))
            if reports:
                for name, message in self._coordinator.receive(*reports):
                    self.send(tick, [message], name)

    def _moment(self, tick: int, truth: float | None) -> Moment:
        coordinator, simulation = self._coordinator, self.simulation
        present = {name: site for name, site in self._places.items() if name not in coordinator.missing}
        standing = (item_standing if self._watch.function.per_item else vector_standing)(coordinator, present)
        synchronised = all(site.synchronised for site in present.values())
        settled = synchronised and not coordinator.syncing and not (self.down(tick) & present.keys())
        if isinstance(coordinator, ChangesCoordinator) and coordinator.mode == "changes":
            settled = settled and (self._watch.patience is not None or not self._post.under_way(_COORDINATOR))
        return Moment(
            tick,
            settled,
            settled and not standing.right,
            standing.value,
            standing.region,
            np.nan if truth is None else truth,
            np.nan if coordinator.value is None else coordinator.value,
            -1 if coordinator.region is None else coordinator.region,
            simulation.messages.total(),
            simulation.bytes.total(),
            coordinator.counts["syncs"],
        )
