"""Table 4 and figure 5: what aggregating the sites costs, in error and in network bytes."""

from __future__ import annotations

from itertools import product

from ecmsketch.experiments.data.exact_counts import Truth, count_exactly
from ecmsketch.experiments.data.site_files import site_files
from ecmsketch.experiments.paper.accuracy import observe_all, promised, total_bias
from ecmsketch.experiments.paper.aggregation import MergedSites, aggregate
from ecmsketch.experiments.paper.figure4 import EPSILONS
from ecmsketch.experiments.paper.variants import Variant, read_with, sketch_all, variants
from ecmsketch.experiments.spec import Context, Experiment, Row


def run(spec: Experiment, context: Context) -> list[Row]:
    """Rows for every variant, epsilon and estimator: in one place, up the binary tree, and merged in one step."""
    parameters = spec.parameters
    context.say("counting exactly")
    truths = count_exactly(context.stream)
    cases = list(product(_variants(parameters["counters"]), parameters["epsilons"]))
    configs = [variant.config(epsilon, parameters["delta"], context.seed) for variant, epsilon in cases]
    context.say(f"filling {len(cases)} sketches in one place")
    alone = sketch_all(context.stream, configs)
    rows: list[Row] = []
    with site_files(context) as files:
        for (variant, epsilon), config, sketch in zip(cases, configs, alone, strict=True):
            context.say(f"{variant.counter}, {variant.query}, epsilon {epsilon}: {len(files)} sites")
            merged = aggregate(files, config, context.spark)
            ways = {"centralised": MergedSites(sketch, []), "binary tree": merged.tree, "n-way": merged.n_way}
            for how, found in ways.items():
                sites = 1 if how == "centralised" else len(files)
                rows += aggregated_rows(variant, epsilon, how, sites, found, truths)
    return rows


def _variants(counters: tuple[str, ...]) -> list[Variant]:
    """All variants, but deterministic waves (which the paper leaves out here) only for point queries."""
    return [variant for variant in variants(counters) if variant.counter != "dw" or variant.query == "point"]


def aggregated_rows(
    variant: Variant, epsilon: float, how: str, sites: int, found: MergedSites, truths: list[Truth]
) -> list[Row]:
    """The errors of the sketch at one root, a row per estimator."""
    rows = []
    for estimator in variant.estimators:
        sketch = read_with(found.sketch, estimator)
        observed = observe_all(sketch, truths, variant.query)
        rows.append(
            {
                "counter": variant.counter, "query": variant.query, "epsilon": epsilon, "estimator": estimator,
                "how": how, "sites": sites, "levels": len(found.bytes_by_level), "queries": observed.queries,
                "avg_error": observed.average, "max_error": observed.worst,
                "promised": promised(sketch, variant.query), "total_bias": total_bias(sketch, truths),
                "network_bytes": found.network_bytes,
            }
        )  # fmt: skip
    return rows


AGGREGATION_COLUMNS = (
    "counter", "query", "epsilon", "estimator", "how", "sites", "levels", "queries", "avg_error", "max_error",
    "promised", "total_bias", "network_bytes",
)  # fmt: skip
TABLE4 = Experiment(
    name="table4",
    title="Table 4 and figure 5: centralised against distributed, error and network",
    paper="errors grow by a factor of 1.0 to 1.23 through a binary tree of 33 (wc'98) and 535 (snmp) sites; ECM-RW "
    "loses nothing, and needs at least ten times the network of ECM-EH",
    parameters={"epsilons": EPSILONS, "delta": 0.1, "counters": ("eh", "dw", "rw")},
    columns=AGGREGATION_COLUMNS,
    run=run,
    needs_sites=True,
    distributed=True,
)
