"""Makes the counts of children add up to that of their parent.

Collisions add about the same to all children of a prefix. So one amount is taken from all of them, and none falls below
what it surely is. It is the least change, as a sum of squares, that makes them add up.
"""

from __future__ import annotations

from typing import Any

from numba import float64, int64

from ecmsketch.kernels import kernel


@kernel
def project(value: Any, lower: Any, upper: Any, parent: Any, found: Any) -> None:
    """Write into `found` the children's values, changed so that they add up to the parent.

    If the values add up to too little, each goes the same part of the way to its upper bound. If even the lower bounds
    add up to too much, they are scaled down: of a parent that is 0 all children are 0.
    """
    have, least, most = value.sum(), lower.sum(), upper.sum()
    if have <= parent:
        part = min((parent - have) / (most - have), 1.0) if most > have else 0.0
        for i in range(value.shape[0]):
            found[i] = value[i] + part * (upper[i] - value[i])
    elif least >= parent:
        for i in range(value.shape[0]):
            found[i] = lower[i] * (parent / least) if least > 0.0 else 0.0
    else:
        amount = _common_amount(value, lower, parent)
        for i in range(value.shape[0]):
            found[i] = max(value[i] - amount, lower[i])


@kernel
def _common_amount(value: Any, lower: Any, parent: Any) -> Any:
    """The amount that leaves `parent` in all, if it is taken from every value, down to its lower bound.

    Those that an amount brings down to their lower bounds stay there, and the others must give more. So the amount only
    grows, and each round but the last fixes at least one value.
    """
    amount, fixed = 0.0, int64(-1)
    while True:
        given, free, now_fixed = -parent, int64(0), int64(0)
        for i in range(value.shape[0]):
            if value[i] - amount <= lower[i] and fixed >= int64(0):
                given += lower[i]
                now_fixed += int64(1)
            else:
                given += value[i]
                free += int64(1)
        if now_fixed == fixed or free == int64(0):
            return amount
        fixed = now_fixed
        amount = max(given / float64(free), amount)
