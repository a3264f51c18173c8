"""The protocol of a site whose vector is watched: it tests locally whether it can matter, and speaks only then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from ecmsketch.errors import ConfigError, FormatError, InputError
from ecmsketch.monitor import messages
from ecmsketch.monitor.change_messages import Ack, Width
from ecmsketch.monitor.change_sending import Base, Meter, Sending, put_base, read_base
from ecmsketch.monitor.functions import Vector
from ecmsketch.monitor.local_test import LocalTest
from ecmsketch.monitor.messages import Balance, Recall, Report, Request, Sync
from ecmsketch.monitor.vector_bytes import difference
from ecmsketch.monitor.watch import MAX_PATIENCE, Watch
from ecmsketch.monitor.wire import Reader, put_blob, put_number, put_signed, put_text, put_vector, seal

_STATE = 64
"""Kind of the bytes of a site's state."""


class VectorSite:
    """One of several sites whose vectors are watched together; it is given its vector from outside.

    Once it has reported, it waits for the coordinator's answer to that very report. The answer says whether it goes on
    with a local test, or sends its changes.
    """

    def __init__(self, name: str, watch: Watch) -> None:
        self.name = messages.check_name(name)
        self.watch = watch
        if watch.function.per_item and type(self) is VectorSite:
            raise ConfigError(f"watch: {watch.function!r} has no vector; use Site")
        self.now: int | None = None
        self.epoch = 0
        self._test: LocalTest | None = None
        self._sites = 1
        self._slack: Vector | None = None
        self._vector: Vector | None = None
        self._number = 0
        self._owes = False
        self._pending: Report | None = None
        self._base: Base = None
        self._sending: Sending | None = None
        self._meter = Meter()
        self._sent_at = 0
        self._pause = 0

    @property
    def waiting(self) -> bool:
        """Whether a report of this site is not answered yet."""
        return self._pending is not None or (self._sending is not None and self._sending.unheard is not None)

    @property
    def unanswered(self) -> list[bytes]:
        """Reports that are not answered yet: send them again if a connection was lost, and they perhaps with it."""
        found = [] if self._pending is None else [self._pending_bytes]
        change = None if self._sending is None else self._sending.unheard
        return found if change is None else [change, *found]

    @property
    def synchronised(self) -> bool:
        """Whether it tests its vector against a reference, or sends its changes."""
        return (self._test is not None or self._sending is not None) and not self.waiting

    @property
    def vector(self) -> Vector | None:
        """What it would report now."""
        return self._vector

    @property
    def drift(self) -> Vector | None:
        """What it tests: its scaled vector and slack. The average over all sites is the combined vector."""
        vector = self.vector
        if vector is None or self._slack is None:
            return None
        return self.watch.scale(self._sites) * vector + self._slack

    def check(self, vector: Any, tick: int) -> list[bytes]:
        """Take a new vector at a tick; returns what to send to the coordinator."""
        vector = np.asarray(vector, np.float64)
        if self._vector is not None and vector.shape != self._vector.shape:
            raise InputError(f"vector: expected shape {self._vector.shape}, got {vector.shape}")
        if not np.isfinite(vector).all():
            raise InputError("vector: expected finite numbers only")
        self._vector = vector
        return self._check(tick)

    def receive(self, message: bytes) -> list[bytes]:
        """Take a message of the coordinator; returns what to send back. Late and repeated ones change nothing."""
        got = messages.decode(message)
        if got.site != self.name:
            raise InputError(f"message: it is for site {got.site!r}, this is {self.name!r}")
        if isinstance(got, Request):
            return self._asked(got)
        if isinstance(got, Recall):
            return self._begin_anew(got.number) if self._number < got.number else []
        if isinstance(got, Ack):
            return self._heard(got)
        if isinstance(got, Width) and not got.answers:
            return self._widened(got)
        if not isinstance(got, Sync | Balance | Width):
            raise InputError("message: expected one to a site with a vector, got another; do all watch the same?")
        report = self._pending
        if report is None or got.answers != report.checksum:
            return []
        if isinstance(got, Sync):
            self._synchronise(got, report)
        elif isinstance(got, Width):
            self._begin_sending(got, report)
        elif got.epoch == self.epoch and self._test is not None and got.shift.shape == report.vector.shape:
            self._set_drift(self._test.reference + got.shift, report)
        return [] if self._pending is not None else self._resume(report)

    def rejoin(self) -> list[bytes]:
        """Ask for a full synchronisation: needed after a restart from a state that may not be the newest."""
        self._forget()
        return self._report(messages.HELLO)

    def serialize(self) -> bytes:
        """Everything, as bytes; a restart from any but the newest needs `rejoin`."""
        return seal(_STATE, self._parts())

    @classmethod
    def deserialize(cls, data: bytes, watch: Watch) -> Self:
        """The site that `serialize` wrote, under the same watch; a FormatError if the bytes are anything else."""
        reader = Reader(data, "site")
        if reader.kind != _STATE:
            raise reader.wrong("these bytes are a message or a coordinator")
        try:
            site = cls(reader.text(), watch)
        except InputError as error:
            raise FormatError(f"site: {error}") from error
        site._restore(reader)
        reader.done()
        return site

    def _check(self, tick: int) -> list[bytes]:
        self._move(tick)
        if self.watch.mode == "auto" and (self._sending is None or self._sending.width):
            self._meter.read(self.name, self._number, self.vector)
        if self._pending is not None:
            return self._send_again(self._pending_bytes)
        if self._sending is not None:
            return self._check_change()
        if self._test is None:
            return self._report(messages.HELLO)
        drift = self.drift
        if drift is None or self._test.passes(drift):
            return []
        return self._report(messages.VIOLATION)

    def _move(self, tick: int) -> None:
        self.now = tick if self.now is None else max(self.now, tick)

    def _report(self, reason: int) -> list[bytes]:
        vector = self.vector
        if vector is None:
            return []
        self._number, self._owes = self._number + 1, False
        number, base = self._base or (0, None)
        change = difference(vector, base)
        sent = (vector, 0) if change is None else (change, number)
        data = Report(self.name, self.epoch, self._number, self.now or 0, reason, *sent, self._meter.take()).encode()
        self._wait_for(data)
        self._sent_at, self._pause = self.now or 0, self.watch.patience or 0
        return [data]

    def _wait_for(self, data: bytes) -> None:
        report = messages.decode(data)
        if not isinstance(report, Report) or report.site != self.name:
            raise FormatError("site: what it waits for is not a report of its own")
        if report.base:
            if self._base is None or self._base[1].shape != report.vector.shape:
                raise FormatError("site: its report is to be added to one that is not there")
            report = replace(report, base=0, vector=self._base[1] + report.vector)
        self._pending, self._pending_bytes = report, data

    def _send_again(self, data: bytes) -> list[bytes]:
        """Send the same again, in growing intervals."""
        now = self.now or 0
        if self.watch.patience is None or now - self._sent_at < self._pause:
            return []
        self._sent_at, self._pause = now, min(2 * self._pause, MAX_PATIENCE * self.watch.patience)
        return [data]

    def _synchronise(self, sync: Sync, report: Report) -> None:
        if sync.epoch <= self.epoch or sync.reference.shape != report.vector.shape:
            return
        reference = sync.reference
        if sync.base:
            if self._test is None or sync.base != self.epoch:
                return
            reference = self._test.reference + reference
        self.epoch, self._sites = sync.epoch, sync.sites
        self._test, self._sending = LocalTest(self.watch, reference, sync.low, sync.high), None
        self._set_drift(reference, report)

    def _set_drift(self, drift: Vector, report: Report) -> None:
        if drift.shape == report.vector.shape:
            self._slack = drift - self.watch.scale(self._sites) * report.vector
            self._pending, self._base = None, (report.number, report.vector)

    def _begin_sending(self, width: Width, report: Report) -> None:
        """From now on send changes of the vector that was reported."""
        self.epoch, self._test, self._slack = max(width.epoch, self.epoch), None, None
        self._sending = Sending(report.vector, width.width, report.tick)
        self._pending, self._base = None, (report.number, report.vector)

    def _check_change(self) -> list[bytes]:
        """Send the vector's change, if it is beyond the width or was asked for."""
        sending, vector = self._sending, self.vector
        assert sending is not None
        if sending.unheard is not None:
            return self._send_again(sending.unheard)
        if vector is None or not (sending.owes or sending.is_beyond(vector)):
            return []
        self._number += 1
        reply = (self.epoch, self._meter.take()) if sending.owes else (0, 0)
        data = sending.change(self.name, self._number, self.now or 0, vector, *reply)
        if self.watch.patience is not None:
            sending.unheard, self._sent_at, self._pause = data, self.now or 0, self.watch.patience
        return [data]

    def _heard(self, ack: Ack) -> list[bytes]:
        """A change has come: go on with the next, or with the report that was asked for meanwhile."""
        if self._sending is None or self._sending.unheard is None or ack.number != self._number:
            return []
        self._sending.unheard = None
        if self._pending is not None:
            return []
        return self._report(messages.ANSWER) if self._owes else self._check_change()

    def _widened(self, width: Width) -> list[bytes]:
        sending = self._sending
        if sending is None or self._pending is not None or width.epoch <= self.epoch:
            return []
        self.epoch, sending.width = width.epoch, width.width
        sending.owes = sending.owes or width.ask
        if width.width:
            self._meter.begin(self.vector)
        return self._check_change()

    def _resume(self, report: Report) -> list[bytes]:
        """Catch up with what happened while it waited."""
        vector, answer = self.vector, self._owes and self._sending is not None  # a change would be no answer
        changed = vector is not None and not np.array_equal(vector, report.vector)  # the same was tested already
        found = self._check(self.now or 0) if changed and not answer else []
        return found or (self._report(messages.ANSWER) if self._owes else [])

    def _asked(self, request: Request) -> list[bytes]:
        """Report, unless a report is under way; a request may overtake the answer to the report before it."""
        if self._number < request.after:
            return self._begin_anew(request.after)
        if not self.waiting:
            return self._report(messages.ANSWER)
        self._owes = self._owes or self._pending is None or self._number == request.after
        return []

    def _begin_anew(self, number: int) -> list[bytes]:
        self._number = number
        return self.rejoin()

    def _forget(self) -> None:
        self.epoch, self._test, self._slack, self._pending = 0, None, None, None
        self._base, self._sending, self._owes = None, None, False

    def _parts(self) -> list[bytes]:
        parts = [put_text(self.name), put_number(self.now is not None), put_signed(self.now or 0)]
        parts += [put_number(self.epoch), put_number(self._number), put_number(self._sites)]
        parts += [put_number(self._owes), put_signed(self._sent_at), put_number(self._pause)]
        parts += [*self._meter.parts(), *put_base(self._base), put_number(self._sending is not None)]
        parts += [] if self._sending is None else self._sending.parts()
        parts += [put_blob(b"" if self._pending is None else self._pending_bytes), put_number(self._test is not None)]
        if self._test is not None and self._slack is not None:
            parts += [*self._test.parts(), put_vector(self._slack)]
        parts.append(put_number(self._vector is not None))
        if self._vector is not None:
            parts.append(put_vector(self._vector))
        return parts

    def _restore(self, reader: Reader) -> None:
        has_clock, now = reader.flag(), reader.signed()
        self.now = now if has_clock else None
        self.epoch, self._number, self._sites = reader.number(), reader.number(), reader.number(2**31)
        self._owes, self._sent_at, self._pause = reader.flag(), reader.signed(), reader.number()
        self._meter, self._base = Meter.read_from(reader), read_base(reader)
        self._sending = Sending.read_from(reader) if reader.flag() else None
        pending = reader.blob()
        if pending:
            self._wait_for(pending)
        if reader.flag():
            self._test, self._slack = LocalTest.read_from(reader, self.watch), reader.vector()
            if self._slack.shape != self._test.reference.shape or self._sites < 1:
                raise reader.wrong("its slack is not of its reference's shape")
        if reader.flag():
            self._vector = reader.vector()
