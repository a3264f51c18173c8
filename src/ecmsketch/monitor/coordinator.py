"""Coordinator: knows the combined value as well as it must, and balances or synchronises sites when one speaks up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Self, cast

import numpy as np

from ecmsketch.errors import InputError
from ecmsketch.monitor import messages
from ecmsketch.monitor.alert import Alert
from ecmsketch.monitor.balancing import balanced
from ecmsketch.monitor.change_messages import Change, Width
from ecmsketch.monitor.change_sending import Base, put_base, read_base
from ecmsketch.monitor.functions import Vector
from ecmsketch.monitor.local_test import LocalTest
from ecmsketch.monitor.members import Member, StoredMember, read_members
from ecmsketch.monitor.messages import Balance, Recall, Report, Request, Sync
from ecmsketch.monitor.thresholds import left_region
from ecmsketch.monitor.vector_bytes import difference
from ecmsketch.monitor.watch import Watch
from ecmsketch.monitor.wire import Reader, put_float, put_number, put_signed, seal

_STATE = 65
"""Kind of the bytes of a coordinator's state."""
_MOST_BALANCED = 0.3
"""Share of the sites beyond which balancing is not worth it any more: then all are synchronised."""

Outgoing = list[tuple[str, bytes]]
"""Messages to send: (site, bytes)."""


class Coordinator:
    """Sans I/O: takes the sites' bytes, returns bytes for sites. Sites it was not told of join when they report.

    value, region  of the combined vector at the last synchronisation; between synchronisations the region holds, and
                   `Tracking` bounds how far the value has moved
    alerts         every change of the region since this object was made, oldest first
    missing        sites that did not answer for `give_up` ticks: left out until they do
    counts         of "syncs" and "balances", and of reports by their reason
    """

    def __new__(cls, watch: Watch, sites: Iterable[str] = ()) -> Self:
        """A coordinator of the kind that is needed: for AnyItem and AnyShare, one of single items."""
        if cls is not Coordinator or (watch.mode == "zones" and not watch.function.per_item):
            return super().__new__(cls)
        from ecmsketch.monitor.changes_coordinator import ChangesCoordinator  # both are Coordinators
        from ecmsketch.monitor.item_coordinator import ItemCoordinator

        return cast(Self, super().__new__(ItemCoordinator if watch.function.per_item else ChangesCoordinator))

    def __init__(self, watch: Watch, sites: Iterable[str] = ()) -> None:
        self.watch = watch
        self.epoch = 0
        self.now: int | None = None
        self.value: float | None = None
        self.region: int | None = None
        self.missing: set[str] = set()
        self.alerts: list[Alert] = []
        self.counts: Counter[str] = Counter()
        self._members = {messages.check_name(name): Member() for name in sites}
        self._measured: float | None = None
        self._test: LocalTest | None = None
        self._gathered: dict[str, Report] = {}
        self._full = True
        self._turn = 0
        self._referred: Base = None

    @property
    def sites(self) -> list[str]:
        """The names of all known sites, the missing ones included."""
        return list(self._members)

    @property
    def syncing(self) -> bool:
        """Whether it is resolving a violation, or waits for sites; what it says of the value may be old then."""
        return bool(self._gathered) or self._full

    @property
    def owing(self) -> dict[str, int]:
        """Sites that were asked for something and have not answered, and since which tick of `now`."""
        return {name: member.asked_first for name, member in self._members.items() if member.asked_first is not None}

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The combined value is between these, both included, while nothing is being resolved."""
        return None if self._test is None else (self._test.low, self._test.high)

    @property
    def reference(self) -> Vector | None:
        """The combined vector at the last synchronisation."""
        return None if self._test is None else self._test.reference

    def receive(self, *data: bytes) -> Outgoing:
        """Take reports, one or many that came together; returns what to send. Late and repeated ones change nothing.

        If any of them is not a report that fits, an error says so and none is taken.
        """
        reports = self._decode(data)
        return [message for report in reports for message in self._take(report)] + self._act()

    def tick(self, now: int) -> Outgoing:
        """Move the clock: ask again those who did not answer, leave out those who did not for too long."""
        self.now = now if self.now is None else max(self.now, now)
        out: Outgoing = []
        for name, member in self._members.items():
            if member.asked_first is None:
                continue
            if name in self.missing:
                if self.now - member.asked_last >= (self.watch.give_up or 0):
                    out.append(self._ask(name))
            elif self.watch.give_up is not None and self.now - member.asked_first >= self.watch.give_up:
                self.missing.add(name)
                self._full = True
            elif self.watch.patience is not None and self.now - member.asked_last >= member.pause:
                out.append(self._ask(name))
        return out + self._act()

    def resync(self) -> Outgoing:
        """Begin a full synchronisation: needed after a restart from a state that may not be the newest."""
        self._full = True
        return self._act()

    def remind(self, name: str) -> Outgoing:
        """Ask a site again for what it owes: a connection to it was lost, and the request perhaps with it."""
        return [self._ask(name)] if name in self.owing and self._members[name].number else []

    def resolve(self, message: Report | Change) -> tuple[int, Vector] | None:
        """The clock and the vector that a site's message tells; None if it adds to something that is not known."""
        return self._members.get(message.site, Member()).resolve(message)

    def serialize(self) -> bytes:
        """Everything but the alerts and counts, as bytes; a restart from any but the newest needs `resync`."""
        return seal(_STATE, self._parts())

    @classmethod
    def deserialize(cls, data: bytes, watch: Watch) -> Self:
        """The coordinator that `serialize` wrote, under the same watch; a FormatError if they are other bytes."""
        reader = Reader(data, "coordinator")
        if reader.kind != _STATE:
            raise reader.wrong("these bytes are a message or a site")
        coordinator = cls(watch)
        coordinator._restore(reader)
        reader.done()
        return coordinator

    def _decode(self, data: Iterable[bytes]) -> list[Report]:
        reports: list[Report] = []
        for message in data:
            report = messages.decode(message)
            if not isinstance(report, Report):
                raise InputError("message: expected a site's report, got a message to a site")
            self._check_shape(report.site, report.vector, reports)
            reports.append(report)
        return reports

    def _check_shape(self, site: str, vector: Vector, others: Iterable[Report | Change]) -> None:
        known = (other.vector for other in (*self._gathered.values(), *others))
        shape = next(known, vector).shape if self._test is None else self._test.reference.shape
        messages.check_vector(site, vector, shape)

    def _take(self, report: Report) -> Outgoing:
        name = report.site
        known = name in self._members
        member = self._members.setdefault(name, Member())
        same = report.number == member.number
        if report.number < member.number or (same and report.checksum != member.checksum):
            return [(name, Recall(name, member.number + same).encode())]
        if same:
            answered = member.answer is not None and member.answer.answers == report.checksum
            return [(name, member.answer.encode())] if member.answer is not None and answered else []
        whole = member.complete(report)
        if whole is None:
            self.epoch = max(self.epoch, report.epoch)
            return [(name, Recall(name, report.number + 1).encode())]
        report = whole
        member.number, member.checksum, member.asked_first = report.number, report.checksum, None
        self.now = report.tick if self.now is None else max(self.now, report.tick)
        self.counts[messages.REASONS[report.reason]] += 1
        self._gathered[name] = report
        if not known or report.epoch != self.epoch or name in self.missing:
            self._full = True
        self.missing.discard(name)
        return []

    def _act(self) -> Outgoing:
        """Do what the reports gathered so far allow: answer them, or ask further sites."""
        present = [name for name in self._members if name not in self.missing]
        absent = [name for name in present if name not in self._gathered]
        if not self._full:
            if not self._gathered:
                return []
            violated = any(report.reason == messages.VIOLATION for report in self._gathered.values())
            if self.watch.balance == "lazy" or not violated:
                drifts = self._balanced()
                if drifts is not None:
                    return self._balance(drifts)
            many = len(self._gathered) >= max(_MOST_BALANCED * len(present), 2)
            self._full = self.watch.balance == "eager" or many or not absent
        if not self._full:
            asked = any(self._members[name].asked_first is not None for name in absent)
            return [] if asked else [self._ask(min(absent, key=lambda name: self._members[name].turn))]
        if absent or not present:
            return [message for name in absent for message in self._ask_once(name)]
        return self._synchronise(present)

    def _ask_once(self, name: str) -> Outgoing:
        """A request, if there is none already; sites never heard of say hello by themselves, so it can wait."""
        member = self._members[name]
        if member.asked_first is not None:
            return []
        message = self._ask(name)
        return [message] if member.number else []

    def _ask(self, name: str) -> tuple[str, bytes]:
        member = self._members[name]
        member.note_request(self.now or 0, self.watch.patience or 0)
        return name, Request(name, member.number).encode()

    def _balanced(self) -> list[Vector] | None:
        """The drifts of those gathered, made equal, if they pass the test then."""
        assert self._test is not None
        at, scale = self._test.reference, self.watch.scale(len(self._members) - len(self.missing))
        drifts = [self._members[one.site].drift(one.vector, scale, at) for one in self._gathered.values()]
        return balanced(drifts, self._test)

    def _balance(self, drifts: list[Vector]) -> Outgoing:
        assert self._test is not None
        out, reference = [], self._test.reference
        self._turn += 1
        for report, drift in zip(self._gathered.values(), drifts, strict=True):
            out.append(self._answer(report, Balance(report.site, self.epoch, report.checksum, drift - reference)))
            self._members[report.site].turn = self._turn
        self._gathered = {}
        self.counts["balances"] += 1
        return out

    def _synchronise(self, present: list[str]) -> Outgoing:
        reports = [self._gathered[name] for name in present]
        total = np.sum([report.vector for report in reports], axis=0)
        reference = total if self.watch.combine == "sum" else total / len(reports)
        self.epoch = max(self.epoch, *(report.epoch for report in reports)) + 1
        self._settle(max(report.tick for report in reports), reference)
        assert self._test is not None
        base, known = self._referred or (0, None)
        change = difference(reference, known)
        fields = len(reports), self._test.low, self._test.high
        out = []
        for report in reports:
            sent = (reference, 0) if change is None or report.epoch != base else (change, base)
            out.append(self._answer(report, Sync(report.site, self.epoch, report.checksum, *fields, *sent)))
            self._members[report.site].turn = 0
        self._referred = self.epoch, reference
        self._gathered, self._full = {}, False
        self.counts["syncs"] += 1
        return out

    def _settle(self, tick: int, reference: Vector) -> None:
        """Take the reference's value as the combined value."""
        measured = self.watch.function.value(reference)
        self.value = self.watch.threshold.announce(measured, self._measured)
        self._measured = measured
        self._test = LocalTest(self.watch, reference, *self.watch.threshold.bounds(self.value))
        previous, self.region = self.region, self.watch.threshold.region(self.value)
        if self.region != previous:
            left = left_region(self.watch.threshold, previous, self.region)
            self.alerts.append(Alert(tick, self.region, left, self.value, self.epoch))

    def _answer(self, report: Report, answer: Sync | Balance | Width) -> tuple[str, bytes]:
        member = self._members[report.site]
        member.vector, member.base, member.answer = report.vector, report.number, answer
        return report.site, answer.encode()

    def _parts(self) -> list[bytes]:
        parts = [put_number(self.epoch), put_number(self.now is not None), put_signed(self.now or 0)]
        parts += [put_number(self._full), put_number(self._turn), put_number(self._test is not None)]
        if self._test is not None and self.value is not None and self._measured is not None:
            parts += self._test.parts()
            parts += [put_float(self.value), put_float(self._measured), put_number(self.region or 0)]
        parts += [*put_base(self._referred), put_number(len(self._members))]
        for name, member in self._members.items():
            parts += StoredMember(name, member, name in self.missing, self._gathered.get(name)).parts()
        return parts

    def _restore(self, reader: Reader) -> None:
        self.epoch, has_clock, now = reader.number(), reader.flag(), reader.signed()
        self.now, self._full, self._turn = now if has_clock else None, reader.flag(), reader.number()
        if reader.flag():
            self._test = LocalTest.read_from(reader, self.watch)
            self.value, self._measured, self.region = reader.float(), reader.float(), reader.number(2)
        self._referred = read_base(reader)
        stored = read_members(reader)
        self._members = {site.name: site.member for site in stored}
        self.missing = {site.name for site in stored if site.missing}
        self._gathered = {site.name: site.report for site in stored if site.report is not None}
        answered = [member.answer is not None for name, member in self._members.items() if name not in self.missing]
        if not self._full and (self._test is None or not all(answered)):
            raise reader.wrong("it is synchronised, but not all of its sites are")
