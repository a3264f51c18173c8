"""The samples of randomized waves: lists of ticks, one for each cell, instance and level."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64
from numpy.typing import NDArray

from ecmsketch.config.memory import WAVE_LEVELS
from ecmsketch.counters.contract import Ints
from ecmsketch.counters.waves.drawing import Draws
from ecmsketch.kernels import kernel


class Samples(NamedTuple):
    """State. List (cell * instances + instance) * WAVE_LEVELS + level has its ticks, oldest first, at
    ticks[offset[list] : offset[list] + filled[list]], as offsets from a base. Only the newest `samples` count.
    """

    ticks: NDArray[Any]
    offset: Ints
    filled: Ints


@kernel
def count_draws(cells: Any, draws: Draws, instance: Any, instances: Any, lists: Any) -> Any:
    """How many ticks come to each list."""
    coming = np.zeros(lists, np.int64)
    for row in range(cells.shape[0]):
        for i in range(draws.event.shape[0]):
            line = int64(cells[row, draws.event[i]]) * instances + instance
            coming[line * int64(WAVE_LEVELS) + draws.level[i]] += draws.copies[i]
    return coming


@kernel
def push_draws(
    state: Samples, cells: Any, ticks: Any, draws: Draws, instance: Any, instances: Any, keep: Any, base: Any
) -> None:
    """Append each tick to its list; a full list first forgets all but its newest `keep`."""
    for row in range(cells.shape[0]):
        for i in range(draws.event.shape[0]):
            line = int64(cells[row, draws.event[i]]) * instances + instance
            at = line * int64(WAVE_LEVELS) + draws.level[i]
            first, copies = state.offset[at], min(draws.copies[i], keep)
            if first + state.filled[at] + copies > state.offset[at + 1]:
                stay = min(keep - copies, state.filled[at])
                gone = state.filled[at] - stay
                for j in range(stay):
                    state.ticks[first + j] = state.ticks[first + gone + j]
                state.filled[at] = stay
            tick = max(ticks[draws.event[i]] - base, int64(0))
            for j in range(copies):
                state.ticks[first + state.filled[at] + j] = tick
            state.filled[at] += copies


@kernel
def repack(state: Samples, room: Any) -> Samples:
    """The same state in a larger arena: every list gets the room it needs and an eighth more."""
    lists = room.shape[0]
    offset = np.zeros(lists + 1, np.int64)
    for at in range(lists):
        offset[at + 1] = offset[at] + max(room[at] + (room[at] >> int64(3)), state.filled[at])
    ticks = np.empty(offset[lists], state.ticks.dtype)
    for at in range(lists):
        for j in range(state.filled[at]):
            ticks[offset[at] + j] = state.ticks[state.offset[at] + j]
    return Samples(ticks, offset, state.filled)


@kernel
def united(one: Samples, other: Samples, shift: Any, keep: Any) -> Samples:
    """Both samples of each list in order of time, cut to the newest; `shift` is added to the other's offsets."""
    lists = one.filled.shape[0]
    offset = np.zeros(lists + 1, np.int64)
    count = np.empty(lists, np.int64)
    for at in range(lists):
        count[at] = min(one.filled[at], keep) + min(other.filled[at], keep)
        offset[at + 1] = offset[at] + min(count[at], keep)
    ticks = np.empty(offset[lists], one.ticks.dtype)
    for at in range(lists):
        left, right = one.offset[at] + one.filled[at], other.offset[at] + other.filled[at]
        left_first, right_first = one.offset[at], other.offset[at]
        into = offset[at + 1]
        while into > offset[at]:
            into -= int64(1)
            mine = int64(one.ticks[left - int64(1)]) if left > left_first else int64(-1)
            theirs = max(int64(other.ticks[right - int64(1)]) + shift, int64(0)) if right > right_first else int64(-1)
            if mine >= theirs:
                ticks[into] = mine
                left -= int64(1)
            else:
                ticks[into] = theirs
                right -= int64(1)
        count[at] = offset[at + 1] - offset[at]
    return Samples(ticks, offset, count)
