"""What a coordinator knows of one site, and that as bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ecmsketch.errors import FormatError
from ecmsketch.monitor import messages
from ecmsketch.monitor.functions import Vector
from ecmsketch.monitor.messages import Balance, Report, Sync
from ecmsketch.monitor.watch import MAX_PATIENCE
from ecmsketch.monitor.wire import Reader, put_blob, put_number, put_signed, put_text, put_vector


@dataclass
class Member:
    """A site as its coordinator knows it: its newest report, the last answer to it, and requests under way.

    `vector` is the one that `answer` was given for. `asked_first` is None if the site owes no report.
    """

    number: int = 0
    checksum: int = 0
    vector: Vector | None = None
    answer: Sync | Balance | None = None
    turn: int = 0
    asked_first: int | None = None
    asked_last: int = 0
    pause: int = 0

    def note_request(self, now: int, patience: int) -> None:
        """The site is asked for a report, for the first time or again; the pauses between requests grow."""
        again = self.asked_first is not None
        self.asked_first = self.asked_first if again else now
        self.asked_last = now
        self.pause = min(2 * self.pause, MAX_PATIENCE * patience) if again else patience

    def drift(self, vector: Vector, scale: int) -> Vector:
        """What the site tests at a vector: the vector, and the slack that its last answer gave it."""
        assert self.vector is not None
        assert self.answer is not None
        point = self.answer.reference if isinstance(self.answer, Sync) else self.answer.drift
        return point + scale * (vector - self.vector)


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
            parts += [put_vector(member.vector), put_blob(member.answer.encode())]
        parts.append(put_blob(b"" if self.report is None else self.report.encode()))
        return parts

    @classmethod
    def read(cls, reader: Reader) -> StoredMember:
        """The site that `parts` wrote; a FormatError if the bytes are anything else."""
        name = reader.text()
        member = Member(reader.number(), reader.number(2**32 - 1), turn=reader.number())
        missing, has_asked, asked = reader.flag(), reader.flag(), reader.signed()
        member.asked_first = asked if has_asked else None
        member.asked_last, member.pause = reader.signed(), reader.number()
        if reader.flag():
            member.vector = reader.vector()
            answer = messages.decode(reader.blob())
            if not isinstance(answer, Sync | Balance) or answer.site != name:
                raise reader.wrong(f"the last answer to site {name!r} is not an answer to it")
            member.answer = answer
        pending = reader.blob()
        report = messages.decode(pending) if pending else None
        if report is not None and (not isinstance(report, Report) or report.site != name):
            raise FormatError(f"coordinator: the last report of site {name!r} is not a report of its own")
        return cls(name, member, missing, report)
