"""Table 4 and figure 5: what aggregating the sites costs, in error and in network bytes."""

from __future__ import annotations

from itertools import product

from ecmsketch.experiments.data.exact_counts import Truth, count_exactly
from ecmsketch.experiments.data.site_files import site_files
from ecmsketch.experiments.paper.accuracy import OBSERVED_COLUMNS, observed_columns, total_bias
from ecmsketch.experiments.paper.aggregation import MergedSites, aggregate
from ecmsketch.experiments.paper.figure4 import EPSILONS
from ecmsketch.experiments.paper.variants import Variant, our_variants, read_with, sketch_all, variants
from ecmsketch.experiments.spec import Context, Experiment, Row

Case = tuple[int, Variant, float]


def run(spec: Experiment, context: Context) -> list[Row]:
    """Rows for every seed, variant and epsilon: in one place, up the binary tree, and merged in one step."""
    parameters = spec.parameters
    context.say("counting exactly")
    truths = count_exactly(context.stream)
    cases = _cases(spec, context.seed)
    configs = [variant.config(epsilon, parameters["delta"], seed) for seed, variant, epsilon in cases]
    context.say(f"filling {len(cases)} sketches in one place")
    alone = sketch_all(context.stream, configs)
    rows: list[Row] = []
    with site_files(context) as files:
        for (seed, variant, epsilon), config, sketch in zip(cases, configs, alone, strict=True):
            context.say(f"seed {seed}, {variant.name}, {variant.query}, epsilon {epsilon}: {len(files)} sites")
            merged = aggregate(files, config, context.spark if seed == context.seed else None)
            ways = {"centralised": MergedSites(sketch, []), "binary tree": merged.tree, "n-way": merged.n_way}
            for how, found in ways.items():
                sites = 1 if how == "centralised" else len(files)
                rows.append({"seed": seed, **aggregated_row(variant, how, sites, found, truths)})
    return rows


def _cases(spec: Experiment, first: int) -> list[Case]:
    """Everything for the first seed; for the others the cells of table 4, without randomized waves, which are slow."""
    parameters = spec.parameters
    chosen = [*variants(parameters["counters"]), *our_variants()]
    all_cases = product(range(parameters["sketch_seeds"]), chosen, parameters["epsilons"])
    return [
        (first + number, variant, epsilon)
        for number, variant, epsilon in all_cases
        if number == 0 or (epsilon in parameters["seeded_epsilons"] and variant.counter != "rw")
    ]


def aggregated_row(variant: Variant, how: str, sites: int, found: MergedSites, truths: list[Truth]) -> Row:
    """The errors of the sketch at one root, and the bytes that were sent to make it."""
    return observed_columns(found.sketch, variant, truths) | {
        "how": how, "sites": sites, "levels": len(found.bytes_by_level),
        "total_bias": total_bias(read_with(found.sketch, variant.reader), truths),
        "network_bytes": found.network_bytes,
    }  # fmt: skip


AGGREGATION_COLUMNS = (*OBSERVED_COLUMNS, "how", "sites", "levels", "total_bias", "network_bytes")
TABLE4 = Experiment(
    name="table4",
    title="Table 4 and figure 5: centralised against distributed, error and network",
    paper="errors grow by a factor of 1.0 to 1.23 through a binary tree of 33 (wc'98) and 535 (snmp) sites; ECM-RW "
    "loses nothing, and needs at least ten times the network of ECM-EH",
    parameters={"epsilons": EPSILONS, "delta": 0.1, "counters": ("eh", "rw"), "sketch_seeds": 5,
                "seeded_epsilons": (0.1, 0.2)},
    columns=AGGREGATION_COLUMNS,
    run=run,
    needs_sites=True,
    distributed=True,
    scales={"small": {"epsilons": (0.1, 0.2), "sketch_seeds": 2}, "paper": {"sketch_seeds": 3}},
)  # fmt: skip
