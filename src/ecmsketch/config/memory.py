"""How much memory counters take: ticks kept by one counter after some arrivals."""

from __future__ import annotations

from math import ceil

from ecmsketch.config import budget

HISTOGRAM_NBYTES = 128
"""Bytes of one exponential histogram while the first arrivals of a table are counted; 48 of them stay."""
WAVE_LEVELS = 56
"""Levels of a randomized wave: 2^55 is more than any counter's arrivals, so the last level is never full."""


def histogram_ticks(epsilon_sw: float, arrivals: float) -> int:
    """Ticks that an exponential histogram keeps: about k/2 for every doubling, and an eighth of room."""
    k = ceil(1 / epsilon_sw)
    buckets, size, level = 0.0, 1, k + 0.5
    while arrivals > level * size:
        buckets += level
        arrivals -= level * size
        size, level = size * 2, ceil(k / 2) + 0.5
    return ceil((buckets + arrivals / size) * 9 / 8)


def deterministic_ticks(epsilon_sw: float, arrivals: float) -> int:
    """Ticks that a deterministic wave keeps: a ring for every doubling."""
    ring = budget.wave_ring(epsilon_sw)
    return (budget.wave_top(ring, arrivals) + 2) * ring


def randomized_ticks(samples: int, instances: int, arrivals: float) -> int:
    """Ticks that a randomized wave keeps: `samples` of every level, or as many as drew it, and room."""
    kept = sum(min(samples * 1.25, arrivals / 2.0 ** (level + 1)) for level in range(WAVE_LEVELS))
    return ceil(instances * (kept * 9 / 8 + WAVE_LEVELS * 4))
