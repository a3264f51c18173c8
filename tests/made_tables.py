"""Tables such as slices have."""

from __future__ import annotations

import numpy as np


def table_of(cells: int, rng: np.random.Generator) -> np.ndarray:
    """Small cells with some large ones among them, up to 2**53."""
    table = rng.integers(0, 4 ** int(rng.integers(1, 4)), cells)
    large = rng.random(cells) < rng.choice([0, 0.02, 0.5])
    table[large] = rng.integers(0, 2 ** int(rng.integers(1, 54)) + 1, int(large.sum()))
    return table.astype(np.int64)
