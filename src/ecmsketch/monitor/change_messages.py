"""What is said while sites send their changes: changes, widths, and that a change has come (docs/monitoring.md)."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from ecmsketch.monitor.functions import Vector
from ecmsketch.monitor.vector_bytes import MAX_WHOLE, difference
from ecmsketch.monitor.wire import Reader, put_float, put_number, put_text, put_vector, seal

CHANGE, REPLY, WIDTH, ACK = 9, 10, 11, 12
"""Kinds of the messages in this file."""


@dataclass(frozen=True, eq=False)
class Change:
    """Site to coordinator: what to add to the vector that you have of me; if `whole`, my vector itself.

    number  counts up with every report and change, so that none is added twice, or without the one before it
    after   ticks since the message before
    epoch   if it replies to a width: the epoch of that; else 0
    spared  with a reply: bytes that changes at every check would have taken since the last reply, or report
    """

    site: str
    number: int
    after: int
    whole: bool
    vector: Vector
    epoch: int = 0
    spared: int = 0
    checksum: int = 0

    def encode(self) -> bytes:
        head = (put_text(self.site), put_number(2 * self.number + self.whole), put_number(self.after))
        if not self.epoch:
            return seal(CHANGE, (*head, put_vector(self.vector)))
        return seal(REPLY, (*head, put_number(self.epoch), put_number(self.spared), put_vector(self.vector)))

    def onto(self, base: Vector) -> Vector:
        """The site's vector, given the one before."""
        return self.vector if self.whole else base + self.vector


@dataclass(frozen=True)
class Width:
    """Coordinator to site: stay silent while no entry of your vector is more than `width` from what I have of you.

    answers  the checksum of the report that this answers: from then on send changes; 0 for sites that already do
    ask      reply with a change, even if there is none
    """

    site: str
    epoch: int
    answers: int
    ask: bool
    width: float

    def encode(self) -> bytes:
        head = (put_text(self.site), put_number(self.epoch), put_number(self.answers))
        if self.width < MAX_WHOLE and self.width == int(self.width):
            return seal(WIDTH, (*head, put_number(self.ask), put_number(int(self.width))))
        return seal(WIDTH, (*head, put_number(2 + self.ask), put_float(self.width)))


@dataclass(frozen=True)
class Ack:
    """Coordinator to site: your change has come."""

    site: str
    number: int

    def encode(self) -> bytes:
        return seal(ACK, (put_text(self.site), put_number(self.number)))


def make_change(site: str, number: int, after: int, vector: Vector, base: Vector) -> Change:
    """The change from one vector to another: a difference, if these are whole numbers."""
    found = difference(vector, base)
    return Change(site, number, after, found is None, vector if found is None else found)


def read_change(reader: Reader) -> Change:
    """The change in some bytes."""
    site, number, after = reader.text(), reader.number(), reader.number()
    epoch, spared = (reader.number(), reader.number()) if reader.kind == REPLY else (0, 0)
    if reader.kind == REPLY and not epoch:
        raise reader.wrong("a reply to no width")
    return Change(site, number // 2, after, number % 2 == 1, reader.vector(), epoch, spared, reader.checksum)


def read_width(reader: Reader) -> Width:
    """The width in some bytes."""
    site, epoch, answers, form = reader.text(), reader.number(), reader.number(2**32 - 1), reader.number(3)
    width = reader.float() if form > 1 else float(reader.number(int(MAX_WHOLE)))
    if not 0 <= width < inf:
        raise reader.wrong(f"a width is {width}, expected 0 or more")
    return Width(site, epoch, answers, form % 2 == 1, width)


def read_ack(reader: Reader) -> Ack:
    """The acknowledgement in some bytes."""
    return Ack(reader.text(), reader.number())
