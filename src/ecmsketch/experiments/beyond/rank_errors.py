"""Quantiles of a sliding window (section 6.1): how far the rank of the answer is off."""

from __future__ import annotations

import numpy as np

from ecmsketch.experiments.beyond.folded_numbers import Ordered, exact_orders, prefix_sketches
from ecmsketch.experiments.spec import Context, Experiment, Row
from ecmsketch.sketch import PrefixSketch


def run(spec: Experiment, context: Context) -> list[Row]:
    """A row for every engine, epsilon and range."""
    parameters = spec.parameters
    bits, shares = parameters["bits"], np.linspace(0.01, 0.99, parameters["quantiles"]).tolist()
    return [
        {"engine": engine, "epsilon": epsilon, **_row(sketch, exact, shares)}
        for engine, epsilon, sketch in prefix_sketches(context, parameters)
        for exact in exact_orders(context.stream, bits)
    ]


def _row(sketch: PrefixSketch, exact: Ordered, shares: list[float]) -> Row:
    answers = sketch.quantiles(shares, last=exact.last)
    truths = exact.numbers[np.searchsorted(exact.until, np.ceil(np.array(shares) * exact.total))]
    covered = [answer.lower <= truth <= answer.upper for answer, truth in zip(answers, truths, strict=True)]
    errors = [_rank_error(exact, int(answer.value), share) for answer, share in zip(answers, shares, strict=True)]
    return {
        "range_s": exact.last, "arrivals": exact.total, "avg_error": float(np.mean(errors)), "max_error": max(errors),
        "beyond_promise": float(np.mean(np.array(errors) > sketch.epsilon * (1 + 1e-9))),
        "covered": float(np.mean(covered)), "promised": sketch.epsilon, "memory_bytes": sketch.nbytes,
    }  # fmt: skip


def _rank_error(exact: Ordered, number: int, share: float) -> float:
    """How far a share is from the ranks of a number: 0 if the number is a right answer."""
    before, until = exact.below(number) / exact.total, exact.below(number + 1) / exact.total
    return max(before - share, share - until, 0.0)


QUANTILES = Experiment(
    name="quantiles",
    title="Beyond: quantiles",
    paper="section 6.1 answers quantiles with a bound, without an experiment",
    parameters={"epsilons": (0.02, 0.05, 0.1), "delta": 0.1, "bits": 20, "quantiles": 99},
    columns=(
        "engine", "epsilon", "range_s", "arrivals", "avg_error", "max_error", "beyond_promise", "covered", "promised",
        "memory_bytes",
    ),
    run=run,
    seeds=5,
    scales={"small": {"seeds": 3, "epsilons": (0.05, 0.1), "quantiles": 33}},
    least_events=1000,
)  # fmt: skip
