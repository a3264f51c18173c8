"""A site that sends its changes: what the coordinator has of it, and how far it may be from that in silence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ecmsketch.monitor.change_messages import make_change
from ecmsketch.monitor.functions import Vector
from ecmsketch.monitor.wire import Reader, put_blob, put_float, put_number, put_signed, put_vector

Base = tuple[int, Vector] | None
"""The number and the vector of the last report that was answered: what the next is a difference to."""


@dataclass
class Sending:
    """The state of a site that sends its changes.

    sent     its vector with the last message, so the one that the coordinator has once that has come
    width    it is silent while no entry is farther from that
    tick     of the last message
    unheard  the last change, if the coordinator has not said that it has come; only if messages may be lost
    owes     whether it was asked to reply
    """

    sent: Vector
    width: float
    tick: int
    unheard: bytes | None = field(default=None)
    owes: bool = False

    def is_beyond(self, vector: Vector) -> bool:
        """Whether a vector is farther from what was sent than the width."""
        return bool((np.abs(vector - self.sent) > self.width).any())

    def change(self, site: str, number: int, tick: int, vector: Vector, epoch: int, spared: int) -> bytes:
        """The message that takes the coordinator to a vector; a reply if it names an epoch."""
        found = make_change(site, number, max(tick - self.tick, 0), vector, self.sent)
        self.sent, self.tick, self.owes = vector, tick, False
        return replace(found, epoch=epoch, spared=spared).encode()

    def parts(self) -> list[bytes]:
        """The state as bytes."""
        parts = [put_vector(self.sent), put_float(self.width), put_signed(self.tick), put_number(self.owes)]
        return [*parts, put_blob(self.unheard or b"")]

    @classmethod
    def read_from(cls, reader: Reader) -> Sending:
        """The state that `parts` wrote."""
        sent, width, tick, owes = reader.vector(), reader.float(), reader.signed(), reader.flag()
        return cls(sent, width, tick, reader.blob() or None, owes)


@dataclass
class Meter:
    """Counts the bytes that sending every change at every check would take, while something else is done."""

    vector: Vector | None = None
    spared: int = 0

    def begin(self, vector: Vector | None) -> None:
        """Count changes from this vector on."""
        self.vector = vector

    def read(self, site: str, number: int, vector: Vector | None) -> None:
        """Count what the change to this vector would take."""
        if vector is not None and self.vector is not None and not np.array_equal(vector, self.vector):
            self.spared += len(make_change(site, number, 1, vector, self.vector).encode())
        self.vector = vector

    def take(self) -> int:
        """What was counted since this was asked last."""
        found, self.spared = self.spared, 0
        return found

    def parts(self) -> list[bytes]:
        """The meter as bytes."""
        parts = [put_number(self.spared), put_number(self.vector is not None)]
        return parts if self.vector is None else [*parts, put_vector(self.vector)]

    @classmethod
    def read_from(cls, reader: Reader) -> Meter:
        """The meter that `parts` wrote."""
        spared, has_vector = reader.number(), reader.flag()
        return cls(reader.vector() if has_vector else None, spared)


def put_base(base: Base) -> list[bytes]:
    """The last report that was answered, as bytes."""
    return [put_number(0)] if base is None else [put_number(1), put_number(base[0]), put_vector(base[1])]


def read_base(reader: Reader) -> Base:
    """The report that `put_base` wrote."""
    return (reader.number(), reader.vector()) if reader.flag() else None
