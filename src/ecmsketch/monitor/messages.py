"""What sites and the coordinator tell each other. The bytes are in docs/monitoring.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ecmsketch.errors import InputError
from ecmsketch.monitor import change_messages, item_messages
from ecmsketch.monitor.change_messages import Ack, Change, Width
from ecmsketch.monitor.functions import Vector
from ecmsketch.monitor.item_messages import ItemReport, Orders, Welcome
from ecmsketch.monitor.wire import (
    MAX_NAME,
    Reader,
    put_float,
    put_number,
    put_signed,
    put_text,
    put_vector,
    seal,
)

HELLO, VIOLATION, ANSWER = 0, 1, 2
"""Why a site reports: it has no reference yet, or it failed its local test, or it was asked."""
REASONS = ("hello", "violation", "answer")

_REPORT, _REQUEST, _SYNC, _BALANCE, _RECALL = 1, 2, 3, 4, 5
_KINDS = {_REPORT: "report", _REQUEST: "request", _SYNC: "sync", _BALANCE: "balance", _RECALL: "recall",
          item_messages.REPORT: "items", item_messages.WELCOME: "welcome", item_messages.ORDERS: "orders",
          change_messages.CHANGE: "change", change_messages.REPLY: "reply", change_messages.WIDTH: "width",
          change_messages.ACK: "ack"}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Report:
    """Site to coordinator: my vector. The site then waits for the answer that names this report's checksum.

    base    the number of the report that was answered last, to whose vector this one is to be added; 0 for none
    spared  bytes that changes at every check would have taken since then
    """

    site: str
    epoch: int
    number: int
    tick: int
    reason: int
    vector: Vector
    base: int = 0
    spared: int = 0
    checksum: int = 0

    def encode(self) -> bytes:
        head = (put_text(self.site), put_number(self.epoch), put_number(self.number), put_signed(self.tick))
        tail = (put_number(self.reason), put_number(self.base), put_number(self.spared), put_vector(self.vector))
        return seal(_REPORT, (*head, *tail))


@dataclass(frozen=True)
class Request:
    """Coordinator to site: report. I know your reports up to the one numbered `after`."""

    site: str
    after: int

    def encode(self) -> bytes:
        return seal(_REQUEST, (put_text(self.site), put_number(self.after)))


@dataclass(frozen=True, eq=False)
class Sync:
    """Coordinator to site: a new epoch of `sites` sites begins; at the vector that you reported, your drift is the
    reference; values from `low` to `high` need no message.

    base  the epoch to whose reference this one is to be added; 0 for none
    """

    site: str
    epoch: int
    answers: int
    sites: int
    low: float
    high: float
    reference: Vector
    base: int = 0

    def encode(self) -> bytes:
        head = (put_text(self.site), put_number(self.epoch), put_number(self.answers), put_number(self.sites))
        tail = (put_float(self.low), put_float(self.high), put_number(self.base), put_vector(self.reference))
        return seal(_SYNC, (*head, *tail))


@dataclass(frozen=True, eq=False)
class Balance:
    """Coordinator to site, within an epoch: at the vector that you reported, your drift is the reference and this."""

    site: str
    epoch: int
    answers: int
    shift: Vector

    def encode(self) -> bytes:
        head = (put_text(self.site), put_number(self.epoch), put_number(self.answers))
        return seal(_BALANCE, (*head, put_vector(self.shift)))


@dataclass(frozen=True)
class Recall:
    """Coordinator to site: I know later reports of yours, up to `number`. If you do not, you are restored from an
    old state: begin anew.
    """

    site: str
    number: int

    def encode(self) -> bytes:
        return seal(_RECALL, (put_text(self.site), put_number(self.number)))


Message = Report | Request | Sync | Balance | Recall | ItemReport | Welcome | Orders | Change | Width | Ack


def message_kind(data: bytes) -> str:
    """The kind of message that some bytes are, by name; a FormatError if they are none."""
    return _KINDS[_open(data).kind]


def decode(data: bytes) -> Message:
    """The message in some bytes, or a FormatError."""
    reader = _open(data)
    message = _DECODERS[reader.kind](reader)
    reader.done()
    return message


def _open(data: bytes) -> Reader:
    reader = Reader(data, "message")
    if reader.kind not in _KINDS:
        raise reader.wrong(
            f"expected one of kind {min(_KINDS)} to {max(_KINDS)}, got kind {reader.kind}; "
            "the state of a site or a coordinator is not a message"
        )
    return reader


def _report(reader: Reader) -> Report:
    site, epoch, number, tick = reader.text(), reader.number(), reader.number(), reader.signed()
    reason, base, spared = reader.number(ANSWER), reader.number(), reader.number()
    return Report(site, epoch, number, tick, reason, reader.vector(), base, spared, reader.checksum)


def _request(reader: Reader) -> Request:
    return Request(reader.text(), reader.number())


def _sync(reader: Reader) -> Sync:
    site, epoch, answers, sites = reader.text(), reader.number(), reader.number(2**32 - 1), reader.number(2**31)
    if sites < 1:
        raise reader.wrong("a synchronisation of no sites")
    low, high, base = reader.float(), reader.float(), reader.number()
    return Sync(site, epoch, answers, sites, low, high, reader.vector(), base)


def _balance(reader: Reader) -> Balance:
    return Balance(reader.text(), reader.number(), reader.number(2**32 - 1), reader.vector())


def _recall(reader: Reader) -> Recall:
    return Recall(reader.text(), reader.number())


_DECODERS: dict[int, Callable[[Reader], Message]] = {
    _REPORT: _report,
    _REQUEST: _request,
    _SYNC: _sync,
    _BALANCE: _balance,
    _RECALL: _recall,
    item_messages.REPORT: item_messages.read_report,
    item_messages.WELCOME: item_messages.read_welcome,
    item_messages.ORDERS: item_messages.read_orders,
    change_messages.CHANGE: change_messages.read_change,
    change_messages.REPLY: change_messages.read_change,
    change_messages.WIDTH: change_messages.read_width,
    change_messages.ACK: change_messages.read_ack,
}


def check_name(site: str) -> str:
    """The name itself, if it can be a site's."""
    if not isinstance(site, str) or not site or len(site.encode()) > MAX_NAME:
        raise InputError(f"site: expected a name of 1 to {MAX_NAME} bytes, got {site!r}")
    return site


def check_vector(site: str, vector: Vector, shape: tuple[int, ...]) -> None:
    """Refuse a site's vector if it has another shape than those of the others."""
    check_name(site)
    if vector.shape != shape:
        raise InputError(
            f"message: site {site!r} reports a vector of shape {vector.shape}, others {shape}; "
            "do they all watch the same?"
        )
