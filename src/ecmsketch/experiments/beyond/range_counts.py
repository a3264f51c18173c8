"""Range sums (section 6.1): how many arrivals were numbers between two others."""

from __future__ import annotations

import numpy as np

from ecmsketch.experiments.beyond.folded_numbers import Ordered, exact_orders, prefix_sketches
from ecmsketch.experiments.spec import Context, Experiment, Row
from ecmsketch.sketch import PrefixSketch


def run(spec: Experiment, context: Context) -> list[Row]:
    """A row for every engine, epsilon and range of time."""
    parameters = spec.parameters
    bits = parameters["bits"]
    orders = exact_orders(context.stream, bits)
    asked = [ranges_of(exact, parameters["ranges"], bits, context.seed) for exact in orders]
    return [
        {"engine": engine, "epsilon": epsilon, **_row(sketch, exact, ranges)}
        for engine, epsilon, sketch in prefix_sketches(context, parameters)
        for exact, ranges in zip(orders, asked, strict=True)
    ]


def ranges_of(exact: Ordered, count: int, bits: int, seed: int) -> list[tuple[int, int]]:
    """Ranges of numbers at random: the ends of every other one are numbers that came, of the others any numbers."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(count):
        ends = random.integers(0, 1 << bits, 2) if number % 2 else random.choice(exact.numbers, 2)
        found.append((int(ends.min()), int(ends.max())))
    return found


def _row(sketch: PrefixSketch, exact: Ordered, ranges: list[tuple[int, int]]) -> Row:
    errors, covered, inside = [], [], []
    for low, high in ranges:
        truth = exact.below(high + 1) - exact.below(low)
        answer = sketch.range_sum(low, high, last=exact.last)
        errors.append(abs(answer.value - truth) / exact.total)
        covered.append(answer.covers(truth))
        inside.append(truth / exact.total)
    return {
        "range_s": exact.last, "arrivals": exact.total, "avg_share": float(np.mean(inside)),
        "avg_error": float(np.mean(errors)), "max_error": max(errors),
        "beyond_promise": float(np.mean(np.array(errors) > sketch.epsilon * (1 + 1e-9))),
        "covered": float(np.mean(covered)), "promised": sketch.epsilon, "memory_bytes": sketch.nbytes,
    }  # fmt: skip


RANGE_SUMS = Experiment(
    name="range_sums",
    title="Beyond: range sums",
    paper="section 6.1 answers range sums with a bound, without an experiment",
    parameters={"epsilons": (0.02, 0.05, 0.1), "delta": 0.1, "bits": 20, "ranges": 100},
    columns=(
        "engine", "epsilon", "range_s", "arrivals", "avg_share", "avg_error", "max_error", "beyond_promise", "covered",
        "promised", "memory_bytes",
    ),
    run=run,
    seeds=5,
    scales={"small": {"seeds": 3, "epsilons": (0.05, 0.1), "ranges": 20}},
    least_events=1000,
)  # fmt: skip
