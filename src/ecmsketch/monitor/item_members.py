"""What a coordinator of single items knows of one site, and that as bytes."""

from __future__ import annotations

from dataclasses import dataclass, field

from ecmsketch.monitor.item_messages import ItemReport
from ecmsketch.monitor.members import Asking
from ecmsketch.monitor.wire import Reader, put_number, put_signed

_RECENT = 64
"""Reports of a site whose checksums are kept, to notice that a number was used twice."""


@dataclass
class ItemMember(Asking):
    """A site as its coordinator knows it.

    number    of its newest report
    recent    checksums of its reports, by number
    joined    whether it has reported in the current epoch
    arrivals  of its newest report
    asks      items it was asked for and has not reported yet, each with the newest report of it that is known
    """

    number: int = 0
    recent: dict[int, int] = field(default_factory=dict)
    joined: bool = False
    arrivals: int = 0
    asks: dict[int, int] = field(default_factory=dict)

    def is_other(self, report: ItemReport) -> bool:
        """Whether the report's number was used for another one: then the site was restored from an old state."""
        known = self.recent.get(report.number)
        return report.checksum != known and (known is not None or (report.hello and report.number <= self.number))

    def note(self, report: ItemReport) -> bool:
        """Remember a report; returns whether it is new."""
        new = report.number not in self.recent
        self.number, self.arrivals = max(self.number, report.number), report.arrivals
        self.recent[report.number] = report.checksum
        for number in sorted(self.recent)[:-_RECENT]:
            del self.recent[number]
        return new

    def parts(self) -> list[bytes]:
        """The site as bytes."""
        parts = [put_number(self.number), put_number(self.joined), put_number(self.arrivals)]
        parts += [put_number(self.asked_first is not None), put_signed(self.asked_first or 0)]
        parts += [put_signed(self.asked_last), put_number(self.pause)]
        for numbers in (self.recent, self.asks):
            parts.append(put_number(len(numbers)))
            for one, other in numbers.items():
                parts += [put_number(one), put_number(other)]
        return parts

    @classmethod
    def read(cls, reader: Reader) -> ItemMember:
        """The site that `parts` wrote."""
        member = cls(number=reader.number(), joined=reader.flag(), arrivals=reader.number())
        has_asked, asked = reader.flag(), reader.signed()
        member.asked_first = asked if has_asked else None
        member.asked_last, member.pause = reader.signed(), reader.number()
        for numbers in (member.recent, member.asks):
            for _ in range(reader.number()):
                one = reader.number(2**64 - 1)
                numbers[one] = reader.number()
        return member
