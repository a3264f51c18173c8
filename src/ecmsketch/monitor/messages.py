"""What sites and the coordinator tell each other. The bytes are in docs/monitoring.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ecmsketch.errors import InputError
from ecmsketch.monitor.functions import Vector
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
_KINDS = {_REPORT: "report", _REQUEST: "request", _SYNC: "sync", _BALANCE: "balance", _RECALL: "recall"}


@dataclass(frozen=True, eq=False)
class Report:
    """Site to coordinator: my vector. The site then waits for the Sync or Balance that names this report's checksum."""

    site: str
    epoch: int
    number: int
    tick: int
    reason: int
    vector: Vector
    checksum: int = 0

    def encode(self) -> bytes:
        head = (put_text(self.site), put_number(self.epoch), put_number(self.number), put_signed(self.tick))
        return seal(_REPORT, (*head, put_number(self.reason), put_vector(self.vector)))


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
    """

    site: str
    epoch: int
    answers: int
    sites: int
    low: float
    high: float
    reference: Vector

    def encode(self) -> bytes:
        head = (put_text(self.site), put_number(self.epoch), put_number(self.answers), put_number(self.sites))
        return seal(_SYNC, (*head, put_float(self.low), put_float(self.high), put_vector(self.reference)))


@dataclass(frozen=True, eq=False)
class Balance:
    """Coordinator to site, within an epoch: at the vector that you reported, your drift is this."""

    site: str
    epoch: int
    answers: int
    drift: Vector

    def encode(self) -> bytes:
        head = (put_text(self.site), put_number(self.epoch), put_number(self.answers))
        return seal(_BALANCE, (*head, put_vector(self.drift)))


@dataclass(frozen=True)
class Recall:
    """Coordinator to site: I know later reports of yours, up to `number`. If you do not, you are restored from an
    old state: begin anew.
    """

    site: str
    number: int

    def encode(self) -> bytes:
        return seal(_RECALL, (put_text(self.site), put_number(self.number)))


Message = Report | Request | Sync | Balance | Recall


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
    return Report(site, epoch, number, tick, reader.number(ANSWER), reader.vector(), reader.checksum)


def _request(reader: Reader) -> Request:
    return Request(reader.text(), reader.number())


def _sync(reader: Reader) -> Sync:
    site, epoch, answers, sites = reader.text(), reader.number(), reader.number(2**32 - 1), reader.number(2**31)
    if sites < 1:
        raise reader.wrong("a synchronisation of no sites")
    return Sync(site, epoch, answers, sites, reader.float(), reader.float(), reader.vector())


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
}


def check_name(site: str) -> str:
    """The name itself, if it can be a site's."""
    if not isinstance(site, str) or not site or len(site.encode()) > MAX_NAME:
        raise InputError(f"site: expected a name of 1 to {MAX_NAME} bytes, got {site!r}")
    return site
