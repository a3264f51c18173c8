"""What a coordinator knows of one site, and that as bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from ecmsketch.errors import FormatError
from ecmsketch.monitor import messages
from ecmsketch.monitor.change_messages import Change, Width
from ecmsketch.monitor.changing import Changing
from ecmsketch.monitor.functions import Vector
from ecmsketch.monitor.messages import Balance, Report, Sync
from ecmsketch.monitor.watch import MAX_PATIENCE
from ecmsketch.monitor.wire import Reader, put_blob, put_number, put_signed, put_text, put_vector


@dataclass(kw_only=True)
class Asking:
    """Requests under way to a site, and when they were sent. `asked_first` is None if the site owes nothing."""

    asked_first: int | None = None
    asked_last: int = 0
    pause: int = 0

    def note_request(self, now: int, patience: int) -> None:
        """The site is asked for a report, for the first time or again; the pauses between requests grow."""
        again = self.asked_first is not None
        self.asked_first = self.asked_first if again else now
        self.asked_last = now
        self.pause = min(2 * self.pause, MAX_PATIENCE * patience) if again else patience


@dataclass
class Member(Asking):
    """A site as its coordinator knows it: its newest report or change, the last answer, and requests under way.

    vector, base  of the report that `answer` was given for: its vector and its number
    changing      of a site that sends changes (changes_coordinator.py)
    """

    number: int = 0
    checksum: int = 0
    vector: Vector | None = None
    base: int = 0
    answer: Sync | Balance | Width | None = None
    turn: int = 0
    changing: Changing | None = None

    def drift(self, vector: Vector, scale: int, reference: Vector) -> Vector:
        """What the site tests at a vector: the vector, and the slack that its last answer gave it."""
        assert self.vector is not None
        point = reference + self.answer.shift if isinstance(self.answer, Balance) else reference
        return point + scale * (vector - self.vector)

    def complete(self, report: Report) -> Report | None:
        """A report with its whole vector; None if it is to be added to one that is not known any more."""
        if not report.base:
            return report
        if self.vector is None or report.base != self.base or report.vector.shape != self.vector.shape:
            return None
        return replace(report, base=0, vector=self.vector + report.vector)

    def resolve(self, message: Report | Change) -> tuple[int, Vector] | None:
        """The clock and the vector that a message tells; None if it adds to something that is not known."""
        if isinstance(message, Report):
            whole = self.complete(message)
            return None if whole is None else (whole.tick, whole.vector)
        known = self.changing
        if known is None or message.number != self.number + 1 or message.vector.shape != known.vector.shape:
            return None
        return known.tick + message.after, message.onto(known.vector)


class StoredMember(NamedTuple):
    """A site as it is kept in the bytes of its coordinator."""

    name: str
    member: Member
    missing: bool
    report: Report | None
    """The report that is not answered yet."""

    def parts(self) -> list[bytes]:
        """The site as bytes."""
        member = self.member
        parts = [put_text(self.name), put_number(member.number), put_number(member.checksum), put_number(member.turn)]
        parts += [put_number(self.missing), put_number(member.asked_first is not None)]
        parts += [put_signed(member.asked_first or 0), put_signed(member.asked_last), put_number(member.pause)]
        parts.append(put_number(member.vector is not None))
        if member.vector is not None and member.answer is not None:
            parts += [put_vector(member.vector), put_number(member.base), put_blob(member.answer.encode())]
        parts.append(put_number(member.changing is not None))
        if member.changing is not None:
            parts += member.changing.parts()
        parts.append(put_blob(b"" if self.report is None else self.report.encode()))
        return [*parts, put_number(0 if self.report is None else self.report.checksum)]

    @classmethod
    def read(cls, reader: Reader) -> StoredMember:
        """The site that `parts` wrote; a FormatError if the bytes are anything else."""
        name = reader.text()
        member = Member(reader.number(), reader.number(2**32 - 1), turn=reader.number())
        missing, has_asked, asked = reader.flag(), reader.flag(), reader.signed()
        member.asked_first = asked if has_asked else None
        member.asked_last, member.pause = reader.signed(), reader.number()
        if reader.flag():
            member.vector, member.base = reader.vector(), reader.number()
            answer = messages.decode(reader.blob())
            if not isinstance(answer, Sync | Balance | Width) or answer.site != name:
                raise reader.wrong(f"the last answer to site {name!r} is not an answer to it")
            member.answer = answer
        if reader.flag():
            member.changing = Changing.read_from(reader, name)
        pending, checksum = reader.blob(), reader.number(2**32 - 1)
        report = messages.decode(pending) if pending else None
        if report is None:
            return cls(name, member, missing, None)
        if not isinstance(report, Report) or report.site != name or report.base:
            raise FormatError(f"coordinator: the last report of site {name!r} is not a report of its own")
        return cls(name, member, missing, replace(report, checksum=checksum))


def read_members(reader: Reader) -> list[StoredMember]:
    """All sites that a coordinator's bytes hold, each under a name of its own."""
    found = [StoredMember.read(reader) for _ in range(reader.number())]
    names = {stored.name for stored in found}
    if len(names) < len(found) or "" in names:
        raise reader.wrong("a site has no name, or is there twice")
    return found
