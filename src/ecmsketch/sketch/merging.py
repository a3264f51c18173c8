"""Merges sketches of many sites (`merge`), joins segments of one stream (`concat`), unites its pieces (`unite`).

Merging cells replays their buckets, never events; merging slices lays them side by side and joins neighbours. Both
displace a range's count by an epsilon at most, and the displacement of every level of merging compounds: the result
carries the number of levels. Randomized waves merge without loss.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ecmsketch.engines.contract import MAX_ARRIVALS
from ecmsketch.engines.names.frequent import FrequentItems, combine
from ecmsketch.engines.names.names import Names, forget_names
from ecmsketch.errors import MergeError
from ecmsketch.inputs.kinds import unite_kinds
from ecmsketch.inputs.ticks import MAX_TICK
from ecmsketch.sketch.base import BaseSketch, encode_state
from ecmsketch.sketch.ingest import State
from ecmsketch.sketch.locks import all_locked

METHODS = ("n-way", "binary")
SketchT = TypeVar("SketchT", bound=BaseSketch)
"""The class of sketches that are combined, which is also that of the result."""
Piece = TypeVar("Piece")
Extent = tuple[int, int]
"""The first and the last tick of a piece."""


def merge(sketches: Iterable[SketchT], method: str = "n-way") -> SketchT:
    """One sketch for the union of many sites' streams, as if one site had seen all, in order of time.

    "n-way" merges all in one step, which costs one level of error: epsilon_sw becomes
    (1 + epsilon_sw)^2 - 1. "binary" merges in pairs up a tree, as in the paper's experiments: a level each.
    Every answer's bounds include it, and `merge_depth` in the config budgets for it.
    """
    with _states_of(sketches, "merged") as (sketch_class, states):
        merged = merge_states(states, method)
    return sketch_class._of(merged)


def concat(sketches: Iterable[SketchT]) -> SketchT:
    """One sketch for consecutive segments of one stream, in order of time; adds no error.

    The last segment stays live: the result can be updated further.
    """
    with _states_of(sketches, "concatenated") as (sketch_class, states):
        joined = concat_states(states)
    return sketch_class._of(joined)


def unite(sketches: Iterable[SketchT]) -> SketchT:
    """One sketch for the pieces of a stream, given in any order.

    Pieces that overlap in time are merged in one step, which adds one level of error. The results follow one another
    and are concatenated, which adds none. With model="count" ticks number a piece's own arrivals and say
    nothing of order: the pieces are concatenated as given.
    """
    with _states_of(sketches, "united") as (sketch_class, states):
        united = _unite_states(states)
    return sketch_class._of(united)


@contextmanager
def _states_of(sketches: Iterable[SketchT], done: str) -> Iterator[tuple[type[SketchT], list[State]]]:
    """The class of some sketches and their states, which no other thread changes meanwhile.

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
        yield type(given[0]), [sketch._state() for sketch in given]


def merge_states(states: list[State], method: str) -> State:
    """One state for the union of the streams, their order in time kept."""
    if not isinstance(method, str) or method not in METHODS:
        raise MergeError(f"method: expected one of {METHODS}, got {method!r}")
    _require_compatible(states, "merged")
    if states[0].engine.config.model == "count" and len(states) > 1:
        raise MergeError(
            "sketches with model='count' cannot be merged: they number the arrivals of their own stream only, "
            "so how arrivals of two streams interleaved is lost (paper, figure 2); use model='time'"
        )
    if method == "n-way":
        return _merge_once(states)
    while len(states) > 1:
        states = [_merge_once(states[i : i + 2]) for i in range(0, len(states), 2)]
    return _merge_once(states)


def _merge_once(states: list[State]) -> State:
    full = [state for state in states if state.engine.origin is not None]
    now = max((state.engine.now for state in states if state.engine.now is not None), default=None)
    if len(full) < 2 or now is None:
        result = (full or states)[0]
        result = result._replace(engine=result.engine.copy())
        result.engine.now = now
    else:
        full = [_settled(state) for state in full]
        _check_capacity(full, now)
        engines = [state.engine for state in full]
        merged = engines[0].merge(engines, now)
        parts = [part for state in full for part in (state.frequent, state.late_frequent)]
        result = State(merged, _combine(parts, merged, now))
        result = result._replace(names=_names(full, result))
    return _counted_together(result, states)


def _counted_together(result: State, states: list[State]) -> State:
    """A result with the kinds of items and the late arrivals of all."""
    result.engine.late_counted = sum(state.engine.late_counted for state in states)
    result.engine.late_dropped = sum(state.engine.late_dropped for state in states)
    return result._replace(kinds=unite_kinds(state.kinds for state in states))


def concat_states(states: list[State]) -> State:
    """One state for consecutive segments of one stream; adds no error."""
    _require_compatible(states, "concatenated")
    segments = _in_sequence(states)
    full = [state for state in segments if state.engine.origin is not None]
    last, now = segments[-1], segments[-1].engine.now
    if not full or now is None:
        return _counted_together(last, states)
    full = [state if state is last else _settled(state) for state in full]
    if now > MAX_TICK:
        raise MergeError(f"the segments have {now:,} arrivals in all, and model='count' numbers at most 2**62")
    _check_capacity(full, now)
    engines = [state.engine for state in full if state is not last]
    joined = last.engine.concat([*engines, last.engine], now)
    result = State(
        joined,
        _combine([state.frequent for state in full], joined, now),
        _combine([state.late_frequent for state in full], joined, now),
    )
    return _counted_together(result._replace(names=_names(full, result)), states)


def _in_sequence(states: list[State]) -> list[State]:
    """Copies of consecutive segments: each clock not before those of earlier ones, count-based ones numbered on."""
    segments = [state._replace(engine=state.engine.copy()) for state in states]
    for at, after in enumerate(states[1:], 1):
        clock = segments[at - 1].engine.now
        if after.engine.config.model == "count":
            segments[at] = _renumbered(segments[at], by=clock or 0)
        elif clock is not None and after.engine.origin is not None and after.engine.origin < clock:
            raise MergeError(
                f"segments overlap: one begins at tick {after.engine.origin}, before the previous one ends at "
                f"{clock}; give them in order of time, or use merge() for streams that overlap"
            )
        elif clock is not None and (after.engine.now is None or after.engine.now < clock):
            segments[at].engine.now = clock
    return segments


def _renumbered(state: State, by: int) -> State:
    """A count-based segment whose arrivals are numbered after those of the segments before it."""
    frequent = None if state.frequent is None else state.frequent.shifted(by)
    return state._replace(engine=state.engine.shifted(by), frequent=frequent)


def _unite_states(states: list[State]) -> State:
    """One state for the pieces of a stream."""
    if states[0].engine.config.model == "count":
        return concat_states(states)
    full = [state for state in states if state.engine.origin is not None]
    empty = [state for state in states if state.engine.origin is None]  # they may have a clock, and dropped arrivals
    parts = [merge_states(cluster, "n-way") for cluster in clusters(_ordered(full), _extent)]
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


def _extent(state: State) -> Extent:
    return state.engine.origin, state.engine.now


def _ordered(states: list[State]) -> list[State]:
    """Sort states by their bytes where their ticks are the same, so that the order in which they were given is lost."""
    seen = Counter(_extent(state) for state in states)
    return sorted(states, key=lambda state: encode_state(state, 0) if seen[_extent(state)] > 1 else b"")


def _check_capacity(states: list[State], now: int) -> None:
    """Refuse what surely is too much. Upper bounds would also refuse sketches that are only nearly full."""
    arrivals = sum(state.engine.most_since(now - state.engine.config.window)[0] for state in states)
    if arrivals > MAX_ARRIVALS:
        raise MergeError(
            f"the sketches have at least {arrivals:,} arrivals in one window, and at most 2**53 can be counted; "
            "count in a larger unit, or merge fewer of them"
        )


def _combine(parts: list[FrequentItems | None], engine: object, now: int) -> FrequentItems | None:
    given = [part for part in parts if part is not None]
    if len(given) < 2:
        return given[0] if given else None
    return combine(given, engine.config, now)  # type: ignore[attr-defined]


def _names(states: list[State], result: State) -> Names:
    if not result.engine.config.heavy_hitters:
        return {}
    known = {key: name for state in reversed(states) for key, name in state.names.items()}
    return forget_names(known, result.named())


def _require_compatible(states: list[State], done: str) -> None:
    first = states[0].engine.config
    for state in states[1:]:
        different = first.differences(state.engine.config)
        if different:
            name = different[0]
            raise MergeError(
                f"sketches with different configs cannot be {done}: {name} is {getattr(first, name)!r} in one "
                f"and {getattr(state.engine.config, name)!r} in another; build them from one SketchConfig"
            )


def _settled(state: State) -> State:
    """A state without held late arrivals; the given one stays as it is."""
    engine, late = state.engine.settled()
    if late is None:
        return state
    late_frequent = state.late_frequent
    if engine.config.heavy_hitters:
        late_frequent = (late_frequent or FrequentItems.new(engine.config)).added(late.items, late.ticks, late.weights)
    return state._replace(engine=engine, late_frequent=late_frequent)
