"""Figure 6: networks of 1, 2, 4, ... 256 sites: error and network bytes."""

from __future__ import annotations

from ecmsketch.experiments.data.exact_counts import count_exactly
from ecmsketch.experiments.data.site_files import site_files
from ecmsketch.experiments.paper.aggregation import aggregate
from ecmsketch.experiments.paper.table4 import AGGREGATION_COLUMNS, aggregated_rows
from ecmsketch.experiments.paper.variants import variants
from ecmsketch.experiments.spec import Context, Experiment, Row


def run(spec: Experiment, context: Context) -> list[Row]:
    """Rows for every network size, variant and estimator: up the binary tree, and merged in one step."""
    parameters = spec.parameters
    context.say("counting exactly")
    truths = count_exactly(context.stream)
    rows: list[Row] = []
    for sites in parameters["sites"]:
        with site_files(context, sites) as files:
            for variant in variants(parameters["counters"]):
                context.say(f"{variant.counter}, {variant.query}: {sites} sites")
                config = variant.config(parameters["epsilon"], parameters["delta"], context.seed)
                merged = aggregate(files, config, context.spark)
                for how, found in {"binary tree": merged.tree, "n-way": merged.n_way}.items():
                    rows += aggregated_rows(variant, parameters["epsilon"], how, sites, found, truths)
    return rows


FIGURE6 = Experiment(
    name="figure6",
    title="Figure 6: error and network cost as the network grows",
    paper="at epsilon = delta = 0.1, from 1 to 256 sites the error of ECM-EH grows little and that of ECM-RW not "
    "at all; ECM-RW needs at least ten times the network",
    parameters={"epsilon": 0.1, "delta": 0.1, "counters": ("eh", "rw"), "sites": tuple(2**i for i in range(9))},
    columns=AGGREGATION_COLUMNS,
    run=run,
    distributed=True,
    least_events=2_000,
)
