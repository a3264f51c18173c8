"""A generated World Cup 98 web log: days, hours and servers as in the real log, requests made up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.errors import ConfigError
from ecmsketch.generate import facts
from ecmsketch.generate.lottery import draw_tickets, make_tickets
from ecmsketch.generate.timeline import Ints, SlicedLog, Timeline
from ecmsketch.generate.zipf import Zipf
from ecmsketch.kernels.hashing import mix, to_fraction
from ecmsketch.worldcup98 import NO_SIZE, RECORD, SERVERS, STATUSES

_VISITORS, _VISIT = 1_050, 40_000
"""The number of clients present at any time, and the number of requests (of all clients) after which each has left."""
_OBJECT_SEED = 1998
_OWN_SIZE = NO_SIZE - 1
"""Marks a response that has the size of its object, because the whole object was sent."""


@dataclass(frozen=True)
class WorldCupLog(SlicedLog):
    """A generated log of exactly `events` requests over `days` days, beginning with `day` (1 is 26 April 1998).

    These follow the real log: the share of each day, its course in steps of ten minutes, and the shares of the servers
    in each of the log's 245 files. Everything else is drawn at random. Objects follow a Zipf-Mandelbrot law that was
    fitted to real requests of day 50, and keep their popularity. Clients, as many as the real log had until day 50,
    come for short visits. The other fields are as frequent as in 10,000 real records. Logs with different seeds have
    the same objects, each with the same popularity, type and size.
    """

    events: int
    seed: int = 0
    day: int = 50
    days: int = 1
    objects: int = 89_997
    exponent: float = 2.5
    shift: float = 140.0
    clients: int = 1_815_618
    all_servers: bool = False
    """Whether to use all 33 servers, by their shares of the whole log. No real day had more than 30."""

    def __post_init__(self) -> None:
        self._check_settings(days=self.days, objects=self.objects, clients=self.clients)
        if self.day not in facts.DAYS or self.day + self.days - 1 not in facts.DAYS:
            raise ConfigError(
                f"day, days: got days {self.day} to {self.day + self.days - 1}, "
                f"expected days from {facts.DAYS[0]} to {facts.DAYS[-1]}"
            )
        if max(self.objects, self.clients) > 2**32:
            raise ConfigError(f"objects, clients: got {self.objects}, {self.clients}, expected at most 2**32")
        self.popularity  # noqa: B018  Zipf checks its parameters

    @property
    def timeline(self) -> Timeline:
        return _timeline(self.events, self.day, self.days)

    @property
    def popularity(self) -> Zipf:
        """The share of requests for each object, by rank."""
        return Zipf(self.objects, self.exponent, self.shift)

    def describe(self) -> str:
        first = date(1998, 4, 25) + timedelta(days=self.day)
        last = first + timedelta(days=self.days - 1)
        span = f"{first:%d %B %Y}" if self.days == 1 else f"{first:%d %B} to {last:%d %B %Y}"
        servers = "all 33 servers" if self.all_servers else "servers"
        return (
            f"generated: {self.events:,} web requests, {span}, seed {self.seed}; days, times of day and {servers} "
            f"follow the real counts of the World Cup 98 log; {self.objects:,} objects follow a Zipf law of exponent "
            f"{self.exponent:g} and shift {self.shift:g}; clients, sizes and statuses are made up"
        )

    def slice(self, index: int) -> NDArray[Any]:
        """The records of one slice, in order of time."""
        drawn = self._draw(index)
        site, response = _site(self.objects), _responses()
        records = np.empty(len(drawn.seconds), RECORD)
        records["timestamp"] = drawn.seconds
        records["client"] = self._clients(int(self.timeline.before[index]), drawn.client_tickets)
        records["object"] = site.ids[drawn.ranks]
        records["type"] = site.types[drawn.ranks]
        records["method"] = response.methods[drawn.response_tickets]
        records["status"] = response.statuses[drawn.response_tickets]
        sizes = response.sizes[drawn.response_tickets]
        records["size"] = np.where(sizes == _OWN_SIZE, site.sizes[drawn.ranks], sizes)
        records["server"] = self._servers(index, drawn)
        return records

    def requests(self, index: int) -> dict[str, Ints]:
        """The columns timestamp, object and server of `slice`, in a fraction of its time."""
        drawn = self._draw(index)
        servers = self._servers(index, drawn).astype(np.int64)
        return {"timestamp": drawn.seconds, "object": _site(self.objects).ids[drawn.ranks], "server": servers}

    def _draw(self, index: int) -> _Drawn:
        random = self._random(index)
        seconds = self.timeline.seconds(index, random)
        ranks = self.popularity.ranks(random.random(len(seconds)))
        return _Drawn(seconds, ranks, *(draw_tickets(random, len(seconds)) for _ in range(3)))

    def _servers(self, index: int, drawn: _Drawn) -> NDArray[np.uint8]:
        if self.all_servers:
            return _all_servers()[drawn.server_tickets]
        return _servers(drawn.seconds, self.slice_span(index), drawn.server_tickets)

    def _clients(self, before: int, tickets: NDArray[np.uint16]) -> Ints:
        """The client of each request. Clients with low numbers visit more often.

        The number of a request in the log decides who its k-th visitor is, so a visit continues in the next slice.
        Visitors are replaced one after the other.
        """
        visitors = _visitors()[tickets]
        rounds = (np.arange(before, before + len(tickets)) + visitors * (_VISIT // _VISITORS)) // _VISIT
        first, last = before // _VISIT, (before + len(tickets)) // _VISIT + 1
        visits = np.arange(first * _VISITORS, (last + 1) * _VISITORS).astype(np.uint64)
        fraction = to_fraction(mix(visits + mix(np.array([self.seed % 2**64], np.uint64))))
        clients: Ints = (fraction * fraction * np.sqrt(fraction) * self.clients).astype(np.int64)
        which: Ints = (rounds - first) * _VISITORS + visitors
        return clients[which]


class _Drawn(NamedTuple):
    """What is random in the requests of a slice."""

    seconds: Ints
    ranks: Ints
    response_tickets: NDArray[np.uint16]
    client_tickets: NDArray[np.uint16]
    server_tickets: NDArray[np.uint16]


class _Site(NamedTuple):
    """The objects of the web site, by rank."""

    ids: Ints
    types: NDArray[np.uint8]
    sizes: NDArray[np.uint32]


class _Responses(NamedTuple):
    """The fields of a record, one entry per ticket."""

    methods: NDArray[np.uint8]
    statuses: NDArray[np.uint8]
    sizes: NDArray[np.uint32]


@lru_cache(maxsize=8)
def _timeline(events: int, day: int, days: int) -> Timeline:
    rows = slice(day - facts.DAYS[0], day - facts.DAYS[0] + days)
    profile, requests = facts.profile()[rows], facts.server_requests()[rows].sum(axis=1)
    weights = profile / profile.sum(axis=1, keepdims=True) * requests[:, None]
    edges = np.arange(weights.size + 1) * facts.PROFILE_STEP + facts.midnight(day)
    return Timeline(events, edges, weights.ravel())


@lru_cache(maxsize=8)
def _site(objects: int) -> _Site:
    random = np.random.default_rng(_OBJECT_SEED)
    types = facts.types()
    kinds = make_tickets(np.arange(len(types.type)), types.requests)[draw_tickets(random, objects)]
    sizes = np.exp(types.mean_log_size[kinds] + types.sd_log_size[kinds] * random.standard_normal(objects))
    return _Site(random.permutation(objects), types.type[kinds].astype(np.uint8), np.ceil(sizes).astype(np.uint32))


@cache
def _responses() -> _Responses:
    known = facts.responses()
    rows = make_tickets(np.arange(len(known.requests)), known.requests)
    statuses = np.searchsorted(STATUSES[:-1], known.status) | known.version << 6
    sizes = known.size.astype(np.uint32)  # -2 becomes _OWN_SIZE and -1 becomes NO_SIZE
    return _Responses(known.method[rows].astype(np.uint8), statuses[rows].astype(np.uint8), sizes[rows])


@cache
def _visitors() -> Ints:
    """The visitor of each ticket. The number of requests per visitor is distributed exponentially."""
    return make_tickets(np.arange(_VISITORS), -np.log((np.arange(_VISITORS) + 0.5) / _VISITORS))


def _servers(seconds: Ints, span: tuple[int, int], tickets: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """Servers by their shares at the time, which are known for every file of the log."""
    starts, _ = facts.file_requests()
    first, last = np.maximum(np.searchsorted(starts, span, side="right") - 1, 0).tolist()
    bounds = [0, *np.searchsorted(seconds, starts[first + 1 : last + 1]), len(seconds)]
    servers = np.empty(len(seconds), np.uint8)
    for file, (low, high) in enumerate(pairwise(bounds), start=first):
        servers[low:high] = _server_tickets(file)[tickets[low:high]]
    return servers


@cache
def _all_servers() -> NDArray[np.uint8]:
    return make_tickets(np.array(SERVERS, np.uint8), facts.server_requests().sum(axis=0))


@cache
def _server_tickets(file: int) -> NDArray[np.uint8]:
    """The server of each ticket, by the shares of the servers in one file of the log."""
    return make_tickets(np.array(SERVERS, np.uint8), facts.file_requests()[1][file])
