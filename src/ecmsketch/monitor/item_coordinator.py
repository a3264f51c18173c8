"""The coordinator of AnyItem and AnyShare: gives sites limits for items, and asks for more where these meet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from ecmsketch.errors import InputError
from ecmsketch.monitor import messages
from ecmsketch.monitor.alert import MOST_SITES, Alert, Contribution
from ecmsketch.monitor.any_item import ItemFunction
from ecmsketch.monitor.coordinator import Coordinator, Outgoing
from ecmsketch.monitor.item_limits import ABOVE, KnownItem, Rules, Standing, bounds_of, is_certain, judge, slack
from ecmsketch.monitor.item_members import ItemMember
from ecmsketch.monitor.item_messages import Ask, ItemEntry, ItemReport, Limits, Order, Orders, Welcome
from ecmsketch.monitor.item_states import item_parts, read_item
from ecmsketch.monitor.messages import Recall
from ecmsketch.monitor.watch import Watch
from ecmsketch.monitor.wire import Reader, put_number, put_signed, put_text

_SPARE = 10_000
"""Reports of items that are kept beyond twice those at the beginning of an epoch; then a new epoch begins."""


class ItemCoordinator(Coordinator):
    """Knows at every check which items are above the threshold.

    value   how many items are above; region is 1 if any is
    raised  these items
    """

    def __init__(self, watch: Watch, sites: Iterable[str] = ()) -> None:
        super().__init__(watch)
        assert isinstance(watch.function, ItemFunction)
        self._function = watch.function
        self._sites = {messages.check_name(name): ItemMember() for name in sites}
        self._items: dict[int, KnownItem] = {}
        self._renew, self._starting = True, False
        self._unsettled: set[int] = set()
        self._kept, self._most_kept = 0, _SPARE
        self._orders: dict[str, list[Order]] = defaultdict(list)
        self._asks: dict[str, list[Ask]] = defaultdict(list)

    @property
    def sites(self) -> list[str]:
        return list(self._sites)

    @property
    def syncing(self) -> bool:
        return self._renew or self._starting or bool(self._unsettled)

    @property
    def owing(self) -> dict[str, int]:
        return {name: member.asked_first for name, member in self._sites.items() if member.asked_first is not None}

    @property
    def raised(self) -> list[Any]:
        """The items that are above the threshold."""
        return [_shown(item) for item in self._items.values() if item.region == ABOVE]

    @property
    def raised_keys(self) -> set[int]:
        """The hashes of the items that are above the threshold."""
        return {key for key, item in self._items.items() if item.region == ABOVE}

    def receive(self, *data: bytes) -> Outgoing:
        reports = self._decode_items(data)
        return [message for report in reports for message in self._take_report(report)] + self._act()

    def tick(self, now: int) -> Outgoing:
        self.now = now if self.now is None else max(self.now, now)
        out: Outgoing = []
        for name, member in self._sites.items():
            if member.asked_first is None:
                continue
            if name in self.missing:
                if self.now - member.asked_last >= (self.watch.give_up or 0):
                    out += self._remind(name)
            elif self.watch.give_up is not None and self.now - member.asked_first >= self.watch.give_up:
                self.missing.add(name)
                self._renew = True
            elif self.watch.patience is not None and self.now - member.asked_last >= member.pause:
                out += self._remind(name)
        return out + self._act()

    def resync(self) -> Outgoing:
        self._renew = True
        return self._act()

    def remind(self, name: str) -> Outgoing:
        return self._remind(name) if name in self.owing else []

    def _decode_items(self, data: Iterable[bytes]) -> list[ItemReport]:
        reports = [messages.decode(message) for message in data]
        found = [report for report in reports if isinstance(report, ItemReport)]
        if len(found) < len(reports):
            raise InputError("message: expected reports of sites that watch any item, got another; do all watch that?")
        for report in found:
            messages.check_name(report.site)
        return found

    def _take_report(self, report: ItemReport) -> Outgoing:
        name, known = report.site, report.site in self._sites
        member = self._sites.setdefault(name, ItemMember())
        if member.is_other(report):
            return [(name, Recall(name, member.number + 1).encode())]
        new = member.note(report)
        self.now = report.tick if self.now is None else max(self.now, report.tick)
        self.counts["hello" if report.hello else "items"] += 1
        if not known or name in self.missing or (report.hello and new) or report.epoch > self.epoch:
            self._renew = True
        self.missing.discard(name)
        self.epoch = max(self.epoch, report.epoch)
        if report.hello or report.epoch < self.epoch or self._renew:
            return []
        member.joined = True
        for entry in report.entries:
            self._take_entry(member, report, entry)
        member.asked_first = self.now if member.asks else None
        return []

    def _take_entry(self, member: ItemMember, report: ItemReport, entry: ItemEntry) -> None:
        item = self._items.setdefault(entry.key, KnownItem(entry.key))
        item.name = entry.name if item.name is None else item.name
        before = item.standings.get(report.site)
        if before is not None and report.number <= before.number:
            if report.number == before.number and not before.open:
                self._orders[report.site].append(Order(report.number, entry.key, before.limits))
            return
        self._kept += before is None
        nothing = Limits(0.0, 0.0)
        item.standings[report.site] = Standing(report.number, report.tick, entry.counted, report.arrivals, nothing)
        member.asks.pop(entry.key, None)
        self._unsettled.add(entry.key)

    def _act(self) -> Outgoing:
        """Begin an epoch if one is needed; else settle the items that can be, and ask about the others."""
        if self._renew or (not self._starting and self._kept > self._most_kept):
            return self._begin()
        present = [name for name in self._sites if name not in self.missing]
        if self._starting:
            if not all(self._sites[name].joined for name in present):
                return self._spoken()
            self._starting, self._most_kept = False, 2 * self._kept + _SPARE
            self._unsettled |= self.raised_keys
            self.region, self.value = int(bool(self.raised_keys)), float(len(self.raised_keys))
        rules = Rules(self._function, len(present), self._function.default_limit(len(present)))
        for key in sorted(self._unsettled):
            self._settle_item(self._items[key], present, rules)
        return self._spoken()

    def _begin(self) -> Outgoing:
        """Welcome all sites to a new epoch, once all have been heard of."""
        present = [name for name in self._sites if name not in self.missing]
        self._renew = True
        unheard = [name for name in present if not self._sites[name].number]
        for name in unheard:  # they say hello by themselves, but not for ever
            if self._sites[name].asked_first is None:
                self._sites[name].note_request(self.now or 0, self.watch.patience or 0)
        if unheard or not present:
            return []
        self.epoch += 1
        self._renew, self._starting = False, True
        self._unsettled, self._kept = set(), 0
        self._orders.clear()
        self._items = {key: KnownItem(key, item.name, ABOVE) for key, item in self._items.items() if item.region}
        self.counts["syncs"] += 1
        for name in present:
            member = self._sites[name]
            member.joined, member.asks, member.asked_first = False, {}, None
        return [message for name in present for message in self._remind(name)]

    def _remind(self, name: str) -> Outgoing:
        """Send what a site has not answered: a welcome, or the items that it was asked for."""
        member = self._sites[name]
        member.note_request(self.now or 0, self.watch.patience or 0)
        if not member.number:
            return []
        if member.joined and name not in self.missing:
            return [(name, Orders(name, self.epoch, (), tuple(Ask(*ask) for ask in member.asks.items())).encode())]
        sites = max(len(self._sites) - len(self.missing), 1)
        return [(name, Welcome(name, self.epoch, self._function.default_limit(sites)).encode())]

    def _settle_item(self, item: KnownItem, present: list[str], rules: Rules) -> None:
        verdict = judge(item, rules)
        if verdict is None:
            self._ask_about(item, present, rules)
            return
        self._unsettled.discard(item.key)
        for site, limits in verdict.limits.items():
            known = item.standings[site]
            self._orders[site].append(Order(known.number, item.key, limits))
        if verdict.region != item.region:
            item.region = verdict.region
            self.alerts.append(self._alert(item))
            self.region, self.value = int(bool(self.raised_keys)), float(len(self.raised_keys))
        for site, limits in verdict.limits.items():
            item.standings[site].limits, item.standings[site].open = limits, False
        self.counts["balances"] += 1

    def _ask_about(self, item: KnownItem, present: list[str], rules: Rules) -> None:
        """Ask as many further sites as wait already, those with most room first; all, if that is sure to be needed."""
        waiting = item.open
        silent = [name for name in present if name not in waiting]
        if any(item.key in self._sites[name].asks for name in silent):
            return
        if self.watch.balance == "lazy" and not is_certain(item, rules):
            silent.sort(key=lambda name: -slack(item, name, self._sites[name].arrivals, rules))
            silent = silent[: max(len(waiting), 1)]
        for name in silent:
            known, member = item.standings.get(name), self._sites[name]
            member.asks[item.key] = known.number if known is not None else 0
            if member.asked_first is None:
                member.note_request(self.now or 0, self.watch.patience or 0)
            self._asks[name].append(Ask(item.key, member.asks[item.key]))

    def _spoken(self) -> Outgoing:
        """The orders and questions of one round, in one message for each site."""
        names = sorted(self._orders.keys() | self._asks.keys())
        out = [
            (name, Orders(name, self.epoch, tuple(self._orders[name]), tuple(self._asks[name])).encode())
            for name in names
        ]
        self._orders.clear()
        self._asks.clear()
        return out

    def _alert(self, item: KnownItem) -> Alert:
        """The alert that an item has changed its region; all sites have just reported it."""
        total = float(sum(known.counted.often for known in item.standings.values()))
        every = sum(known.arrivals for known in item.standings.values())
        share = (total / every if every else 0.0) if self._function.phi else None
        sites = sorted((-known.counted.often, name) for name, known in item.standings.items() if known.counted.often)
        listed = tuple(Contribution(name, float(-count)) for count, name in sites[:MOST_SITES])
        tick = max(known.tick for known in item.standings.values())
        lower, upper = bounds_of(item)
        return Alert(
            tick, item.region, 1 - item.region, total, self.epoch, _shown(item), lower, upper, share, listed
        )  # fmt: skip

    def _parts(self) -> list[bytes]:
        parts = [put_number(self.epoch), put_number(self.now is not None), put_signed(self.now or 0)]
        parts += [put_number(self._renew), put_number(self._starting), put_number(self.region is not None)]
        parts += [put_number(self._kept), put_number(self._most_kept), put_number(len(self._sites))]
        for name, member in self._sites.items():
            parts += [put_text(name), put_number(name in self.missing), *member.parts()]
        parts.append(put_number(len(self._items)))
        for item in self._items.values():
            parts += [put_number(item.key in self._unsettled), *item_parts(item)]
        return parts

    def _restore(self, reader: Reader) -> None:
        self.epoch, has_clock, now = reader.number(), reader.flag(), reader.signed()
        self.now = now if has_clock else None
        self._renew, self._starting, has_region = reader.flag(), reader.flag(), reader.flag()
        self._kept, self._most_kept = reader.number(), reader.number()
        for _ in range(reader.number()):
            name, missing = reader.text(), reader.flag()
            self._sites[name] = ItemMember.read(reader)
            if missing:
                self.missing.add(name)
        for _ in range(reader.number()):
            unsettled, item = reader.flag(), read_item(reader)
            self._items[item.key] = item
            if unsettled:
                self._unsettled.add(item.key)
        if has_region:
            self.region, self.value = int(bool(self.raised_keys)), float(len(self.raised_keys))


def _shown(item: KnownItem) -> Any:
    return item.key if item.name is None else item.name
