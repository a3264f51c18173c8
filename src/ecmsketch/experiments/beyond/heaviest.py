"""Errors of the heaviest items relative to their own counts, the worst underestimate, and a small epsilon.

Answers are the paper's, so that Theorem 1 can be checked; bounds are those of `EcmSketch`.
"""

from __future__ import annotations

import numpy as np

from ecmsketch.experiments.data.exact_counts import Truth, count_exactly
from ecmsketch.experiments.paper.accuracy import least_cells
from ecmsketch.experiments.paper.variants import Variant, sketch_all
from ecmsketch.experiments.spec import Context, Experiment, Row
from ecmsketch.sketch import EcmSketch


def run(spec: Experiment, context: Context) -> list[Row]:
    """A row for every epsilon and range."""
    parameters = spec.parameters
    truths = count_exactly(context.stream)
    configs = [Variant("eh").config(epsilon, parameters["delta"], context.seed) for epsilon in parameters["epsilons"]]
    context.say(f"filling {len(configs)} sketches")
    return [
        _row(sketch, truth, parameters["heaviest"])
        for sketch in sketch_all(context.stream, configs)
        for truth in truths
    ]  # fmt: skip


def _row(sketch: EcmSketch, truth: Truth, count: int) -> Row:
    answers, read = sketch.estimate_many(truth.items, last=truth.last), least_cells(sketch, truth)
    heaviest = np.argsort(-truth.counts, kind="stable")[:count]
    relative = np.abs(read - truth.counts) / truth.counts
    share = np.abs(read - truth.counts) / truth.total
    outside = (truth.counts < answers.lower) | (truth.counts > answers.upper)
    return {
        "epsilon": sketch.config.epsilon, "range_s": truth.last, "items": len(truth.items), "arrivals": truth.total,
        "heaviest_avg_relative": float(relative[heaviest].mean()),
        "heaviest_max_relative": float(relative[heaviest].max()),
        "avg_error": float(share.mean()), "max_error": float(share.max()),
        "worst_underestimate": max(float(((truth.counts - read) / truth.counts).max()), 0.0),
        "epsilon_sw": sketch.config.epsilon_sw, "outside_bounds": int(outside.sum()),
        "memory_bytes": sketch.nbytes,
    }  # fmt: skip


HEAVIEST = Experiment(
    name="heaviest",
    title="Beyond: the heaviest items relative to themselves, and a small epsilon",
    paper="no such table; its errors are relative to all arrivals in the range",
    parameters={"epsilons": (0.1, 0.01, 0.001), "delta": 0.1, "heaviest": 10},
    columns=(
        "epsilon", "range_s", "items", "arrivals", "heaviest_avg_relative", "heaviest_max_relative", "avg_error",
        "max_error", "worst_underestimate", "epsilon_sw", "outside_bounds", "memory_bytes",
    ),
    run=run,
)  # fmt: skip
