"""A site that watches all items at once (AnyItem, AnyShare): it has limits for items, and reports those beyond them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

import numpy as np

from ecmsketch.errors import InputError
from ecmsketch.monitor import messages
from ecmsketch.monitor.any_item import Counted, ItemCounts, ItemFunction
from ecmsketch.monitor.functions import Vector
from ecmsketch.monitor.item_messages import ItemEntry, ItemReport, Limits, Order, Orders, Welcome
from ecmsketch.monitor.messages import Recall
from ecmsketch.monitor.site import Site
from ecmsketch.monitor.watch import MAX_PATIENCE, Watch
from ecmsketch.monitor.wire import Reader, put_blob, put_float, put_number, put_signed

_MAX_KEY = 2**64 - 1


@dataclass
class _Sent:
    """A report that is not answered for all of its items, or a hello, and when it was sent."""

    data: bytes
    left: set[int]
    at: int
    pause: int


class ItemSite(Site):
    """Has a limit for every item: one for all that nobody has spoken of, and others by order of the coordinator.

    An item that it has reported is not tested before the order comes that names this report.
    """

    def __init__(self, name: str, watch: Watch) -> None:
        super().__init__(name, watch)
        assert isinstance(watch.function, ItemFunction)
        self._function = watch.function
        self._limit: float | None = None
        self._limits: dict[int, tuple[int, Limits]] = {}
        self._awaited: dict[int, int] = {}
        self._owed: set[int] = set()
        self._sent: dict[int, _Sent] = {}
        self._counted: ItemCounts | None = None

    @property
    def waiting(self) -> bool:
        return bool(self._sent)

    @property
    def unanswered(self) -> list[bytes]:
        return [sent.data for sent in self._sent.values()]

    @property
    def synchronised(self) -> bool:
        return self._limit is not None and not self._sent

    @property
    def vector(self) -> Vector:
        raise self._function._no_vector()

    @property
    def counts(self) -> ItemCounts:
        """How often the items that are named here came, as it would report now."""
        assert self.watch.last is not None
        if self._counted is None:
            self._counted = self._function.counts(self._sketches, (self.now or 0) - self.watch.last)
        return self._counted

    def receive(self, message: bytes) -> list[bytes]:
        got = messages.decode(message)
        if got.site != self.name:
            raise InputError(f"message: it is for site {got.site!r}, this is {self.name!r}")
        if isinstance(got, Recall):
            return self._begin_anew(got.number) if self._number < got.number else []
        if isinstance(got, Welcome):
            return self._welcomed(got)
        if not isinstance(got, Orders):
            raise InputError("message: expected one to a site that watches any item, got another")
        return self._ordered(got) if got.epoch == self.epoch and self._limit is not None else []

    def rejoin(self) -> list[bytes]:
        self._forget()
        return self._say((), hello=True)

    def _forget(self) -> None:
        self.epoch, self._limit = 0, None
        self._limits, self._awaited, self._owed, self._sent = {}, {}, set(), {}

    def _check(self, tick: int) -> list[bytes]:
        self._move(tick)
        again = self._repeat()
        if self._limit is None:
            return again if self._sent else self._say((), hello=True)
        return again + self._speak(self._beyond())

    def _move(self, tick: int) -> None:
        self._counted = None  # what was observed, or has expired, counts
        super()._move(tick)

    def _welcomed(self, welcome: Welcome) -> list[bytes]:
        """Begin the epoch with a report of all items that are not below the limit, or of none."""
        if welcome.epoch > self.epoch:
            self._forget()
            self.epoch, self._limit = welcome.epoch, welcome.limit
            return self._say(self._beyond())
        return self._say(())  # it was welcomed before, or knows a later epoch: the coordinator should hear of it

    def _ordered(self, orders: Orders) -> list[bytes]:
        for order in orders.orders:
            self._take_order(order)
        asked = set()
        for key, after in orders.asks:
            if self._number < after:
                return self._begin_anew(after)
            known = self._awaited.get(key)
            if known is None and self._limits.get(key, (0, None))[0] <= after:
                asked.add(key)
            elif known == after:
                self._owed.add(key)  # the request has overtaken the order before it
        asked |= {key for key in self._owed if key not in self._awaited}
        self._owed -= asked
        return self._speak(asked | self._beyond())

    def _take_order(self, order: Order) -> None:
        number, key, limits = order
        if self._awaited.get(key) != number:
            return
        del self._awaited[key]
        self._limits[key] = number, limits
        self._sent[number].left.discard(key)
        if not self._sent[number].left:
            del self._sent[number]

    def _beyond(self) -> set[int]:
        """Items that are not within their limits, and not reported yet; limits that are not needed are dropped."""
        assert self._limit is not None
        counts, limit = self.counts, self._limit
        value = counts.often - self._function.phi * counts.arrivals
        suspects = counts.keys[(value >= limit) & (counts.often > 0)].tolist()
        found = {key for key in suspects if key not in self._limits and key not in self._awaited}
        for key, (_, limits) in list(self._limits.items()):
            if key in self._awaited:
                continue
            now = self._value(counts.of(key))
            if not limits.low <= now <= limits.high:
                found.add(key)
            elif limits.low == -inf and limits.high >= limit and now < limit / 2:
                del self._limits[key]  # the limit for all is the stricter one
        return found

    def _value(self, counted: Counted) -> float:
        return counted.often - self._function.phi * self.counts.arrivals

    def _speak(self, keys: Iterable[int]) -> list[bytes]:
        wanted = sorted(keys)
        return self._say(wanted) if wanted else []

    def _say(self, keys: Iterable[int], hello: bool = False) -> list[bytes]:
        """A report of some items. It is repeated until all of them are answered, or a hello until an epoch begins."""
        entries = tuple(self._entry(key) for key in sorted(keys))
        self._number += 1
        every = self.counts.arrivals if entries else 0
        now = self.now or 0
        data = ItemReport(self.name, self.epoch, self._number, now, hello, every, entries).encode()
        if entries or hello:
            left = {entry.key for entry in entries}
            self._awaited.update(dict.fromkeys(left, self._number))
            self._sent[self._number] = _Sent(data, left, now, self.watch.patience or 0)
        return [data]

    def _entry(self, key: int) -> ItemEntry:
        counted = self.counts.of(key)
        known = key in self._limits or not counted.often
        return ItemEntry(key, counted, None if known else self._sketches[""].name_of(key))

    def _repeat(self) -> list[bytes]:
        """Send what is not answered again, in growing intervals."""
        patience, now = self.watch.patience, self.now or 0
        if patience is None:
            return []
        late = [sent for sent in self._sent.values() if now - sent.at >= sent.pause]
        for sent in late:
            sent.at, sent.pause = now, min(2 * sent.pause, MAX_PATIENCE * patience)
        return [sent.data for sent in late]

    def _parts(self) -> list[bytes]:
        parts = super()._parts()
        parts += [put_number(self._limit is not None), put_float(self._limit or 0.0), put_number(len(self._limits))]
        for key, (number, limits) in self._limits.items():
            parts += [put_number(key), put_number(number), put_float(limits.low), put_float(limits.high)]
        parts.append(put_number(len(self._sent)))
        for number, sent in self._sent.items():
            parts += [put_number(number), put_signed(sent.at), put_number(sent.pause), put_blob(sent.data)]
            parts += _put_keys(sent.left)
        return parts + _put_keys(self._owed)

    def _restore(self, reader: Reader) -> None:
        super()._restore(reader)
        has_limit, limit = reader.flag(), reader.float()
        self._limit = limit if has_limit else None
        for _ in range(reader.number()):
            key, number = reader.number(_MAX_KEY), reader.number()
            self._limits[key] = number, Limits(reader.float(), reader.float())
        for _ in range(reader.number()):
            number, at, pause, data = reader.number(), reader.signed(), reader.number(), reader.blob()
            report = messages.decode(data)
            if not isinstance(report, ItemReport) or report.site != self.name or report.number != number:
                raise reader.wrong("what it waits for is not a report of its own")
            self._sent[number] = _Sent(data, _read_keys(reader), at, pause)
            self._awaited.update(dict.fromkeys(self._sent[number].left, number))
        self._owed = _read_keys(reader)


def _put_keys(keys: set[int]) -> list[bytes]:
    return [put_number(len(keys)), *(put_number(key) for key in sorted(keys))]


def _read_keys(reader: Reader) -> set[int]:
    return {reader.number(_MAX_KEY) for _ in range(reader.number())}


def combined_counts(sites: Iterable[ItemSite]) -> dict[int, float]:
    """The values of all items that any of some sites names, over all of them: what nobody has, for simulations."""
    found = [site.counts for site in sites]
    every = sum(counts.arrivals for counts in found)
    keys = np.concatenate([counts.keys for counts in found])
    values = np.concatenate([counts.often for counts in found])
    phi = next((site._function.phi for site in sites), 0.0)
    known, where = np.unique(keys, return_inverse=True)
    total = np.bincount(where, values, len(known))
    return {int(key): float(value) - phi * every for key, value in zip(known, total, strict=True) if value > 0}
