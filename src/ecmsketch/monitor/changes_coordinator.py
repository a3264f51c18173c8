"""A coordinator to which sites send changes, at every check or beyond a width; or with zones, if these are cheaper."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import numpy as np

from ecmsketch.errors import InputError
from ecmsketch.monitor import messages
from ecmsketch.monitor.account import Account
from ecmsketch.monitor.change_messages import REPLY, WIDTH, Ack, Change, Width
from ecmsketch.monitor.changing import Changing
from ecmsketch.monitor.coordinator import Coordinator, Outgoing
from ecmsketch.monitor.functions import Vector
from ecmsketch.monitor.members import Member
from ecmsketch.monitor.messages import Recall, Report
from ecmsketch.monitor.watch import Watch
from ecmsketch.monitor.widths import room_of, share_widths
from ecmsketch.monitor.wire import Reader, put_number

_MOST_EARLY = 1000
"""Changes of a site that are kept until the one before them has come."""


class ChangesCoordinator(Coordinator):
    """Knows of every site the vector that it sent last, and that it is not farther from it than its width.

    Functions without a bounded slope have no widths. With mode="auto" they are watched with zones as well, as long as
    these take fewer bytes.
    """

    def __init__(self, watch: Watch, sites: Iterable[str] = ()) -> None:
        super().__init__(watch, sites)
        self._always = watch.mode == "changes" or watch.function.slope is not None
        self._changes = self._always
        self._account = Account()
        self._widest = 0.0
        self._news = True

    @property
    def mode(self) -> str:
        """How the watch goes on at the moment: "zones" or "changes"."""
        return "changes" if self._changes else "zones"

    @property
    def syncing(self) -> bool:
        if not self._changes:
            return super().syncing
        present = self._present()
        found = (self._members[name].changing for name in present)
        return super().syncing or self._narrowing(present) or any(one is not None and bool(one.early) for one in found)

    def receive(self, *data: bytes) -> Outgoing:
        zones, wide = not self._changes, self._width(self._present()) > 0
        out = super().receive(*data)
        self._book(data, out, zones, wide)
        return out

    def tick(self, now: int) -> Outgoing:
        zones, left = not self._changes, len(self.missing)
        out = super().tick(now)
        if len(self.missing) != left:
            self._news = True
            out += self._act()
        self._book((), out, zones, False)
        return out

    def resync(self) -> Outgoing:
        for member in self._members.values():
            member.changing = None
        self.epoch, self._news = self.epoch + 1, True
        return super().resync()

    def _book(self, data: Iterable[bytes], out: Outgoing, zones: bool, wide: bool) -> None:
        """Note what was sent both ways: all of it with zones, with changes what widths cost."""
        account = self._account
        for message in data:
            account.total += len(message)
            account.paid += len(message) if zones or wide or message[1] == REPLY else 0
        for _, message in out:
            account.total += len(message)
            account.paid += len(message) if zones or message[1] == WIDTH else 0

    def _decode(self, data: Iterable[bytes]) -> list[Report]:
        found: list[Report | Change] = []
        for message in data:
            got = messages.decode(message)
            if not isinstance(got, Report | Change):
                raise InputError("message: expected a site's report, got a message to a site")
            self._check_shape(got.site, got.vector, found)
            found.append(got)
        return cast(list[Report], found)

    def _take(self, report: Report) -> Outgoing:
        self._news = True
        if isinstance(report, Change):
            return self._take_change(report)
        out = super()._take(report)
        if self._gathered.get(report.site) is not None and not out:
            self._account.spared += report.spared
        return out

    def _take_change(self, change: Change) -> Outgoing:
        name, member = change.site, self._members.get(change.site, Member())
        changing = member.changing
        same = change.number == member.number
        if change.number < member.number or (same and change.checksum != member.checksum):
            return [(name, Recall(name, member.number + same).encode())]
        if same:
            return self._acknowledge(name)
        if changing is None or len(changing.early) > _MOST_EARLY:
            return [(name, Recall(name, change.number + 1).encode())]
        if change.number > member.number + 1:
            if self.watch.patience is not None:  # the one before was acknowledged, but not by this coordinator
                return [(name, Recall(name, change.number + 1).encode())]
            changing.early[change.number] = change
            return []
        out = self._apply(name, member, changing, change)
        while (early := changing.early.pop(member.number + 1, None)) is not None:
            out += self._apply(name, member, changing, early)
        return out + self._acknowledge(name)

    def _apply(self, name: str, member: Member, changing: Changing, change: Change) -> Outgoing:
        """Take a change whose turn it is; a site that was missing is back, and is asked again what it was asked."""
        changing.take(change)
        member.number, member.checksum = change.number, change.checksum
        self.now = changing.tick if self.now is None else max(self.now, changing.tick)
        self.counts["changes"] += 1
        self._account.spared += change.spared
        if change.epoch and change.epoch >= changing.asked:
            member.asked_first, changing.width = None, changing.later
        if name not in self.missing:
            return []
        self.missing.discard(name)
        if member.asked_first is None:
            return []
        member.asked_first = None
        return [self._ask(name)]

    def _acknowledge(self, name: str) -> Outgoing:
        """Say that a change has come, if it might not have."""
        if self.watch.patience is None:
            return []
        return [(name, Ack(name, self._members[name].number).encode())]

    def _ask(self, name: str) -> tuple[str, bytes]:
        member = self._members[name]
        if not self._changes or member.changing is None or name in self.missing:
            return super()._ask(name)
        member.note_request(self.now or 0, self.watch.patience or 0)
        return name, Width(name, member.changing.asked, 0, True, member.changing.later).encode()

    def _act(self) -> Outgoing:
        account = self._account
        if self._changes and not self._always and account.total > account.retry and not self._full:
            self._changes, self._full = False, True
        if self._changes:
            return self._act_on_changes()
        if account.is_doubtful():
            self._full = True
        return super()._act()

    def _synchronise(self, present: list[str]) -> Outgoing:
        if self._account.is_lost():
            self._account.leave()
            self._changes, self._referred = True, None
            return self._act_on_changes()
        told = [report.encode() for report in self._gathered.values()] if self._account.trial else []
        out = super()._synchronise(present)
        self._account.synchronise(sum(map(len, told)) + sum(len(message) for _, message in out))
        for name in present:
            self._members[name].changing = None
        return out

    def _present(self) -> list[str]:
        return [name for name in self._members if name not in self.missing]

    def _width(self, present: list[str]) -> float:
        """How far all sites together may be from what is known of them."""
        found = (self._members[name].changing for name in present)
        return sum(changing.width for changing in found if changing is not None)

    def _act_on_changes(self) -> Outgoing:
        """Answer reports with widths, once all sites are known, and see what the changes mean."""
        present, gathered = self._present(), self._gathered
        absent = [name for name in present if self._members[name].changing is None and name not in gathered]
        self._full = bool(absent) or not present
        if self._full:
            return [message for name in absent for message in self._ask_once(name)]
        self._gathered = {}
        self.epoch = max(self.epoch, 1, *(report.epoch for report in gathered.values()))
        for name, report in gathered.items():
            self._members[name].changing = Changing(report.vector, report.tick)
        out = [] if self._narrowing(present) or not self._news else self._evaluate(present, gathered)
        for name, report in gathered.items():
            width = self._changing(name).width
            out.append(self._answer(report, Width(name, self.epoch, report.checksum, False, width)))
        return out

    def _narrowing(self, present: list[str]) -> bool:
        """Whether it waits for sites to reply that they have a smaller width."""
        asked = (self._members[name] for name in present if self._members[name].asked_first is not None)
        return any(member.changing is not None and member.changing.later < member.changing.width for member in asked)

    def _changing(self, name: str) -> Changing:
        found = self._members[name].changing
        assert found is not None
        return found

    def _evaluate(self, present: list[str], gathered: Iterable[str]) -> Outgoing:
        """Take the value from what is known, or narrow the widths if they leave it open; widen them if they can be."""
        self._news = False
        known = [self._changing(name) for name in present]
        parts = 1 if self.watch.combine == "sum" else len(known)
        reference: Vector = np.sum([one.vector for one in known], axis=0) / parts
        width = self._width(present) / parts
        measured, threshold = self.watch.function.value(reference), self.watch.threshold
        fresh = threshold.announce(measured, self._measured)
        held = self._test is not None and width <= room_of(self.watch, measured, self._test.low, self._test.high)
        room = room_of(self.watch, measured, *threshold.bounds(fresh))
        if not held and width > room:
            return self._narrow(present, room * parts / 4)
        if not held or fresh == measured:
            self._settle(max(one.tick for one in known), reference)
        self.counts["syncs"] += bool(gathered)
        return self._widen(present, set(gathered), room * parts / 2)

    def _narrow(self, present: list[str], total: float) -> Outgoing:
        """Give sites smaller widths, and ask where they are."""
        self.epoch += 1
        self.counts["syncs"] += 1
        out = []
        for name, share in self._shares(present, total).items():
            changing = self._changing(name)
            if changing.width:
                changing.later, changing.asked = min(share, changing.width), self.epoch
                out.append(self._ask(name))
        return out

    def _widen(self, present: list[str], gathered: set[str], total: float) -> Outgoing:
        """Give sites larger widths, if they pay; those who wait for an answer get theirs with it."""
        if self.watch.function.slope is None or total <= 4 * self._width(present):
            return []
        shares = self._shares(present, total)
        wider = [name for name, share in shares.items() if share > self._changing(name).width]
        told = [name for name in wider if name not in gathered]
        cost = sum(len(Width(name, self.epoch, 0, False, shares[name]).encode()) for name in told)
        if told and not self._account.may_widen(3 * cost):  # these, and the questions and replies of narrowing them
            told = []
        self.epoch += bool(told)
        for name in (*told, *(gathered & set(wider))):
            self._changing(name).width = shares[name]
        return [(name, Width(name, self.epoch, 0, False, shares[name]).encode()) for name in told]

    def _shares(self, present: list[str], total: float) -> dict[str, float]:
        """How a total of widths is shared out."""
        self._widest = max(self._widest, total)
        return share_widths({name: self._changing(name).vector for name in present}, total, self._widest)

    def _parts(self) -> list[bytes]:
        widest = self._widest.hex().encode()
        parts = [put_number(self._changes), put_number(self._news), put_number(len(widest)), widest]
        return [*super()._parts(), *parts, *self._account.parts()]

    def _restore(self, reader: Reader) -> None:
        super()._restore(reader)
        self._changes, self._news = reader.flag(), reader.flag()
        try:
            self._widest = float.fromhex(reader.blob().decode("ascii"))
        except ValueError as error:
            raise reader.wrong("the widest width is not a number") from error
        self._account = Account.read_from(reader)
