"""Figure 4: average and maximum observed error against memory, without distribution."""

from __future__ import annotations

from itertools import product

from ecmsketch.experiments.data.exact_counts import Truth, count_exactly
from ecmsketch.experiments.paper.accuracy import OBSERVED_COLUMNS, observed_columns
from ecmsketch.experiments.paper.variants import (
    PAPER_WAVE_CONSTANT,
    QUERIES,
    Variant,
    our_variants,
    sketch_all,
    variants,
)
from ecmsketch.experiments.spec import Context, Experiment, Row

EPSILONS = (0.05, 0.1, 0.15, 0.2, 0.25)


def run(spec: Experiment, context: Context) -> list[Row]:
    """A row for every seed, variant and epsilon. The sketches of all seeds are filled in one pass.

    ECM-DW that grows on demand answers as the reserved one does; it shows its memory, for which one seed is enough.
    """
    parameters = spec.parameters
    context.say("counting exactly")
    truths = count_exactly(context.stream)
    chosen = [*variants(parameters["counters"]), *(Variant("dw", query, True) for query in QUERIES), *our_variants()]
    cases = [
        (context.seed + number, variant, epsilon)
        for number, variant, epsilon in product(range(parameters["sketch_seeds"]), chosen, parameters["epsilons"])
        if number < {"rw": parameters["rw_seeds"], "dw": 1}.get(variant.name, parameters["sketch_seeds"])
    ]
    context.say(f"filling {len(cases)} sketches")
    configs = [variant.config(epsilon, parameters["delta"], seed) for seed, variant, epsilon in cases]
    sketches = sketch_all(context.stream, configs)
    context.say(f"asking for every item in {len(truths)} ranges")
    rows = [
        {"seed": seed, **observed_columns(sketch, variant, truths), "bytes": len(sketch.serialize())}
        for (seed, variant, _), sketch in zip(cases, sketches, strict=True)
    ]
    return rows + _published_constant(spec, truths)


def _published_constant(spec: Experiment, truths: list[Truth]) -> list[Row]:
    """The memory of randomized waves with the published constant, as the config foretells it; nothing is run."""
    variant = Variant("rw", wave_constant=PAPER_WAVE_CONSTANT)
    arrivals = max(truth.total for truth in truths)
    return [
        {
            "variant": variant.name, "counter": "rw", "query": "point", "epsilon": epsilon, "estimator": "computed",
            "memory_bytes": variant.config(epsilon, spec.parameters["delta"], 0).expected_nbytes(arrivals),
        }
        for epsilon in spec.parameters["epsilons"]
    ]  # fmt: skip


FIGURE4 = Experiment(
    name="figure4",
    title="Figure 4: observed error against memory, centralised",
    paper="average and maximum error stay below epsilon for all variants; at epsilon 0.1 on wc'98 ECM-RW takes 400 MB, "
    "ECM-EH and ECM-DW below 1 MB; ECM-EH about half of ECM-DW",
    parameters={"epsilons": EPSILONS, "delta": 0.1, "counters": ("eh", "dw", "rw"), "sketch_seeds": 5, "rw_seeds": 5},
    columns=(*OBSERVED_COLUMNS, "bytes"),
    run=run,
    scales={"paper": {"sketch_seeds": 1, "rw_seeds": 1}},  # five seeds would take hours for 1.09 G events
)
