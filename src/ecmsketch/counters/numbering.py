"""A counter's arrivals are numbered 1, 2, 3 ... for ever, in 63 bits: a number that reaches two cycles loses one.

After n arrivals the number is n if n < 2 cycles, else cycle + n mod cycle. Only n decides it, so the state does not
depend on how arrivals were cut into batches, and it does not matter how many arrivals have expired.

Nothing that is stored notices. Stored buckets end among the newest MAX_HELD + MAX_ARRIVALS arrivals, far less than a
cycle, and the low bits of n decide which of those arrivals end a bucket:
- Exponential histograms, with h = ceil(k/2): taking a multiple of 2^j from n leaves the levels below j as they are, if
  n is still at least (h + 2) 2^j. A bucket of level j has h (2^j - 2) newer arrivals at least. With n >= cycle, and the
  largest such j, that is more than cycle / 6: more than is ever stored.
- Deterministic waves: a number's distance to n, and its bits below the rings' length of 2 ring 2^top, decide whether it
  is kept. The rings are shorter than 4 (MAX_HELD + MAX_ARRIVALS). Where it is kept changes: ticks move once a cycle.
Randomized waves draw by the number modulo a cycle.
"""

from __future__ import annotations

from ecmsketch.counters.contract import MAX_ARRIVALS, Ints

CYCLE = 2**58
"""A power of two."""

MAX_HELD = 4 * MAX_ARRIVALS
"""Most arrivals that the buckets of one counter stand for. All but the newest arrival of the oldest bucket may
have expired, and that bucket may be twice as large as all others together.
"""


def reach_two_cycles(arrivals: Ints) -> bool:
    """Whether `renumber` would change a number."""
    return bool((arrivals >= 2 * CYCLE).any())


def renumber(arrivals: Ints) -> None:
    """Take a cycle from numbers that reach two; in place, after at most a cycle was added."""
    arrivals[arrivals >= 2 * CYCLE] -= CYCLE


def renumbered(number: int) -> int:
    """A number of arrivals as it is kept, without full cycles."""
    return number if number < 2 * CYCLE else CYCLE + number % CYCLE
