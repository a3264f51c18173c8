"""Interpolating inside the oldest bucket, against counting half of it as the paper does."""

from __future__ import annotations

from ecmsketch.experiments.beyond.one_counter import counted, last_ticks, relative_errors
from ecmsketch.experiments.paper.figure4 import EPSILONS
from ecmsketch.experiments.paper.variants import Variant, read_with
from ecmsketch.experiments.spec import Context, Experiment, Row


def run(spec: Experiment, context: Context) -> list[Row]:
    """A row for every counter, epsilon and estimator: the relative error of one counter over many ranges."""
    parameters = spec.parameters
    ticks = last_ticks(context.stream, parameters["arrivals"])
    rows = []
    for counter in parameters["counters"]:
        for epsilon in parameters["epsilons"]:
            variant = Variant(counter)
            sketch = counted(ticks, variant.config(epsilon, parameters["delta"], context.seed))
            context.say(f"{counter}, epsilon {epsilon}: {parameters['ranges']} ranges")
            for estimator in variant.estimators:
                errors = relative_errors(read_with(sketch, estimator), ticks, parameters["ranges"])
                rows.append(
                    {
                        "counter": counter, "epsilon": epsilon, "estimator": estimator, "ranges": len(errors),
                        "avg_relative": float(errors.mean()), "max_relative": float(errors.max()),
                        "epsilon_sw": sketch.config.epsilon_sw,
                    }
                )  # fmt: skip
    return rows


ESTIMATORS = Experiment(
    name="estimators",
    title="Beyond: interpolation against half a bucket",
    paper="half of the oldest bucket is counted, with the same worst case",
    parameters={"epsilons": EPSILONS, "delta": 0.1, "counters": ("eh", "dw"), "arrivals": 1_000_000, "ranges": 400},
    columns=("counter", "epsilon", "estimator", "ranges", "avg_relative", "max_relative", "epsilon_sw"),
    run=run,
)
