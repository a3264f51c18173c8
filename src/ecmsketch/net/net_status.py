"""How a coordinator and its sites stand."""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import NamedTuple

from ecmsketch.inputs.item_text import show_item
from ecmsketch.inputs.kinds import NOTHING
from ecmsketch.net.coordinator_keeper import CoordinatorKeeper
from ecmsketch.net.peer import Peer

_FAULTS = ("bad frames", "oversize frames", "too slow", "failed handshakes")
_MOST_RAISED = 64


class NetStatus(NamedTuple):
    """How things stand. Counts of events are the sites' own; messages and bytes are since this process began."""

    now: int | None
    value: float | None
    region: int | None
    low: float
    high: float
    syncing: bool
    """Whether something is being resolved, or sites are waited for; the value may be old then."""
    epoch: int
    sites: int
    connected: int
    missing: tuple[str, ...]
    events: int
    rejected: int
    """Lines that were no events."""
    late: int
    """Events that came too late to be counted."""
    lost: int
    """Datagrams that came faster than they were taken, and files that were gone before they were read to their end."""
    alerts: int
    raised: tuple[str, ...]
    """Items that are above the threshold, for AnyItem and AnyShare; at most 64 of them."""
    messages: int
    bytes: int
    """Bytes of messages, without the frames of WebSocket, TLS and TCP around them."""
    control_frames: int
    control_bytes: int
    skew: float
    """The largest difference between a site's clock and the coordinator's, in ticks, travel time included."""
    refused: int
    """Connections that were refused: a wrong token, a name in use, something else than a site."""
    faults: int
    """Connections that were closed for what came: garbage, oversize frames, or that were too slow."""


def status_of(keeper: CoordinatorKeeper, peers: list[Peer], counts: Counter[str]) -> NetStatus:
    """How a coordinator and its connected sites stand."""
    coordinator = keeper.coordinator
    low, high = coordinator.bounds or (-inf, inf)
    return NetStatus(
        now=coordinator.now,
        value=coordinator.value,
        region=coordinator.region,
        low=low,
        high=high,
        syncing=coordinator.syncing,
        epoch=coordinator.epoch,
        sites=len(coordinator.sites),
        connected=len(peers),
        missing=tuple(sorted(coordinator.missing)),
        events=sum(peer.beat.events for peer in peers),
        rejected=sum(peer.beat.rejected for peer in peers),
        late=sum(peer.beat.late for peer in peers),
        lost=sum(peer.beat.lost for peer in peers),
        alerts=keeper.raised,
        raised=tuple(show_item(item, NOTHING) for item in keeper.items_above[:_MOST_RAISED]),
        messages=counts["messages"],
        bytes=counts["bytes"],
        control_frames=counts["control frames"],
        control_bytes=counts["control bytes"],
        skew=max((peer.skew for peer in peers), key=abs, default=0.0),
        refused=sum(count for name, count in counts.items() if name.startswith("refused")),
        faults=sum(counts[name] for name in _FAULTS),
    )
