"""Fast draws by given shares: a row of 65,536 tickets, of which every outcome has its share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

TICKETS = 1 << 16


def make_tickets(outcomes: Any, weights: Any) -> NDArray[Any]:
    """Outcomes, each as often as its weight asks: to 1/65,536, rounded so that the errors do not add up."""
    cumulated = np.cumsum(weights, dtype=np.float64)
    sold = np.rint(cumulated * (TICKETS / cumulated[-1])).astype(np.int64)
    return np.repeat(np.asarray(outcomes), np.diff(sold, prepend=0))


def draw(random: np.random.Generator, count: int) -> NDArray[np.uint16]:
    """Numbers of tickets."""
    return random.integers(0, TICKETS, count, np.uint16)
