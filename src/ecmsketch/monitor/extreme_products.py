"""How high (|p|^2 - |q|^2)/2 can be near two vectors, by bisection: 60 steps halve the error to that of floats.

Only the lengths of vectors matter, so vectors are given by their norms p and q.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.ecmsketch.kernels.memory import doubles
from cython.cimports.libc.math import INFINITY, sqrt
from cython.cimports.libc.stdint import int64_t
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def highest_product(p: float, q: float, radius: float) -> float:
    """The highest (P^2 - Q^2)/2 with (P, Q) within a radius of (p, q)."""
    return highest(p, q, radius)


def nearest(p: float, q: float, level: float) -> float:
    """The Q of the point nearest to (p, q) at which (P^2 - Q^2)/2 is `level`, which is not below that at (p, q)."""
    return nearest_point(p, q, level)


def highest_least_product(p: Floats, q: Floats, radius: float) -> float:
    """The highest that the least row's product can be, if all rows move by a common radius in all.

    Lifting every row to a level costs the sum of its squared distances to it: bisection over the level.
    """
    p, q = np.ascontiguousarray(p, np.float64), np.ascontiguousarray(q, np.float64)
    if len(p) != len(q):
        raise ValueError(f"q: expected {len(p)} norms, got {len(q)}")
    return highest_of_rows(doubles(p), doubles(q), len(p), radius)


@cython.cfunc
@cython.nogil
def highest(p: cython.double, q: cython.double, radius: cython.double) -> cython.double:
    """Q = q - s, and P = p + sqrt(radius^2 - s^2); the derivative by s, q - 2s - p s/sqrt(...), falls: bisection."""
    low: cython.double = 0.0
    high: cython.double = min(radius, q / 2.0)
    s: cython.double
    rest: cython.double
    _: cython.int
    for _ in range(60):
        s = (low + high) / 2.0
        rest = sqrt(max(radius * radius - s * s, 0.0))
        if (q - 2.0 * s) * rest > p * s:
            low = s
        else:
            high = s
    rest = sqrt(max(radius * radius - low * low, 0.0))
    return ((p + rest) * (p + rest) - (q - low) * (q - low)) / 2.0


@cython.cfunc
@cython.nogil
def nearest_point(p: cython.double, q: cython.double, level: cython.double) -> cython.double:
    """The point is P = p/(1 - m), Q = q/(1 + m), and P^2 - Q^2 grows with m from 0 to 1: bisection."""
    low: cython.double = 0.0
    high: cython.double = 1.0
    m: cython.double
    longer: cython.double
    shorter: cython.double
    _: cython.int
    for _ in range(60):
        m = (low + high) / 2.0
        longer = p / (1.0 - m)
        shorter = q / (1.0 + m)
        if longer * longer - shorter * shorter < 2.0 * level:
            low = m
        else:
            high = m
    return q / (1.0 + low)


@cython.cfunc
@cython.nogil
def highest_of_rows(
    p: cython.pointer(cython.double), q: cython.pointer(cython.double), rows: int64_t, radius: cython.double
) -> cython.double:
    """Do what `highest_least_product` does."""
    low: cython.double = INFINITY
    high: cython.double = INFINITY
    level: cython.double
    cost: cython.double
    to_p: cython.double
    to_q: cython.double
    j: int64_t
    _: cython.int
    for j in range(rows):
        low = min(low, (p[j] * p[j] - q[j] * q[j]) / 2.0)
        high = min(high, highest(p[j], q[j], radius))
    for _ in range(60):
        level = (low + high) / 2.0
        cost = 0.0
        for j in range(rows):
            if (p[j] * p[j] - q[j] * q[j]) / 2.0 < level:
                to_q = nearest_point(p[j], q[j], level)
                to_p = sqrt(max(2.0 * level + to_q * to_q, 0.0))
                cost += (to_p - p[j]) * (to_p - p[j]) + (to_q - q[j]) * (to_q - q[j])
        if cost <= radius * radius:
            low = level
        else:
            high = level
    return high
