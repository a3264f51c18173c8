"""Site: observes arrivals, tests locally whether they can matter, and speaks only then. Bytes in, bytes out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ecmsketch.errors import ConfigError, FormatError, InputError
from ecmsketch.inputs.ticks import Tick, to_tick
from ecmsketch.monitor import messages
from ecmsketch.monitor.functions import Vector
from ecmsketch.monitor.local_test import LocalTest
from ecmsketch.monitor.messages import Recall, Report, Request, Sync
from ecmsketch.monitor.watch import MAX_PATIENCE, Watch
from ecmsketch.monitor.wire import Reader, put_blob, put_float, put_number, put_signed, put_text, put_vector, seal
from ecmsketch.sketch import EcmSketch

_STATE = 64
"""Kind of the bytes of a site's state."""


class VectorSite:
    """One of several sites whose vectors are watched together; it is given its vector from outside.

    Once it has reported, it waits, without testing, for the coordinator's answer to that very report.
    """

    def __init__(self, name: str, watch: Watch) -> None:
        self.name = messages.check_name(name)
        self.watch = watch
        self.now: int | None = None
        self.epoch = 0
        self._test: LocalTest | None = None
        self._sites = 1
        self._slack: Vector | None = None
        self._vector: Vector | None = None
        self._number = 0
        self._owes = False
        self._pending: Report | None = None
        self._sent_at = 0
        self._pause = 0

    @property
    def waiting(self) -> bool:
        """Whether a report of this site is not answered yet."""
        return self._pending is not None

    @property
    def synchronised(self) -> bool:
        """Whether it has a reference, and tests its vector against it."""
        return self._test is not None and not self.waiting

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
        if isinstance(got, Report):
            raise InputError("message: expected a message to a site, got a site's report")
        report = self._pending
        if report is None or got.answers != report.checksum:
            return []
        if isinstance(got, Sync):
            self._synchronise(got, report)
        elif got.epoch == self.epoch:
            self._set_drift(got.drift, report)
        return [] if self.waiting else self._resume(report)

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
        if self._pending is not None:
            return self._repeat()
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
        data = Report(self.name, self.epoch, self._number, self.now or 0, reason, vector).encode()
        self._wait_for(data)
        self._sent_at, self._pause = self.now or 0, self.watch.patience or 0
        return [data]

    def _wait_for(self, data: bytes) -> None:
        report = messages.decode(data)
        assert isinstance(report, Report)
        self._pending, self._pending_bytes = report, data

    def _repeat(self) -> list[bytes]:
        """Send the same report again, in growing intervals."""
        now = self.now or 0
        if self.watch.patience is None or now - self._sent_at < self._pause:
            return []
        self._sent_at, self._pause = now, min(2 * self._pause, MAX_PATIENCE * self.watch.patience)
        return [self._pending_bytes]

    def _synchronise(self, sync: Sync, report: Report) -> None:
        if sync.epoch <= self.epoch or sync.reference.shape != report.vector.shape:
            return
        self.epoch, self._sites = sync.epoch, sync.sites
        self._test = LocalTest(self.watch, sync.reference, sync.low, sync.high)
        self._set_drift(sync.reference, report)

    def _set_drift(self, drift: Vector, report: Report) -> None:
        if drift.shape == report.vector.shape:
            self._slack = drift - self.watch.scale(self._sites) * report.vector
            self._pending = None

    def _resume(self, report: Report) -> list[bytes]:
        """Catch up with what happened while it waited."""
        vector = self.vector
        changed = vector is not None and not np.array_equal(vector, report.vector)  # the same was tested already
        found = self._check(self.now or 0) if changed else []
        return found or (self._report(messages.ANSWER) if self._owes else [])

    def _asked(self, request: Request) -> list[bytes]:
        """Report, unless a report is under way; a request may overtake the answer to the report before it."""
        if self._number < request.after:
            return self._begin_anew(request.after)
        if not self.waiting:
            return self._report(messages.ANSWER)
        self._owes = self._owes or self._number == request.after
        return []

    def _begin_anew(self, number: int) -> list[bytes]:
        self._number = number
        return self.rejoin()

    def _forget(self) -> None:
        self.epoch, self._test, self._slack, self._pending = 0, None, None, None

    def _parts(self) -> list[bytes]:
        parts = [put_text(self.name), put_number(self.now is not None), put_signed(self.now or 0)]
        parts += [put_number(self.epoch), put_number(self._number), put_number(self._sites)]
        parts += [put_number(self._owes), put_signed(self._sent_at), put_number(self._pause)]
        parts.append(put_blob(b"" if self._pending is None else self._pending_bytes))
        parts.append(put_number(self._test is not None))
        if self._test is not None and self._slack is not None:
            parts += [put_vector(self._test.reference), put_float(self._test.low), put_float(self._test.high)]
            parts.append(put_vector(self._slack))
        parts.append(put_number(self._vector is not None))
        if self._vector is not None:
            parts.append(put_vector(self._vector))
        return parts

    def _restore(self, reader: Reader) -> None:
        has_clock, now = reader.flag(), reader.signed()
        self.now = now if has_clock else None
        self.epoch, self._number, self._sites = reader.number(), reader.number(), reader.number(2**31)
        self._owes, self._sent_at, self._pause = reader.flag(), reader.signed(), reader.number()
        pending = reader.blob()
        if pending:
            report = messages.decode(pending)
            if not isinstance(report, Report) or report.site != self.name:
                raise reader.wrong("what it waits for is not a report of its own")
            self._wait_for(pending)
        if reader.flag():
            reference, low, high = reader.vector(), reader.float(), reader.float()
            self._test = LocalTest(self.watch, reference, low, high)
            self._slack = reader.vector()
            if self._slack.shape != reference.shape or self._sites < 1:
                raise reader.wrong("its slack is not of its reference's shape")
        if reader.flag():
            self._vector = reader.vector()


class Site(VectorSite):
    """One of several sites whose streams are watched together: sketches of its streams, and the test of them.

    Its clock is the newest tick observed or told by `tick`; its vector is of the last ticks before that, so that what
    expires is noticed as what arrives is. Call `tick` when nothing arrives.
    """

    def __init__(self, name: str, watch: Watch) -> None:
        super().__init__(name, watch)
        if watch.sketch is None:
            raise ConfigError("watch: expected one with last= and sketch=, which a Site counts with; or use VectorSite")
        self._sketches = {stream: EcmSketch(watch.sketch, site=f"{name}/{stream}") for stream in watch.function.streams}

    @property
    def vector(self) -> Vector:
        """What it would report now."""
        assert self.watch.last is not None
        if self._vector is None:
            self._vector = self.watch.function.extract(self._sketches, (self.now or 0) - self.watch.last)
        return self._vector

    def sketch(self, stream: str = "") -> EcmSketch:
        """The sketch of one of its streams."""
        if stream not in self._sketches:
            names = ", ".join(repr(name) for name in self._sketches)
            raise InputError(f"stream: expected one of {names}, got {stream!r}")
        return self._sketches[stream]

    def observe(self, items: Any, ticks: Any, weights: Any = None, stream: str = "") -> list[bytes]:
        """Count arrivals (as `EcmSketch.update_many` does) and check; returns what to send to the coordinator."""
        sketch = self.sketch(stream)
        sketch.update_many(items, ticks, weights)
        self._vector, newest = None, sketch.now
        return [] if newest is None else self._check(newest)

    def tick(self, now: Tick) -> list[bytes]:
        """Move the clock and check; returns what to send to the coordinator."""
        assert self.watch.sketch is not None
        return self._check(to_tick(now, self.watch.sketch.unit))

    def _move(self, tick: int) -> None:
        before = self.now
        super()._move(tick)
        if self.now != before:
            self._vector = None

    def _parts(self) -> list[bytes]:
        self._vector = None  # the sketches give it
        parts = super()._parts()
        for stream, sketch in self._sketches.items():
            parts += [put_text(stream), put_blob(sketch.serialize())]
        return parts

    def _restore(self, reader: Reader) -> None:
        super()._restore(reader)
        for stream in self._sketches:
            if reader.text() != stream:
                raise reader.wrong(f"its streams are not {', '.join(map(repr, self._sketches))}")
            sketch = EcmSketch.deserialize(reader.blob(), max_nbytes=None)
            if sketch.config != self.watch.sketch:
                raise reader.wrong("its sketches are of another config than the watch's")
            self._sketches[stream] = sketch
