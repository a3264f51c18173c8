"""Merges the sketches of many sites into one (`merge`), and joins consecutive segments of one stream (`concat`).

Merging works on buckets, never on events (counters/buckets/replaying.py). It displaces a range's count by epsilon_sw at
most, and the displacement of every level of merging compounds: the result carries the number of levels.
Randomized waves merge without loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TypeVar

from ecmsketch.counters import MAX_ARRIVALS, counter_class, new_counters
from ecmsketch.errors import MergeError
from ecmsketch.heavy.candidates import FrequentItems, combine
from ecmsketch.heavy.names import Names, forget_names
from ecmsketch.inputs.kinds import unite_kinds
from ecmsketch.inputs.ticks import MAX_TICK
from ecmsketch.sketch.base import BaseSketch
from ecmsketch.sketch.engines import Engine
from ecmsketch.sketch.locks import all_locked
from ecmsketch.sketch.state import MAX_LEVELS, SketchState
from ecmsketch.slices import SlicedStream

METHODS = ("n-way", "binary")
Kind = TypeVar("Kind", bound=BaseSketch)
"""The class of sketches that are combined, which is also that of the result."""


def merge(sketches: Iterable[Kind], method: str = "n-way") -> Kind:
    """One sketch for the union of many sites' streams, as if one site had seen all, in order of time.

    "n-way" merges all in one step, which costs one level of error: epsilon_sw becomes
    (1 + epsilon_sw)^2 - 1. "binary" merges in pairs up a tree, as in the paper's experiments: a level each.
    Every answer's bounds include it, and `merge_depth` in the config budgets for it.
    """
    with states_of(sketches, "merged") as (kind, states):
        merged = merge_states(states, method)
    return kind._of(merged)


def concat(sketches: Iterable[Kind]) -> Kind:
    """One sketch for consecutive segments of one stream, in order of time; adds no error.

    The last segment stays live: the result can be updated further.
    """
    with states_of(sketches, "concatenated") as (kind, states):
        joined = concat_states(states)
    return kind._of(joined)


@contextmanager
def states_of(sketches: Iterable[Kind], done: str) -> Iterator[tuple[type[Kind], list[SketchState]]]:
    """The kind of some sketches and their states, which no other thread changes meanwhile.

    `done` is for the error: merged, concatenated, united. A sketch must not be made meanwhile (locks.py).
    """
    one = isinstance(sketches, BaseSketch) or getattr(sketches, "ndim", 1) == 0
    if one or not isinstance(sketches, Iterable):
        raise MergeError(f"expected a list of sketches, got one {type(sketches).__name__}")
    given = list(sketches)
    for sketch in given:
        if not isinstance(sketch, BaseSketch):
            raise MergeError(f"expected sketches, got {type(sketch).__name__}; deserialize bytes first")
    if not given:
        raise MergeError(f"no sketches were given to be {done}; give at least one")
    names = sorted({type(sketch).__name__ for sketch in given})
    if len(names) > 1:
        raise MergeError(f"sketches of different kinds cannot be {done}: {' and '.join(names)}")
    with all_locked(given):
        yield type(given[0]), [sketch._flushed() for sketch in given]


def merge_states(states: list[SketchState], method: str) -> SketchState:
    """One state for the union of the streams, their order in time kept."""
    if not isinstance(method, str) or method not in METHODS:
        raise MergeError(f"method: expected one of {METHODS}, got {method!r}")
    _require_compatible(states, "merged")
    if states[0].config.model == "count" and len(states) > 1:
        raise MergeError(
            "sketches with model='count' cannot be merged: they number the arrivals of their own stream only, "
            "so how arrivals of two streams interleaved is lost (paper, figure 2); use model='time'"
        )
    if method == "n-way":
        return _merge_once(states)
    while len(states) > 1:
        states = [_merge_once(states[i : i + 2]) for i in range(0, len(states), 2)]
    return _merge_once(states)


def _merge_once(states: list[SketchState]) -> SketchState:
    full = [state for state in states if not state.is_empty]
    now = max((state.now for state in states if state.now is not None), default=None)
    if len(full) < 2 or now is None:
        result = (full or states)[0].copy()
        result.now = now
    else:
        config = full[0].config
        full = [_settled(state) for state in full]
        _check_room(full, now)
        parts, origins = _parts(full)
        merged, levels = _merge_engines(parts, origins, max(state.levels for state in full), now)
        if levels > MAX_LEVELS:
            raise MergeError(
                f"this would be level {levels} of merging, and {MAX_LEVELS} are allowed: each adds error. "
                "Merge all sites in one call, and use concat() for consecutive segments of one stream"
            )
        result = SketchState(config, full[0].key, now, min(origins), levels, merged)
        result.frequent = _combine([part for state in full for part in (state.frequent, state.late.frequent)], result)
        result.names = _names(full, result)
    result.kinds = unite_kinds(state.kinds for state in states)
    result.late.counted = sum(state.late.counted for state in states)
    result.late.dropped = sum(state.late.dropped for state in states)
    return result


def _merge_engines(parts: list[Engine], origins: list[int], levels: int, now: int) -> tuple[Engine, int]:
    """What counts the arrivals of all, and the levels of merging behind it."""
    slices = [part for part in parts if isinstance(part, SlicedStream)]
    if slices:
        merged = SlicedStream.merge(slices, now)
        return merged, merged.levels
    counters = [part for part in parts if not isinstance(part, SlicedStream)]
    kind = type(counters[0])
    return kind.merge(counters, origins, now), levels + (0 if kind.lossless else 1)


def concat_states(states: list[SketchState]) -> SketchState:
    """One state for consecutive segments of one stream; adds no error."""
    _require_compatible(states, "concatenated")
    count_based = states[0].config.model == "count"
    segments = [state.copy() for state in states]
    for before, after in pairwise(segments):
        if count_based:
            _renumber(after, by=before.now or 0)
        elif before.now is not None and after.origin is not None and after.origin < before.now:
            raise MergeError(
                f"segments overlap: one begins at tick {after.origin}, before the previous one ends at {before.now}; "
                "give them in order of time, or use merge() for streams that overlap"
            )
        elif before.now is not None and (after.now is None or after.now < before.now):
            after.now = before.now
    full = [state for state in segments if not state.is_empty]
    result = segments[-1]
    result.kinds = unite_kinds(state.kinds for state in states)
    result.late.counted = sum(state.late.counted for state in states)
    result.late.dropped = sum(state.late.dropped for state in states)
    now = result.now
    if not full or now is None:
        return result
    full = [state if state is result else _settled(state) for state in full]
    result.late.frontier = max(state.late.frontier for state in full)
    if now > MAX_TICK:
        raise MergeError(f"the segments have {now:,} arrivals in all, and model='count' numbers at most 2**62")
    _check_room(full, now)
    result.origin = full[0].origin
    result.levels = max(state.levels for state in full)
    late = [state.late.settled for state in full]
    result.counters = _concat_counters([state.counters for state in full], result.counters, result, result.key, now)
    settled = _concat_counters(late, result.late.settled, result, result.late.key, now)
    assert not isinstance(settled, SlicedStream)
    result.late.settled = settled
    result.frequent = _combine([state.frequent for state in full], result)
    result.late.frequent = _combine([state.late.frequent for state in full], result)
    result.names = _names(full, result)
    return result


def _check_room(states: list[SketchState], now: int) -> None:
    """Refuse what surely is too much. Upper bounds would also refuse sketches that are only nearly full."""
    arrivals = sum(state.counted_since(now - state.config.window)[0] for state in states)
    if arrivals > MAX_ARRIVALS:
        raise MergeError(
            f"the sketches have at least {arrivals:,} arrivals in one window, and at most 2**53 can be counted; "
            "count in a larger unit, or merge fewer of them"
        )


def _combine(parts: list[FrequentItems | None], result: SketchState) -> FrequentItems | None:
    given = [part for part in parts if part is not None]
    if len(given) < 2 or result.now is None:
        return given[0] if given else None
    return combine(given, result.config, result.now)


def _names(states: list[SketchState], result: SketchState) -> Names:
    if not result.config.heavy_hitters:
        return {}
    known = {key: name for state in reversed(states) for key, name in state.names.items()}
    return forget_names(known, result.named())


def _concat_counters(
    parts: Sequence[Engine | None], last: Engine | None, result: SketchState, key: int, now: int
) -> Engine | None:
    older = [part for part in parts if part is not None and part is not last]
    if not older:
        return last
    slices = [part for part in parts if isinstance(part, SlicedStream)]
    if slices:
        return SlicedStream.concat(slices, now)
    live = new_counters(result.config, key) if last is None else last
    return counter_class(result.config).concat([*older, live], now)  # type: ignore[list-item]


def _renumber(state: SketchState, by: int) -> None:
    """Let a count-based segment's arrivals be numbered after those of the segments before it."""
    state.now = (state.now or 0) + by
    if state.origin is not None:
        state.origin += by
    if state.counters is not None:
        state.counters.shift(by)
    if state.frequent is not None:
        state.frequent.shift(by)


def _require_compatible(states: list[SketchState], done: str) -> None:
    for state in states[1:]:
        different = states[0].config.differences(state.config)
        if different:
            name = different[0]
            ours, theirs = getattr(states[0].config, name), getattr(state.config, name)
            raise MergeError(
                f"sketches with different configs cannot be {done}: {name} is {ours!r} in one "
                f"and {theirs!r} in another; build them from one SketchConfig"
            )


def _settled(state: SketchState) -> SketchState:
    """A state without held late arrivals; the given one stays as it is."""
    if len(state.late.held.ticks):
        state = state.copy()
        state.late.settle_all(state.config, state.config.row_hashes())
    return state


def _parts(states: list[SketchState]) -> tuple[list[Engine], list[int]]:
    """All the counters of some sketches, each with its stream's first tick."""
    parts: list[Engine] = []
    origins: list[int] = []
    for state in states:
        for counters in (state.counters, state.late.settled):
            if counters is not None and state.origin is not None:
                parts.append(counters)
                origins.append(state.origin)
    return parts, origins
