"""Unites the pieces of a stream into one sketch, in whatever order they come, overlapping or not (`unite`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

from ecmsketch.sketch.codec import encode
from ecmsketch.sketch.merging import Kind, concat_states, merge_states, states_of
from ecmsketch.sketch.state import SketchState

Extent = tuple[int, int]
"""The first and the last tick of a piece."""

Piece = TypeVar("Piece")


def unite(sketches: Iterable[Kind]) -> Kind:
    """One sketch for the pieces of a stream, given in any order.

    Pieces that overlap in time are merged in one step, which adds one level of error. The results follow one another
    and are concatenated, which adds none. With model="count" ticks number a piece's own arrivals and say
    nothing of order: the pieces are concatenated as given.
    """
    with states_of(sketches, "united") as (kind, states):
        united = unite_states(states)
    return kind._of(united)


def unite_states(states: list[SketchState]) -> SketchState:
    """One state for the pieces of a stream."""
    if states[0].config.model == "count":
        return concat_states(states)
    full = [state for state in states if not state.is_empty]
    empty = [state for state in states if state.is_empty]  # they may still have a clock, and have dropped arrivals
    parts = [merge_states(cluster, "n-way") for cluster in clusters(_in_order(full), _extent)]
    return merge_states([*([concat_states(parts)] if parts else []), *empty], "n-way")


def clusters(pieces: Iterable[Piece], extent: Callable[[Piece], Extent]) -> list[list[Piece]]:
    """Group pieces that overlap, in order of time. One that begins on the tick where another ends does not overlap."""
    found: list[list[Piece]] = []
    end = 0
    for piece in sorted(pieces, key=extent):
        begin, last = extent(piece)
        if found and begin < end:
            found[-1].append(piece)
            end = max(end, last)
        else:
            found.append([piece])
            end = last
    return found


def _extent(state: SketchState) -> Extent:
    assert state.origin is not None
    assert state.now is not None
    return state.origin, state.now


def _in_order(states: list[SketchState]) -> list[SketchState]:
    """Sort states by their bytes where their ticks are the same, so that the order in which they were given is lost."""
    seen = Counter(_extent(state) for state in states)
    return sorted(states, key=lambda state: encode(state, 0) if seen[_extent(state)] > 1 else b"")
