"""Fast random draws with given probabilities: 65,536 tickets, of which every outcome holds its share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

TICKETS = 1 << 16


def make_tickets(outcomes: Any, weights: Any) -> NDArray[Any]:
    """The outcome of each ticket. Shares are rounded to 1/65,536 such that the rounding errors do not add up."""
    cumulated = np.cumsum(weights, dtype=np.float64)
    sold = np.rint(cumulated * (TICKETS / cumulated[-1])).astype(np.int64)
    return np.repeat(np.asarray(outcomes), np.diff(sold, prepend=0))


def draw_tickets(random: np.random.Generator, count: int) -> NDArray[np.uint16]:
    """Draw ticket numbers at random."""
    return random.integers(0, TICKETS, count, np.uint16)
