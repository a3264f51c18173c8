"""The error budget: one epsilon is split between the hash table (cm) and the window counters (sw).

Memory grows as 1/(epsilon_sw * epsilon_cm) (rw: epsilon_sw^2), and every split here makes it least under its own bound:
the sharper one of docs/guarantees.md, or that of the paper (sections 4.1 and 5.1), which adds errors up that cannot
meet.
"""

from __future__ import annotations

from math import ceil, comb, e, log, log2, sqrt
from statistics import NormalDist
from typing import NamedTuple


class EpsilonSplit(NamedTuple):
    """One epsilon, split between the window counters (sw) and the hash table (cm)."""

    epsilon_sw: float
    epsilon_cm: float


def point_error(epsilon_sw: float, epsilon_cm: float) -> float:
    """The error of an item's count, as a share of all arrivals in the range: Theorem 1, sharper.

    A cell holds the item's own f arrivals and collisions, at most epsilon_cm (N - f), and reads both off by epsilon_sw
    at most. So the error is at most epsilon_sw f + (1 + epsilon_sw) epsilon_cm (N - f), a mean of the two weighted by
    f and N - f.
    """
    return max(epsilon_sw, (1 + epsilon_sw) * epsilon_cm)


def inner_error(epsilon_sw: float, epsilon_cm: float) -> float:
    """The error of an inner product, as a share of the product of both totals: Theorem 2, sharper in the same way."""
    return max((1 + epsilon_sw) ** 2 - 1, (1 + epsilon_sw) ** 2 * epsilon_cm)


def sharp_split(epsilon: float, optimize_for: str) -> EpsilonSplit:
    """The largest parts with which `point_error` or `inner_error` is epsilon. It serves all counters of cells alike."""
    epsilon_sw = epsilon if optimize_for == "point" else sqrt(1 + epsilon) - 1
    return EpsilonSplit(epsilon_sw, epsilon / (1 + epsilon))


def paper_split(epsilon: float, optimize_for: str, counter: str) -> EpsilonSplit:
    """The paper's split, to reproduce its experiments. It adds errors up, and holds about half of epsilon."""
    if counter == "rw":
        return randomized_split(epsilon)
    return point_split(epsilon) if optimize_for == "point" else inner_split(epsilon)


def point_split(epsilon: float) -> EpsilonSplit:
    """Theorem 1 as published: epsilon_sw + epsilon_cm + epsilon_sw * epsilon_cm = epsilon, in equal parts."""
    part = sqrt(1 + epsilon) - 1
    return EpsilonSplit(part, part)


def inner_split(epsilon: float) -> EpsilonSplit:
    """Theorem 2 as published. y = 1 + epsilon_sw is the real root of y^3 + (1+epsilon) y - 2 (1+epsilon) = 0."""
    a = 1 + epsilon
    root = sqrt(a * a + a**3 / 27)
    epsilon_sw = (a + root) ** (1 / 3) - (root - a) ** (1 / 3) - 1
    epsilon_cm = (epsilon - epsilon_sw**2 - 2 * epsilon_sw) / (1 + epsilon_sw) ** 2
    return EpsilonSplit(epsilon_sw, epsilon_cm)


def randomized_split(epsilon: float) -> EpsilonSplit:
    """Theorem 3 as published, for counters whose memory grows as 1/epsilon_sw^2 (section 4.2.2)."""
    root = sqrt(epsilon**2 + 10 * epsilon + 9)
    return EpsilonSplit((root + epsilon - 3) / 4, (3 * epsilon - root + 3) / (epsilon + root + 1))


def resolution_split(epsilon: float, resolution: float) -> EpsilonSplit:
    """Two promises for cells: an error of at most `resolution` of an item's own count, and `epsilon` of the rest.

    They are the two parts of `point_error`, before the larger is taken of both.
    """
    return EpsilonSplit(resolution, epsilon / (1 + resolution))


def slices_split(epsilon: float, resolution: float | None, optimize_for: str) -> EpsilonSplit:
    """The split for slices; epsilon_sw is how much of a range its start may be off, after all merging.

    With a resolution it is that, and epsilon is left to collisions. Without one both get half of epsilon. They add up
    for a count, since collisions are those of whole slices: epsilon_sw + epsilon_cm = epsilon. For an inner product
    both factors are off, (1 + epsilon_sw)^2 (1 + epsilon_cm) - 1 = epsilon, of which the start takes
    (1 + epsilon_sw)^2 - 1 = epsilon/2.
    """
    if resolution is not None:
        return EpsilonSplit(resolution, epsilon)
    if optimize_for == "point":
        return EpsilonSplit(epsilon / 2, epsilon / 2)
    return EpsilonSplit(sqrt(1 + epsilon / 2) - 1, epsilon / 2 / (1 + epsilon / 2))


def slices_carried_epsilon(epsilon_t: float, levels: int) -> float:
    """How sharply slices honour the start of a range after `levels` levels of merging.

    A level adds epsilon_t, since sites' slices lie over each other and are joined anew. The first level adds it twice:
    with less, few slices of many sites could be joined at all (docs/guarantees.md).
    """
    return epsilon_t * (levels + 2 if levels else 1)


def slices_site_epsilon(target: float, depth: int) -> float:
    """The inverse: what each site's slices must keep so that `depth` levels of merging end at `target`."""
    return target / slices_carried_epsilon(1.0, depth)


def site_epsilon(target: float, depth: int, formula: str) -> float:
    """The epsilon that each site's counters must keep so that `depth` levels of merging end at `target`.

    "corrected": every level's displacement is relative to an already displaced count, so errors compound,
    (1 + x)^(depth + 1) - 1 = target. "paper" (section 5.1) adds them, and so misses its target slightly.
    """
    if depth == 0:
        return target
    if formula == "paper":
        return (sqrt(1 + 2 * depth + depth**2 + 4 * depth * target) - 1 - depth) / (2 * depth)
    return float((1 + target) ** (1 / (depth + 1)) - 1)


def carried_epsilon(epsilon_sw: float, levels: int) -> float:
    """The counters' error after `levels` levels of merging: the inverse of `site_epsilon`."""
    return float((1 + epsilon_sw) ** (levels + 1) - 1)


def table_width(epsilon_cm: float) -> int:
    """Columns of the Count-Min table."""
    return ceil(e / epsilon_cm)


def table_depth(delta: float) -> int:
    """Rows of the Count-Min table."""
    return ceil(log(1 / delta))


def wave_miss(constant: float, instances: int) -> float:
    """Probability that a median of `instances` samples of constant/epsilon^2 arrivals misses epsilon.

    A sample's relative error is normal with deviation 1/sqrt(sample); the median misses if half of them do. A tenth
    of the sample is set aside for what that leaves out, as measured in docs/decisions/007-randomized-wave.md.
    """
    return _median_miss(2 * NormalDist().cdf(-sqrt(constant / 1.1)), instances)


def wave_constant(delta_sw: float, instances: int) -> float:
    """The inverse of `wave_miss`: the constant that misses with probability delta_sw."""
    low, high = 0.0, 0.5
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _median_miss(middle, instances) <= delta_sw else (low, middle)
    return 1.1 * float(NormalDist().inv_cdf(1 - low / 2)) ** 2


def _median_miss(miss: float, instances: int) -> float:
    at_least_half = range((instances + 1) // 2, instances + 1)
    return sum(comb(instances, k) * miss**k * (1 - miss) ** (instances - k) for k in at_least_half)


def wave_ring(epsilon_sw: float) -> int:
    """Ticks that a deterministic wave keeps per level: (1/epsilon + 1)/2, rounded up."""
    return ceil((1 / epsilon_sw + 1) / 2)


def wave_top(ring: int, arrivals: float) -> int:
    """The top level of a wave, such that 2 * ring multiples of 2^top reach back over that many arrivals."""
    return ceil(log2(max(arrivals / (2 * ring - 1), 1)))
