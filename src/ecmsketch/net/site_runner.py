"""Runs a site: takes lines, checks every so often, and keeps a connection to its coordinator."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ecmsketch.errors import ConfigError, EcmError
from ecmsketch.inputs.durations import parse_duration
from ecmsketch.net.addresses import Address, Reaching
from ecmsketch.net.line_formats import LineFormat
from ecmsketch.net.passing_lines import Lines
from ecmsketch.net.site_keeper import SiteKeeper
from ecmsketch.net.site_session import RefusedError, Session, connected, first_error
from ecmsketch.net.wall_clock import now_tick, seconds_of, unit_of
from ecmsketch.net.watch_text import read_watch

SAVE_EVERY = 2.0
"""Seconds between two writes of the state; the input is read again from there after a crash."""
FIRST_WAIT, LONGEST_WAIT = 0.25, 2.0
"""Seconds before a lost connection is tried again: twice as long each time, give or take a half."""
_POLL = 0.2
"""Seconds between looks at the input while a check is not due yet."""


@dataclass(frozen=True)
class SiteSettings:
    """How a site works.

    every   how often it checks, such as "1s" or a number of ticks
    ahead   how far ahead of the clock the tick of an event may be, such as "1m"
    format  how lines become events
    state   folder for its state; None if it needs not outlive the process
    """

    every: str = "1s"
    ahead: str = "1m"
    format: LineFormat = field(default_factory=LineFormat)
    state: str | Path | None = None


async def run_site(
    name: str,
    coordinator: str | Address | Reaching,
    lines: Lines,
    settings: SiteSettings | None = None,
    *,
    stop: asyncio.Event | None = None,
    say: Callable[[str], Any] = lambda text: None,
) -> None:
    """Run a site until `stop` is set. What it watches, it is told by the coordinator.

    It ends with an error if the coordinator refuses it for good: a wrong token, a name that is in use, another watch.
    """
    if isinstance(coordinator, str):
        coordinator = Address.parse(coordinator, "coordinator")
    reaching = Reaching(coordinator) if isinstance(coordinator, Address) else coordinator
    runner = SiteRunner(name, reaching, lines, settings or SiteSettings(), say)
    try:
        await runner.run(stop or asyncio.Event())
    finally:
        runner.close()


class SiteRunner:
    """A site under way."""

    def __init__(
        self, name: str, reaching: Reaching, lines: Lines, settings: SiteSettings, say: Callable[[str], Any]
    ) -> None:
        self._reaching, self._token, self._context = reaching, reaching.check(), reaching.context()
        self._lines, self._settings, self._say = lines, settings, say
        self._lengths("ns")  # what is wrong is said at once; the unit of the watch is known later
        self.keeper = SiteKeeper(name, settings.state)
        self._session: Session | None = None
        self._run_seen = ""
        """Which run of the coordinator was last heard of: after a restart of it, all begin anew."""
        self._saved = time.monotonic()
        self._known = asyncio.Event()
        """Set once it is known what is watched."""
        self._told: Counter[str] = Counter()
        self._lost_before = 0
        self._cannot_save = self._stopping = False

    def close(self) -> None:
        """Say what was counted, save the state and close the input."""
        self._tell_sum()
        self._lines.close()
        self.keeper.close()

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set."""
        if self.keeper.site is not None:
            self._begin()
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._work()), group.create_task(self._keep_connected())]
                await stop.wait()
                self._stopping = True  # a connection that fails just now would swallow being cancelled
                if self._session is not None:
                    await self._session.leave()
                for task in tasks:
                    task.cancel()
        except* EcmError as errors:
            raise first_error(errors) from None

    def _begin(self) -> None:
        assert self.keeper.watch is not None
        self._unit = unit_of(self.keeper.watch)
        self._every, self._ahead = self._lengths(self._unit)
        self._lines.resume(self.keeper.position)
        self._known.set()

    def _lengths(self, unit: str) -> tuple[int, int]:
        """How often to check, and how far ahead ticks may be, in ticks of a unit."""
        try:
            return max(parse_duration(self._settings.every, unit), 1), parse_duration(self._settings.ahead, unit)
        except EcmError as error:
            raise ConfigError(f"--every, --ahead: {error}; give lengths such as 1s or 5m") from error

    async def _work(self) -> None:
        """Take lines and check, for ever."""
        await self._known.wait()
        step = seconds_of(self._every, self._unit)
        due = time.monotonic()
        while True:
            more = self._take()
            if not more and time.monotonic() >= due:
                self._check()
                due = max(due + step, time.monotonic())
            if time.monotonic() - self._saved >= SAVE_EVERY:
                self._save()
            await asyncio.sleep(0 if more else max(min(due - time.monotonic(), _POLL), 0.001))

    def _save(self) -> None:
        """Bring the state to the disk; if that fails, say so once and go on."""
        self._saved = time.monotonic()
        try:
            self.keeper.save()
            self._cannot_save = False
        except OSError as error:
            if not self._cannot_save:
                self._say(f"the state cannot be written: {error}; after a restart the site goes on from the last one")
            self._cannot_save = True

    def _take(self) -> bool:
        """Count new lines; returns whether there may be more at once."""
        assert self.keeper.watch is not None
        lines, more = self._lines.take()
        if lines:
            streams = self.keeper.watch.function.streams
            batch = self._settings.format.read(lines, now_tick(self._unit), self._unit, streams, self._ahead)
            self._tell_rejected(batch.rejected)
            self._send(self.keeper.observe(batch, self._lines.position))
        self._tell_noted()
        if not more and getattr(self._lines, "ended", False) and not self._told["end"]:
            self._told["end"] = 1
            self._say("the input has ended; what came is watched until Ctrl-C")
        return more

    def _tell_noted(self) -> None:
        """Say what happened to the input, and count what was lost."""
        for fact, count in (self._lines.noted - self._told).items():
            self._told[fact] += count
            self._say(f"{fact} ({self._told[fact]} so far)")
        self.keeper.counts["lost"] += self._lines.lost - self._lost_before
        self._lost_before = self._lines.lost

    def _tell_rejected(self, rejected: Counter[str]) -> None:
        for reason in rejected.keys() - self._told.keys():
            self._told[reason] = 1
            self._say(f"rejected a line: {reason}; the status of the coordinator counts them")

    def _tell_sum(self) -> None:
        reasons = ", ".join(f"{reason}: {count:,}" for reason, count in self.keeper.rejected.most_common())
        rejected = f"{self.keeper.rejected.total():,} lines rejected" + (f" ({reasons})" if reasons else "")
        self._say(
            f"{self.keeper.counts['events']:,} events, {rejected}, {self.keeper.counts['lost']:,} known to be lost"
        )

    def _check(self) -> None:
        assert self.keeper.site is not None
        self._send(self.keeper.site.tick(now_tick(self._unit)))

    def _send(self, reports: list[bytes]) -> None:
        if self._session is not None:
            self._session.send(*reports)

    async def _keep_connected(self) -> None:
        """Connect again and again, with pauses that grow while it fails."""
        failures = 0
        while not self._stopping:
            try:
                async with connected(self._reaching, self._token, self._context) as socket:
                    session = Session(socket, self._receive)
                    await session.join(self.keeper.name, self.keeper.id, self._run_seen)
                    self._welcome(session)
                    failures = 0
                    await session.run(lambda: self.keeper.beat() if self.keeper.site else None)
            except RefusedError as error:
                raise ConfigError(f"--coordinator: {error}") from None
            except (OSError, TimeoutError, EOFError) as error:
                self._lost(failures, error)
            finally:
                self._session = None
            failures += 1
            wait = min(FIRST_WAIT * 2.0 ** min(failures - 1, 20), LONGEST_WAIT)
            await asyncio.sleep(wait * random.uniform(0.5, 1.5))  # noqa: S311

    def _lost(self, failures: int, error: BaseException) -> None:
        if failures == 0 and not self._stopping:
            reason = str(error) or type(error).__name__
            self._say(f"no connection to the coordinator at {self._reaching.address}: {reason}; trying again")

    def _welcome(self, session: Session) -> None:
        """Begin to use a connection: what was under way over the last one may be lost."""
        first = self.keeper.site is None
        self.keeper.begin(read_watch(session.watch))
        if first:
            self._begin()
        assert self.keeper.site is not None
        self._run_seen, self._session = session.coordinator_run, session
        self._say(f"connected to the coordinator at {self._reaching.address}")
        if session.anew and not first:
            self._send(self.keeper.site.rejoin())
        else:
            session.send(*self.keeper.site.unanswered)

    def _receive(self, message: bytes) -> None:
        assert self.keeper.site is not None
        try:
            self._send(self.keeper.site.receive(message))
        except EcmError as error:
            raise EOFError(f"the coordinator sent what is no message for this site: {error}") from error
