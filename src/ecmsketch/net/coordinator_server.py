"""Runs a coordinator: accepts sites, carries messages, notices who is silent, and publishes alerts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import Any

from ecmsketch.monitor import Alert, Watch
from ecmsketch.net.addresses import Address, Listening
from ecmsketch.net.control import write_control
from ecmsketch.net.coordinator_keeper import CoordinatorKeeper, Outgoing
from ecmsketch.net.net_status import NetStatus, status_of
from ecmsketch.net.peer import Peer
from ecmsketch.net.site_door import Door
from ecmsketch.net.wall_clock import now_tick, ticks_of, unit_of
from ecmsketch.net.watch_text import write_watch

PATIENCE = 2.0
"""Seconds after which sites and coordinator repeat what was not answered."""
_GATHER, _GATHER_JOINING = 0.01, 0.25
"""Seconds for which reports that come together are gathered: the coordinator then acts once for all of them. It waits
longer for sites that join: each time, all begin anew.
"""
_BEATS = 4
"""Beats that a site sends in the time after whose silence it is missing."""
_RETRY = 5.0
"""Seconds before an alert that could not be published is tried again."""


@dataclass(frozen=True)
class CoordinatorSettings:
    """How a coordinator works.

    missing_after  seconds of silence after which a site is left out of the sum until it is back
    max_sites      connections at once
    state          folder for its state; None if it needs not outlive the process
    name           of the monitor, in the table of alerts
    alerts         path or URL of the table of alerts; None for none
    """

    missing_after: float = 10.0
    max_sites: int = 1000
    state: str | Path | None = None
    name: str = "monitor"
    alerts: str | None = None


async def serve_coordinator(
    watch: Watch,
    listening: Listening | None = None,
    settings: CoordinatorSettings | None = None,
    *,
    on_alert: Callable[[Alert], Any] | None = None,
    on_status: Callable[[NetStatus], Any] | None = None,
    on_ready: Callable[[Address], Any] | None = None,
    stop: asyncio.Event | None = None,
    say: Callable[[str], Any] = lambda text: None,
) -> None:
    """Run a coordinator until `stop` is set.

    on_alert   is called in a thread with each alert, after a crash perhaps twice with the same one
    on_status  is called every second
    on_ready   is called with the address once sites can connect
    """
    server = CoordinatorServer(watch, listening or Listening(), settings or CoordinatorSettings(), say)
    server.on_alert, server.on_status, server.on_ready = on_alert, on_status, on_ready
    try:
        await server.run(stop or asyncio.Event())
    finally:
        server.keeper.close()


def with_patience(watch: Watch) -> Watch:
    """The watch as it is used over a network: what is not answered is repeated; who is silent, the server notices."""
    unit = unit_of(watch)
    return replace(watch, patience=watch.patience or ticks_of(PATIENCE, unit), give_up=None)


class CoordinatorServer:
    """A coordinator under way, with its connected sites."""

    def __init__(
        self, watch: Watch, listening: Listening, settings: CoordinatorSettings, say: Callable[[str], Any]
    ) -> None:
        watch = with_patience(watch)
        self._unit, self.say, self.settings = unit_of(watch), say, settings
        self.keeper = CoordinatorKeeper(watch, settings.state, settings.name, settings.alerts)
        self.door = Door(self, listening)
        self.run_id, self.watch_text = token_hex(8), write_watch(watch)
        self.peers: dict[str, Peer] = {}
        self.counts: Counter[str] = Counter()
        self.on_alert: Callable[[Alert], Any] | None = None
        self.on_status: Callable[[NetStatus], Any] | None = None
        self.on_ready: Callable[[Address], Any] | None = None
        self._heard: dict[str, float] = {}
        self._owed: dict[str, tuple[int, float]] = {}
        """Which site owes the answer to a request of which tick, and since when."""
        self._inbox: list[tuple[Peer, bytes]] = []
        self._come, self._alerted = asyncio.Event(), asyncio.Event()
        self._dirty = self._cannot_save = False

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set."""
        started = asyncio.get_running_loop().time()
        self._heard = dict.fromkeys(self.keeper.coordinator.sites, started)
        if self.keeper.restored:
            self._dispatch(self.keeper.resync(self.clock()))
        async with self.door.open() as address, asyncio.TaskGroup() as group:
            tasks = [group.create_task(part) for part in (self._take_reports(), self._watch_clock(), self._publish())]
            if self.on_ready is not None:
                self.on_ready(address)
            await stop.wait()
            for task in tasks:
                task.cancel()
            for peer in self.peers.values():
                peer.note_taken()  # whoever waits for room sees that the connection ends
        self._report_status()

    def clock(self) -> int:
        """The tick of the coordinator's wall clock."""
        return now_tick(self._unit)

    def welcome(self, peer: Peer, run_seen: str) -> None:
        """Take a site in: tell it what is watched, and repeat what was under way."""
        coordinator = self.keeper.coordinator
        anew = (
            run_seen != self.run_id or peer.name not in coordinator.sites or peer.name in coordinator.missing
        )  # it may lack messages that nobody would repeat
        self.peers[peer.name] = peer
        self.hear(peer)
        after = self.settings.missing_after
        facts = {
            "run": self.run_id,
            "watch": self.watch_text,
            "beat": after / _BEATS,
            "missing_after": after,
            "anew": anew,
        }
        self._control(peer, write_control("welcome", facts))
        peer.joining = anew
        if not anew:
            self._dispatch(coordinator.remind(peer.name))

    def hear(self, peer: Peer) -> None:
        """A site has said something."""
        peer.heard = self._heard[peer.name] = asyncio.get_running_loop().time()

    def take(self, peer: Peer, report: bytes) -> None:
        """A report has come."""
        self.counts["messages"] += 1
        self.counts["bytes"] += len(report)
        self._inbox.append((peer, report))
        peer.note_report()
        self._come.set()

    def answer_beat(self, peer: Peer) -> None:
        """Say that the coordinator is alive."""
        peer.skew = peer.beat.tick - self.clock()
        self._control(peer, write_control("beat"))

    def lose(self, peer: Peer, *, on_purpose: bool) -> None:
        """A connection has ended. Only who says so is missed at once: others may be back soon."""
        if self.peers.get(peer.name) is peer:
            del self.peers[peer.name]
            if on_purpose:
                self._leave_out({peer.name})

    def status(self) -> NetStatus:
        """How things stand."""
        return status_of(self.keeper, list(self.peers.values()), self.counts)

    def _control(self, peer: Peer, frame: str) -> None:
        if peer.send(frame):
            self.counts["control frames"] += 1
            self.counts["control bytes"] += len(frame)

    def _dispatch(self, out: Outgoing) -> None:
        """Send messages to those sites that are connected; the others ask, or are asked again."""
        for name, data in out:
            peer = self.peers.get(name)
            if peer is not None and peer.send(data):
                self.counts["messages"] += 1
                self.counts["bytes"] += len(data)

    async def _take_reports(self) -> None:
        while True:
            await self._come.wait()
            await asyncio.sleep(_GATHER_JOINING if any(peer.joining for peer, _ in self._inbox) else _GATHER)
            self._come.clear()
            taken, self._inbox = self._inbox, []
            out, wrong = self.keeper.receive([(peer.name, data) for peer, data in taken])
            for peer, _ in taken:
                peer.note_taken()
                peer.joining = False
                if peer.name in wrong:
                    self.counts["bad frames"] += 1
                    self.say(f"site {peer.name!r}: {wrong[peer.name]}; its connection is closed")
                    peer.cut()
            self._dirty = True
            self._after(out)

    def _after(self, out: Outgoing) -> None:
        """Send what the coordinator says, and publish its alerts once the state that knows of them is on the disk."""
        self._dirty = self._dirty or any(name in self.peers for name, _ in out)
        if self.keeper.collect():
            self._save()
        self._dispatch(out)

    def _save(self) -> None:
        """Bring the state to the disk; if that fails it is tried again every second, and alerts wait for it."""
        try:
            self.keeper.save()
        except OSError as error:
            if not self._cannot_save:
                self.say(f"the state cannot be written: {error}; alerts wait until it can")
            self._cannot_save = self._dirty = True
            return
        self._cannot_save = self._dirty = False
        self._alerted.set()

    async def _watch_clock(self) -> None:
        while True:
            self._leave_out(self._silent())
            self._after(self.keeper.coordinator.tick(self.clock()))
            if self._dirty:
                self._save()
            self._report_status()
            await asyncio.sleep(1)

    def _silent(self) -> set[str]:
        """Sites that were not heard of, or did not answer a request, for too long."""
        after, coordinator = self.settings.missing_after, self.keeper.coordinator
        now = asyncio.get_running_loop().time()
        before, self._owed = self._owed, {}
        for name, asked in coordinator.owing.items():
            known = before.get(name)
            self._owed[name] = known if known is not None and known[0] == asked else (asked, now)
        present = set(coordinator.sites) - coordinator.missing
        silent = {name for name in present if now - self._heard.setdefault(name, now) >= after}
        return silent | {name for name in present & self._owed.keys() if now - self._owed[name][1] >= after}

    def _leave_out(self, names: set[str]) -> None:
        for name in names:
            peer = self.peers.pop(name, None)
            if peer is not None:
                peer.cut()  # when it is back, it is told to begin anew
        fresh = names & set(self.keeper.coordinator.sites) - self.keeper.coordinator.missing
        if fresh:
            self.say(f"missing: {', '.join(sorted(fresh))}; left out of the sum until they are back")
            self._after(self.keeper.leave_out(fresh))

    async def _publish(self) -> None:
        """Publish alerts in order, once a state on the disk knows of them. While one fails, the others wait."""
        if self.keeper.unpublished:
            self._alerted.set()
        while True:
            await self._alerted.wait()
            self._alerted.clear()
            while self.keeper.unpublished and self.keeper.unpublished[0].number < self.keeper.saved:
                first = self.keeper.unpublished[0]
                try:
                    await asyncio.to_thread(self.keeper.publish, first, self.on_alert)
                except Exception as error:  # whatever a callback raises: the others must not be lost
                    self.say(f"an alert could not be published: {error}; it is tried again")
                    await asyncio.sleep(_RETRY)
                    continue
                self.keeper.unpublished.pop(0)
                self._dirty = True

    def _report_status(self) -> None:
        if self.on_status is not None:
            self.on_status(self.status())
