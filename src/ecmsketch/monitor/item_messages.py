"""What sites and the coordinator tell each other about single items. The bytes are in docs/monitoring.md."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

from ecmsketch.engines.names.names import decode_names, encode_names
from ecmsketch.errors import FormatError
from ecmsketch.inputs.item_text import show_item
from ecmsketch.inputs.kinds import NOTHING
from ecmsketch.monitor.any_item import Counted
from ecmsketch.monitor.wire import Reader, put_blob, put_float, put_number, put_signed, put_text, seal

REPORT, WELCOME, ORDERS = 6, 7, 8
"""Kinds of the messages in this file."""
MAX_ITEM_NAME = 256
"""Bytes of an item's name in a message. A longer one is cut and carries its hash."""
_MAX_KEY = 2**64 - 1
_LEAST, _MOST = 0, 1
_MAX_WHOLE = 2.0**53


class ItemEntry(NamedTuple):
    """How often one item came at a site. `name` is None if the coordinator knows it, or if the hash says it."""

    key: int
    counted: Counted
    name: Any = None


@dataclass(frozen=True)
class ItemReport:
    """Site to coordinator: how often some items came here, among so many arrivals. The site then waits, for each of
    them, for the order that names this report's number.

    hello   it belongs to no epoch: begin one with me
    """

    site: str
    epoch: int
    number: int
    tick: int
    hello: bool
    arrivals: int
    entries: tuple[ItemEntry, ...] = ()
    checksum: int = 0

    def encode(self) -> bytes:
        parts = [put_text(self.site), put_number(self.epoch), put_number(self.number), put_signed(self.tick)]
        parts += [put_number(self.hello), put_number(self.arrivals), put_number(len(self.entries))]
        for key, counted, name in self.entries:
            parts += [put_number(key), put_number(counted.often), put_signed(counted.often - counted.lower)]
            parts += [put_signed(counted.upper - counted.often), put_blob(name_bytes(key, name))]
        return seal(REPORT, parts)


@dataclass(frozen=True)
class Welcome:
    """Coordinator to site: a new epoch begins. Forget all limits, and report items whose value is `limit` or more."""

    site: str
    epoch: int
    limit: float

    def encode(self) -> bytes:
        return seal(WELCOME, (put_text(self.site), put_number(self.epoch), put_float(self.limit)))


class Limits(NamedTuple):
    """A site may be silent about an item while its value is between these, both included."""

    low: float
    high: float


class Order(NamedTuple):
    """The answer to a report, about one item: its limits from now on."""

    number: int
    key: int
    limits: Limits


class Ask(NamedTuple):
    """Report an item. I know your reports of it up to the one numbered `after`."""

    key: int
    after: int


@dataclass(frozen=True)
class Orders:
    """Coordinator to site: limits of items that were reported, and items to report."""

    site: str
    epoch: int
    orders: tuple[Order, ...] = ()
    asks: tuple[Ask, ...] = ()

    def encode(self) -> bytes:
        parts = [put_text(self.site), put_number(self.epoch), put_number(len(self.orders))]
        for number, key, limits in self.orders:
            parts += [put_number(number), put_number(key), _put_limits(limits)]
        parts.append(put_number(len(self.asks)))
        for key, after in self.asks:
            parts += [put_number(key), put_number(after)]
        return seal(ORDERS, parts)


def read_report(reader: Reader) -> ItemReport:
    """The report in some bytes."""
    site, epoch, number, tick = reader.text(), reader.number(), reader.number(), reader.signed()
    hello, arrivals, count = reader.flag(), reader.number(), reader.number()
    entries = tuple(_read_entry(reader) for _ in range(count))
    report = ItemReport(site, epoch, number, tick, hello, arrivals, entries, reader.checksum)
    if len({entry.key for entry in entries}) < count or not number:
        raise reader.wrong("a report has no number, or an item twice")
    return report


def read_welcome(reader: Reader) -> Welcome:
    """The welcome in some bytes."""
    welcome = Welcome(reader.text(), reader.number(), reader.float())
    if not 0 <= welcome.limit < inf:
        raise reader.wrong(f"a limit is {welcome.limit}, expected 0 or more")
    return welcome


def read_orders(reader: Reader) -> Orders:
    """The orders in some bytes."""
    site, epoch = reader.text(), reader.number()
    orders = tuple(
        Order(reader.number(), reader.number(_MAX_KEY), _read_limits(reader)) for _ in range(reader.number())
    )
    asks = tuple(Ask(reader.number(_MAX_KEY), reader.number()) for _ in range(reader.number()))
    return Orders(site, epoch, orders, asks)


def _read_entry(reader: Reader) -> ItemEntry:
    key, count = reader.number(_MAX_KEY), reader.number(2**53)
    counted = Counted(count, count - reader.signed(), count + reader.signed())
    return ItemEntry(key, counted, read_name(key, reader))


def _put_limits(limits: Limits) -> bytes:
    """One of the two: an item is below, or it is above."""
    side, limit = (_LEAST, limits.low) if limits.high == inf else (_MOST, limits.high)
    if abs(limit) < _MAX_WHOLE and limit == int(limit):
        return put_number(side) + put_signed(int(limit))
    return put_number(2 + side) + put_float(limit)


def _read_limits(reader: Reader) -> Limits:
    form = reader.number(3)
    limit = reader.float() if form > 1 else float(reader.signed())
    return Limits(limit, inf) if form % 2 == _LEAST else Limits(-inf, limit)


def short_name(key: int, name: Any) -> Any:
    """An item's name, or if that is long, its beginning and its hash, as text."""
    if name is None or len(encode_names([name])) <= MAX_ITEM_NAME:
        return name
    begin = show_item(name, NOTHING).encode()[: MAX_ITEM_NAME - 64].decode(errors="ignore")
    return f"{begin}{_mark(key)}"


def name_bytes(key: int, name: Any) -> bytes:
    """A name for a message; nothing if the hash says it, or if there is none."""
    return b"" if name is None or name == key else encode_names([short_name(key, name)])


def read_name(key: int, reader: Reader) -> Any:
    """The name that `name_bytes` wrote, if it is that of the hash."""
    data = reader.take(reader.number(MAX_ITEM_NAME))
    if not data:
        return None
    try:
        ((found, name),) = decode_names(data).items()
    except (FormatError, ValueError) as error:
        raise reader.wrong(f"the name of an item is not as it should be ({error})") from error
    if found != key and not (isinstance(name, str) and name.endswith(_mark(key))):
        raise reader.wrong("the name of an item is not that of its hash")
    return name


def _mark(key: int) -> str:
    """What a name that was cut ends with."""
    return f"… #{key:016x}"
