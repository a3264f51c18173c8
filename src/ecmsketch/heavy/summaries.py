"""Summaries of stretches of a stream, one after the other in time, as a few arrays.

A summary stands for `arrivals` arrivals between its `first` and `last` tick. It names some items with counts: an item
that it names with count c came c to c + error times in it, and any other item at most `error` times.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64

from ecmsketch.counters.contract import Ints
from ecmsketch.inputs.items import Keys
from ecmsketch.kernels import kernel


class Summaries(NamedTuple):
    """Summaries sorted by `last`. Summary i names keys[begin[i]:begin[i + 1]]."""

    first: Ints
    last: Ints
    arrivals: Ints
    error: Ints
    begin: Ints
    keys: Keys
    counts: Ints


def no_summaries() -> Summaries:
    """An empty list of summaries."""
    none = np.empty(0, np.int64)
    return Summaries(none, none, none, none, np.zeros(1, np.int64), np.empty(0, np.uint64), none)


@kernel
def new_summaries(count: Any, entries: Any) -> Any:
    """Room for that many summaries, and for that many entries in all of them together."""
    return Summaries(
        np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64),
        np.zeros(count + 1, np.int64), np.empty(entries, np.uint64), np.empty(entries, np.int64),
    )  # fmt: skip


@kernel
def with_room(summaries: Any, count: Any, more: Any) -> Any:
    """The first `count` summaries with room for `more`; they are copied only if there is too little."""
    entries = summaries.begin[count]
    if summaries.last.shape[0] >= count + more and summaries.keys.shape[0] >= entries + more:
        return summaries
    return _copied(summaries, count, new_summaries(2 * count + more, 2 * entries + more))


@kernel
def trimmed(summaries: Any, count: Any) -> Any:
    """A copy of the first `count` summaries, without room for more."""
    return _copied(summaries, count, new_summaries(count, summaries.begin[count]))


@kernel
def _copied(source: Any, count: Any, target: Any) -> Any:
    for i in range(count):
        target.first[i], target.last[i] = source.first[i], source.last[i]
        target.arrivals[i], target.error[i] = source.arrivals[i], source.error[i]
        target.begin[i + 1] = source.begin[i + 1]
    for i in range(source.begin[count]):
        target.keys[i], target.counts[i] = source.keys[i], source.counts[i]
    return target


@kernel
def close_summary(work: Any, count: Any, first: Any, last: Any, arrivals: Any, error: Any, end: Any) -> Any:
    """Note the facts of summary number `count`, whose entries are written up to `end`; returns count + 1."""
    work.first[count], work.last[count] = first, last
    work.arrivals[count], work.error[count] = arrivals, error
    work.begin[count + 1] = end
    return count + int64(1)
