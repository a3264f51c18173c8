"""Answers from the samples of randomized waves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from ecmsketch.config.memory import WAVE_LEVELS
from ecmsketch.counters.buckets.straddling import first_after
from ecmsketch.counters.waves.samples import Samples
from ecmsketch.kernels import kernel


@kernel
def read_samples(state: Samples, cells: Any, since: Any, instances: Any, keep: Any, epsilon: Any) -> Any:
    """Read each cell: the median of the instances' answers, or the exact number where every level is complete."""
    value = np.empty(cells.shape[0], np.float64)
    lower = np.empty(cells.shape[0], np.float64)
    upper = np.empty(cells.shape[0], np.float64)
    answers = np.empty(instances, np.float64)
    for i in range(cells.shape[0]):
        least, exact = int64(0), False
        for instance in range(instances):
            line = (int64(cells[i]) * instances + instance) * int64(WAVE_LEVELS)
            sampled, level, complete = int64(0), int64(WAVE_LEVELS), True
            while level > int64(0) and complete:
                at = line + level - int64(1)
                past = state.offset[at] + state.filled[at]
                first = max(state.offset[at], past - keep)
                found = past - first_after(state.ticks, first, past, since)
                complete = found < keep
                if complete:
                    sampled += found
                    level -= int64(1)
                else:
                    least = max(least, sampled + found)
            answers[instance] = np.float64(sampled) * np.float64(int64(1) << level)
            if complete:
                exact = True
                least = sampled
        if exact:
            value[i] = lower[i] = upper[i] = np.float64(least)
        else:
            _sort_few(answers)
            middle = (answers[(instances - 1) >> 1] + answers[instances >> 1]) / 2.0
            value[i] = max(middle, np.float64(least))
            lower[i] = max(value[i] / (1.0 + epsilon), np.float64(least))
            upper[i] = value[i] / (1.0 - epsilon)
    return value, lower, upper


@kernel
def _sort_few(numbers: Any) -> None:
    """Sort by insertion: there are few numbers, and a general sort takes a second to compile."""
    for i in range(1, numbers.shape[0]):
        number, at = numbers[i], i
        while at > 0 and numbers[at - 1] > number:
            numbers[at] = numbers[at - 1]
            at -= 1
        numbers[at] = number
