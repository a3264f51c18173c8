"""Counters of cells compiled ahead against those compiled by numba: a million events, and batches of a thousand."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from ecmsketch import SketchConfig
from ecmsketch.counters.exponential_histogram import ExponentialHistograms as Old
from ecmsketch.engines.cells.arrivals import hashed
from ecmsketch.engines.cells.exponential_histogram import ExponentialHistograms as New
from ecmsketch.kernels.hashing import cells_of

EVENTS = 1_000_000


def main() -> None:
    """Print seconds and ratios."""
    rng = np.random.default_rng(1)
    items, ticks = rng.zipf(1.2, EVENTS).astype(np.uint64), np.arange(EVENTS) // 10
    for epsilon in (0.1, 0.01):
        config = SketchConfig(epsilon=epsilon, delta=0.01, window=50_000, counter="eh")
        rows = config.row_hashes()
        for batch in (EVENTS, 65_536, 1000):
            times: dict[str, list[float]] = {"old": [], "new": []}
            for _ in range(6 if batch > 1000 else 3):
                old, new = Old(config), New(config)
                for name in times:
                    begin = perf_counter()
                    for i in range(0, EVENTS, batch):
                        some = slice(i, i + batch)
                        first, last = int(ticks[i]), int(ticks[some][-1])
                        if name == "old":
                            old.add(cells_of(items[some], rows), ticks[some], None, first, last)
                        else:
                            new.reserve(hashed(items[some], config.rows, ticks[some], None), first, last).commit()
                    times[name].append(perf_counter() - begin)
            assert old.encode(int(ticks[-1])) == new.encode(int(ticks[-1]))
            one, other = min(times["old"]), min(times["new"])
            print(f"epsilon {epsilon}, {batch} a batch: old {one:.3f} s, new {other:.3f}, {one / other:.2f} x as fast")


if __name__ == "__main__":
    main()
