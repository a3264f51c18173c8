"""Sketches of many sites into one (`merge`), and segments of one stream one after the other (`concat`).

Merging works on buckets, never on events. A bucket's arrivals lie somewhere between its start and its end;
half of them are replayed at each (paper section 5.1). That displaces a range's count by epsilon_sw at most,
and the displacement of every level of merging compounds: the result carries the number of levels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numba import int64

from ecmsketch.counters import MAX_ARRIVALS, Buckets, Counters, kind_of, new_counters
from ecmsketch.errors import MergeError
from ecmsketch.hashing import RowHashes, row_hashes
from ecmsketch.kernels import kernel
from ecmsketch.sketch import EcmSketch
from ecmsketch.sorting import sort_by_tick
from ecmsketch.state import MAX_LEVELS, SketchState

METHODS = ("n-way", "binary")


def merge(sketches: Iterable[EcmSketch], method: str = "n-way") -> EcmSketch:
    """One sketch for the union of many sites' streams, as if one site had seen all, in order of time.

    "n-way" merges all in one step, which costs one level of error: epsilon_sw becomes
    (1 + epsilon_sw)^2 - 1. "binary" merges in pairs up a tree, as in the paper's experiments: a level each.
    Every answer's bounds include it, and `merge_depth` in the config budgets for it.
    """
    states = _states(sketches)
    return EcmSketch._of(merge_states(states, method))


def concat(sketches: Iterable[EcmSketch]) -> EcmSketch:
    """One sketch for consecutive segments of one stream, in order of time; adds no error.

    The last segment stays live: the result can be updated further.
    """
    return EcmSketch._of(concat_states(_states(sketches)))


def _states(sketches: Iterable[EcmSketch]) -> list[SketchState]:
    if isinstance(sketches, EcmSketch) or not isinstance(sketches, Iterable):
        raise MergeError(f"expected a list of EcmSketch objects, got one {type(sketches).__name__}")
    states = []
    for sketch in sketches:
        if not isinstance(sketch, EcmSketch):
            raise MergeError(f"expected EcmSketch objects, got {type(sketch).__name__}; deserialize bytes first")
        states.append(sketch._flushed())
    return states


def merge_states(states: list[SketchState], method: str) -> SketchState:
    """One state for the union of the streams, their order in time kept."""
    if method not in METHODS:
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
        levels = 1 + max(state.levels for state in full)
        if levels > MAX_LEVELS:
            raise MergeError(
                f"this would be level {levels} of merging, and {MAX_LEVELS} are allowed: each adds error. "
                "Merge all sites in one call, and use concat() for consecutive segments of one stream"
            )
        sources = [buckets for state in full for buckets in _sources(state, now)]
        result = SketchState(
            config,
            now,
            min(state.origin for state in full if state.origin is not None),
            levels,
            _replay(sources, new_counters(config)),
        )
    result.late.counted = sum(state.late.counted for state in states)
    result.late.dropped = sum(state.late.dropped for state in states)
    return result


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
    result.late.counted = sum(state.late.counted for state in states)
    result.late.dropped = sum(state.late.dropped for state in states)
    now = result.now
    if not full or now is None:
        return result
    config, rows = result.config, _rows(result)
    for state in full:
        if state is not result:
            state.late.settle_all(config, rows)
    result.late.frontier = max(state.late.frontier for state in full)
    if sum(state.arrivals for state in full) > MAX_ARRIVALS:
        raise MergeError("the segments have more than 2**53 arrivals in all, which is more than counters hold")
    result.origin = full[0].origin
    result.levels = max(state.levels for state in full)
    result.counters = _concat_counters([state.counters for state in full], result.counters, result, now)
    result.late.settled = _concat_counters([state.late.settled for state in full], result.late.settled, result, now)
    return result


def _concat_counters(
    parts: list[Counters | None], last: Counters | None, result: SketchState, now: int
) -> Counters | None:
    older = [part for part in parts if part is not None and part is not last]
    if not older:
        return last
    live = new_counters(result.config) if last is None else last
    return kind_of(result.config).concat([*older, live], now)


def _renumber(state: SketchState, by: int) -> None:
    """Let a count-based segment's arrivals be numbered after those of the segments before it."""
    state.now = (state.now or 0) + by
    if state.origin is not None:
        state.origin += by
    if state.counters is not None:
        state.counters.shift(by)


def _require_compatible(states: list[SketchState], done: str) -> None:
    if not states:
        raise MergeError(f"no sketches were given to be {done}; give at least one")
    for state in states[1:]:
        different = states[0].config.differences(state.config)
        if different:
            name = different[0]
            ours, theirs = getattr(states[0].config, name), getattr(state.config, name)
            raise MergeError(
                f"sketches with different configs cannot be {done}: {name} is {ours!r} in one "
                f"and {theirs!r} in another; build them from one SketchConfig"
            )


def _rows(state: SketchState) -> RowHashes:
    return row_hashes(state.config.seed, state.config.depth, state.config.width)


def _sources(state: SketchState, now: int) -> Iterator[Buckets]:
    """All the buckets of one sketch that are inside the window at `now`."""
    assert state.origin is not None
    for counters in (state.counters, state.late.settled):
        if counters is not None:
            yield counters.buckets(now, state.origin)
    if len(state.late.held.ticks):
        yield state.late.held_buckets(_rows(state))


def _replay(sources: list[Buckets], empty: Counters) -> Counters:
    bases = np.cumsum([0, *(len(source.end) for source in sources)])
    offsets = np.stack([source.offset + base for source, base in zip(sources, bases[:-1], strict=True)])
    start, end, size = (
        np.concatenate([getattr(source, name) for source in sources]) for name in ("start", "end", "size")
    )
    if float(size.sum(dtype=np.float64)) > MAX_ARRIVALS:
        raise MergeError("the sketches have more than 2**53 arrivals in all, which is more than counters hold")
    cells, ticks, weights = _points(offsets, start, end, size)
    if len(ticks):
        empty.add(cells, ticks, weights, int(ticks.min()), int(ticks.max()))
    return empty


@kernel
def _points(offsets: Any, start: Any, end: Any, size: Any) -> Any:
    """Every bucket as two points in time, each cell's points in order: (cells, ticks, weights)."""
    sources, cells = offsets.shape[0], offsets.shape[1] - 1
    cell_of = np.empty((1, 2 * end.shape[0]), np.uint32)
    ticks = np.empty(2 * end.shape[0], np.int64)
    weights = np.empty(2 * end.shape[0], np.int64)
    filled = int64(0)
    for cell in range(cells):
        begin = filled
        for source in range(sources):
            mine = filled
            for i in range(offsets[source, cell], offsets[source, cell + 1]):
                at_start = size[i] >> int64(1)
                filled = _put_point(ticks, weights, mine, filled, start[i], at_start)
                filled = _put_point(ticks, weights, mine, filled, end[i], size[i] - at_start)
        sort_by_tick(ticks[begin:filled], weights[begin:filled])
        cell_of[0, begin:filled] = cell
    return cell_of[:, :filled].copy(), ticks[:filled].copy(), weights[:filled].copy()


@kernel
def _put_point(ticks: Any, weights: Any, first: Any, filled: Any, tick: Any, weight: Any) -> Any:
    """Append a point, or add to the last one if it lies on the same tick; returns the new length."""
    if weight == int64(0):
        return filled
    if filled > first and ticks[filled - 1] == tick:
        weights[filled - 1] += weight
        return filled
    ticks[filled], weights[filled] = tick, weight
    return filled + int64(1)
