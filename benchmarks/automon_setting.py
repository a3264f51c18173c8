"""The inner-product setting of AutoMon's evaluation (Sivan, Gabel, Schuster: AutoMon, SIGMOD 2022), rebuilt.

Ten sites each have a sliding window of 20 points of 40 numbers. The watched vector is the average of the windows'
averages over all sites. The function is the inner product of its halves, tracked within an additive error bound for
1000 rounds (1001 with the first). Points arrive round robin. The inner product of a point follows a line, a slow sine,
a constant to which every second point adds 1, a fast sine, and a line again. AutoMon's random numbers are not
available, but its function values are: ours are within 0.014 of them in every round. AutoMon counts every message
(violations, requests, answers, synchronisations and balancing) except the first violations.
"""

from __future__ import annotations

import numpy as np

from ecmsketch.monitor import InnerProduct, Tracking, Watch, simulate_vectors

PUBLISHED = {0.1: 3752, 0.2: 1979, 0.3: 1420, 0.5: 775, 0.8: 665}
"""AutoMon's published number of messages, by error bound."""


def vectors(seed, sites=10, numbers=40, window=20, rounds=1020):
    """The vectors of all sites in every round, as rounds x sites x the shape of an inner product's vector."""
    rng = np.random.default_rng(seed)
    points, part = sites * rounds, sites * rounds // 5
    level = np.sin(10) + 1
    high_and_low = np.full(part, level)
    high_and_low[::2] += 1
    last = high_and_low[-1]
    end = np.sin(40) + last
    product = np.concatenate(
        [
            np.linspace(0, 1, part),
            np.sin(np.linspace(0, 10, part)) + 1,
            high_and_low,
            np.sin(np.linspace(0, 40, part)) + last,
            np.linspace(end, end + 1, points - 4 * part),
        ]
    )
    x = rng.normal(1, 0.01, (points, numbers // 2))
    y = (product / x.sum(axis=1))[:, None] + rng.normal(0, 0.01, (points, numbers // 2))
    series = np.stack([x, y], axis=1).reshape(rounds, sites, 2, 1, numbers // 2)
    sums = np.concatenate([np.zeros_like(series[:1]), np.cumsum(series, axis=0)])
    return (sums[window:] - sums[:-window]) / window


def watched(given, bound, **changes):
    """Simulate one error bound."""
    lead, baselines = changes.pop("lead", 0.0), changes.pop("baselines", False)
    watch = Watch(InnerProduct(centred=False), Tracking(bound, lead=lead), combine="average", **changes)
    return simulate_vectors(watch, given, baselines=baselines)


def main():
    """Print the number of messages, averaged over three seeds."""
    given = [vectors(seed) for seed in range(3)]
    ways = [{"test": test, "balance": balance} for test in ("zone", "ball") for balance in ("lazy", "eager")]
    for way in [*ways, {"lead": 0.7}]:
        found = [np.mean([watched(one, bound, **way).messages.total() for one in given]) for bound in PUBLISHED]
        print(way, np.round(found).astype(int))
    print("published", list(PUBLISHED.values()))


if __name__ == "__main__":
    main()
