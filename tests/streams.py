"""Streams that sliding windows find hard: bursts, many arrivals a tick, gaps longer than the window."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st


class Stream(NamedTuple):
    ticks: np.ndarray
    weights: np.ndarray | None


SHAPES = ("steady", "crowded", "bursts", "gaps", "slowing", "one tick")


def ticks_of(shape: str, events: int, window: int, rng: np.random.Generator) -> np.ndarray:
    if shape == "steady":
        gaps = rng.integers(1, 3, events)
    elif shape == "crowded":
        gaps = (rng.random(events) < 0.05).astype(np.int64)
    elif shape == "bursts":
        gaps = np.where(rng.random(events) < 0.02, rng.integers(1, window // 2 + 2, events), rng.random(events) < 0.3)
    elif shape == "gaps":
        gaps = np.where(rng.random(events) < 0.01, rng.integers(window, 4 * window + 1, events), 1)
    elif shape == "slowing":
        gaps = np.linspace(0, max(window // 50, 2), events).astype(np.int64)
    else:
        gaps = np.zeros(events, np.int64)
    return np.cumsum(gaps).astype(np.int64) + int(rng.integers(-1000, 1000))


@st.composite
def streams(draw, window: int, most: int = 3000, weighted: bool | None = None) -> Stream:
    shape = draw(st.sampled_from(SHAPES))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    ticks = ticks_of(shape, draw(st.integers(1, most)), window, rng)
    if weighted is None:
        weighted = draw(st.booleans())
    weights = rng.choice([1, 1, 2, 7, 100, 12345], len(ticks)) if weighted else None
    return Stream(ticks, weights)


def zipf_items(events: int, distinct: int, rng: np.random.Generator, exponent: float = 1.1) -> np.ndarray:
    ranks = np.arange(1, distinct + 1) ** -exponent
    return rng.choice(distinct, events, p=ranks / ranks.sum())


def cuts(total: int, pieces: int, rng: np.random.Generator) -> list[slice]:
    marks = np.sort(rng.integers(0, total + 1, max(pieces - 1, 0)))
    bounds = [0, *marks.tolist(), total]
    return [slice(a, b) for a, b in pairwise(bounds)]
