"""What a coordinator knows of a site that sends its changes."""

from __future__ import annotations

from dataclasses import dataclass, field

from ecmsketch.monitor import messages
from ecmsketch.monitor.change_messages import Change
from ecmsketch.monitor.functions import Vector
from ecmsketch.monitor.wire import Reader, put_blob, put_float, put_number, put_signed, put_vector


@dataclass
class Changing:
    """A site that sends its changes, as its coordinator knows it.

    vector  the newest that is known of it
    tick    of that
    width   no entry is farther from that now, unless a message is under way or the site waits
    later   the width once it has replied to what it was asked
    asked   the epoch of that question
    early   changes that came before the one before them, by number
    """

    vector: Vector
    tick: int
    width: float = 0.0
    later: float = 0.0
    asked: int = 0
    early: dict[int, Change] = field(default_factory=dict)

    def take(self, change: Change) -> None:
        """Take the next change."""
        self.vector, self.tick = change.onto(self.vector), self.tick + change.after

    def parts(self) -> list[bytes]:
        """The site as bytes."""
        parts = [put_vector(self.vector), put_signed(self.tick), put_float(self.width), put_float(self.later)]
        parts += [put_number(self.asked), put_number(len(self.early))]
        for change in self.early.values():
            parts += [put_blob(change.encode()), put_number(change.checksum)]
        return parts

    @classmethod
    def read_from(cls, reader: Reader, site: str) -> Changing:
        """The site that `parts` wrote."""
        found = cls(reader.vector(), reader.signed(), reader.float(), reader.float(), reader.number())
        for _ in range(reader.number()):
            change, checksum = messages.decode(reader.blob()), reader.number(2**32 - 1)
            if not isinstance(change, Change) or change.site != site or change.checksum != checksum:
                raise reader.wrong(f"a change of site {site!r} is not one of its own")
            found.early[change.number] = change
        return found
