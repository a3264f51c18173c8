"""Balancing: sites whose drifts cancel out share them evenly, so that all pass the local test again."""

from __future__ import annotations

import numpy as np

from ecmsketch.monitor.functions import Vector
from ecmsketch.monitor.local_test import LocalTest


def balanced(drifts: list[Vector], test: LocalTest) -> list[Vector] | None:
    """Drifts with the same number and sum, as equal as they can be; None if these would not pass the test.

    Whole numbers stay whole, since those take the fewest bytes.
    """
    count = len(drifts)
    total = np.sum(drifts, axis=0)
    mean = total / count
    if not test.passes(mean):
        return None
    if (total != np.rint(total)).any():
        return [mean] * count
    whole = np.floor(mean)
    remainder = (total - count * whole).ravel()
    turn = np.arange(whole.size)
    shares = [whole + ((turn + i) % count < remainder).reshape(whole.shape) for i in range(count)]
    return shares if all(test.passes(share) for share in shares) else None
