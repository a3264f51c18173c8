"""What was computed for questions, until the counts change.

Tables of all cells over a range are large: so many are remembered as fit into a given number of bytes. What is said of
a range in a few numbers is remembered beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from ecmsketch.engines.contract import Reading

LEAST_BYTES = 16_384
"""Tables and facts may always take so many bytes, and otherwise as many as the counters."""
_FACT_BYTES = 500
_MOST_FACTS = 1024


class Remembered:
    """Tables and facts by what they are about. The oldest are forgotten first."""

    __slots__ = ("_facts", "_tables", "_taken")

    def __init__(self) -> None:
        self._tables: dict[Hashable, Reading] = {}
        self._facts: dict[Hashable, Any] = {}
        self._taken = 0

    def table(self, key: Hashable, find: Callable[[], Reading], state_nbytes: int) -> Reading:
        """A table, found if it is not known."""
        known = self._tables.get(key)
        if known is not None:
            return known
        found = find()
        size = sum(part.nbytes for part in found)
        most = max(state_nbytes, LEAST_BYTES) - _FACT_BYTES * _most_facts(state_nbytes)
        while self._tables and self._taken + size > most:
            self._taken -= sum(part.nbytes for part in self._tables.pop(next(iter(self._tables))))
        if size <= most:
            self._tables[key] = found
            self._taken += size
        return found

    def fact(self, key: Hashable, find: Callable[[], Any], state_nbytes: int) -> Any:
        """What is said of a range in a few numbers, found if it is not known."""
        known = self._facts.get(key)
        if known is None:
            known = find()
            if len(self._facts) >= _most_facts(state_nbytes):
                del self._facts[next(iter(self._facts))]
            self._facts[key] = known
        return known

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self._taken + _FACT_BYTES * len(self._facts)


def _most_facts(state_nbytes: int) -> int:
    """How many facts are remembered: a quarter of the memory is for them."""
    return min(_MOST_FACTS, max(state_nbytes, LEAST_BYTES) // (4 * _FACT_BYTES))
