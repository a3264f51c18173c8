"""Account: whether being clever takes fewer bytes than sending every change at every check."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import log2

from ecmsketch.monitor.wire import Reader, put_number

_TRIALS = 8
"""Zones that did not pay are tried again after so many times their loss in bytes, then twice as many, and so on."""
_PATIENCE = 4
"""Zones are given up when they have cost so many first synchronisations more than they spared: beginnings are dear."""
_FREE = 20
"""Widths that nothing has paid for are tried after so many times their cost in bytes; if they do not pay, again after
twice as many, and so on.
"""


@dataclass
class Account:
    """Bytes, both ways.

    total     all
    paid      by zones, or by widths and what is sent despite them, since this stretch began or last paid off
    spared    what sending every change would have taken meanwhile, as far as sites have told
    invested  the first synchronisation of a stretch of zones: the reports and what answers them
    settled   how much more was paid than spared at the last synchronisation
    failures  stretches of zones in a row that did not pay
    retry     bytes of changes after which zones are tried again
    trial     whether the next synchronisation begins a stretch of zones (1) or not (0)
    """

    total: int = 0
    paid: int = 0
    spared: int = 0
    invested: int = 0
    settled: int = 0
    failures: int = 0
    retry: int = 0
    trial: int = 1

    def may_widen(self, cost: int) -> bool:
        """Whether widths that will cost so much are worth it, judged by those before.

        Trials that fail take less and less of all bytes: their cost grows as the logarithm of these.
        """
        return self.paid + cost <= self.spared + cost * log2(1 + self.total / (_FREE * max(cost, 1)))

    def is_lost(self) -> bool:
        """Whether, at a synchronisation, zones have turned out dearer than sending every change."""
        return not self.trial and self.paid - self.spared > _PATIENCE * self.invested

    def is_doubtful(self) -> bool:
        """Whether so much was paid since the last synchronisation that all sites should say what they spared."""
        debt = self.paid - self.spared
        return not self.trial and debt - self.settled > 2 * self.invested + max(self.settled, 0)

    def synchronise(self, size: int) -> None:
        """Zones go on with a synchronisation, or begin with one of so many bytes."""
        if self.trial:
            self.paid, self.spared, self.invested, self.trial = 0, 0, size, 0
        elif self.paid <= self.spared:
            self.paid, self.spared, self.failures = 0, 0, 0
        self.settled = self.paid - self.spared

    def leave(self) -> None:
        """Zones are given up for now."""
        loss = max(self.paid - self.spared, 1)
        self.retry = self.total + _TRIALS * loss * 2**self.failures
        self.failures = min(self.failures + 1, 16)
        self.paid, self.spared, self.trial = 0, 0, 1

    def parts(self) -> list[bytes]:
        """The account as bytes."""
        return [put_number(max(getattr(self, field.name), 0)) for field in fields(self)]

    @classmethod
    def read_from(cls, reader: Reader) -> Account:
        """The account that `parts` wrote."""
        return cls(*(reader.number() for _ in fields(cls)))
