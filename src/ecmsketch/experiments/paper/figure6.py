"""Figure 6: networks of 1, 2, 4, ... 256 sites: error and network bytes."""

from __future__ import annotations

from ecmsketch.experiments.data.exact_counts import count_exactly
from ecmsketch.experiments.data.site_files import site_files
from ecmsketch.experiments.paper.aggregation import aggregate
from ecmsketch.experiments.paper.table4 import AGGREGATION_COLUMNS, aggregated_row
from ecmsketch.experiments.paper.variants import Variant, our_variants, variants
from ecmsketch.experiments.spec import Context, Experiment, Row


def run(spec: Experiment, context: Context) -> list[Row]:
    """Rows for every network size, seed and variant: up the binary tree, and merged in one step."""
    parameters = spec.parameters
    context.say("counting exactly")
    truths = count_exactly(context.stream)
    rows: list[Row] = []
    for sites in parameters["sites"]:
        with site_files(context, sites) as files:
            for seed, variant in _cases(spec, context.seed):
                context.say(f"seed {seed}, {variant.name}, {variant.query}: {sites} sites")
                config = variant.config(parameters["epsilon"], parameters["delta"], seed)
                merged = aggregate(files, config, context.spark if seed == context.seed else None)
                for how, found in {"binary tree": merged.tree, "n-way": merged.n_way}.items():
                    rows.append({"seed": seed, **aggregated_row(variant, how, sites, found, truths)})
    return rows


def _cases(spec: Experiment, first: int) -> list[tuple[int, Variant]]:
    """All variants for the first seed, and all but randomized waves for the others."""
    chosen = [*variants(spec.parameters["counters"]), *our_variants()]
    return [
        (first + number, variant)
        for number in range(spec.parameters["sketch_seeds"])
        for variant in chosen
        if number == 0 or variant.counter != "rw"
    ]


FIGURE6 = Experiment(
    name="figure6",
    title="Figure 6: error and network cost as the network grows",
    paper="at epsilon = delta = 0.1, from 1 to 256 sites the error of ECM-EH grows little and that of ECM-RW not "
    "at all; ECM-RW needs at least ten times the network",
    parameters={"epsilon": 0.1, "delta": 0.1, "counters": ("eh", "rw"), "sites": tuple(2**i for i in range(9)),
                "sketch_seeds": 5},
    columns=AGGREGATION_COLUMNS,
    run=run,
    distributed=True,
    least_events=2_000,
    scales={"small": {"sketch_seeds": 2, "sites": (1, 8, 64)}, "paper": {"sketch_seeds": 3}},
)  # fmt: skip
