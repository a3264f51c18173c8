"""The tables of the report, one function per experiment: the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable

from ecmsketch.experiments.paper import published
from ecmsketch.experiments.report.all_ranges import over_ranges
from ecmsketch.experiments.report.beyond_sections import BEYOND_SECTIONS
from ecmsketch.experiments.report.figures import VARIANT_NAMES
from ecmsketch.experiments.report.markdown import byte_size, event_rate, markdown_table, short_number
from ecmsketch.experiments.results import StoredResult

Lines = list[str]


def result_tables(result: StoredResult) -> Lines:
    """The tables of one result."""
    return _SECTIONS[result.experiment](result)


def _table3(result: StoredResult) -> Lines:
    head = ("variant", "the paper, 2012", "ours, in batches", "times", "ours, one call per event")
    rows = []
    for row in result.where(how="batches"):
        (single,) = result.where(counter=row["counter"], how="one call per event")
        rows.append(
            (VARIANT_NAMES[row["counter"]], event_rate(row["paper_updates_per_s"]), event_rate(row["updates_per_s"]),
             short_number(row["times_the_paper"]), event_rate(single["updates_per_s"]))
        )  # fmt: skip
    return markdown_table(head, rows)


def _figure4(result: StoredResult) -> Lines:
    head = ("variant", "query", "epsilon", "average error", "maximum error", "memory", "as bytes")
    rows = [
        (f"{VARIANT_NAMES[row['counter']]}{', reserved' if row['reserved'] else ''}", row["query"], row["epsilon"],
         f"{row['avg_error']:.4f}", f"{row['max_error']:.4f}", byte_size(row["memory_bytes"]), byte_size(row["bytes"]))
        for row in over_ranges(result.rows)
        if row["estimator"] != "interpolate" and row["epsilon"] in (0.05, 0.1, 0.2)
    ]  # fmt: skip
    return markdown_table(head, rows)


def _table4(result: StoredResult) -> Lines:
    head = ("epsilon", "variant", "query", "the paper: centr. : distr.", "ratio", "ours: centr. : distr.", "ratio",
            "n-way", "ratio", "network: tree", "n-way")  # fmt: skip
    rows = []
    for alone in result.where(how="centralised"):
        if alone["estimator"] == "interpolate" or alone["epsilon"] not in (0.1, 0.2):
            continue
        case = {name: alone[name] for name in ("counter", "query", "epsilon", "estimator")}
        (tree,), (n_way,) = result.where(how="binary tree", **case), result.where(how="n-way", **case)
        loss = published.loss(result.data, case["epsilon"], case["counter"], case["query"])
        theirs = "–" if loss is None else f"{loss.centralised:g} : {'N/A' if loss.ratio is None else loss.distributed}"
        rows.append(
            (case["epsilon"], VARIANT_NAMES[case["counter"]], case["query"], theirs, short_number(loss and loss.ratio),
             f"{alone['avg_error']:.4f} : {tree['avg_error']:.4f}", _ratio(tree["avg_error"], alone["avg_error"]),
             f"{n_way['avg_error']:.4f}", _ratio(n_way["avg_error"], alone["avg_error"]),
             byte_size(tree["network_bytes"]), byte_size(n_way["network_bytes"]))
        )  # fmt: skip
    sites = max(row["sites"] for row in result.rows)
    return [
        *markdown_table(head, rows),
        f"These are average observed errors over {sites} sites, merged by {_engine(result)}.",
        "",
    ]


def _ratio(mine: float, theirs: float) -> str:
    return f"{mine / theirs:.3f}" if theirs else "–"


def _engine(result: StoredResult) -> str:
    return str(result.manifest["key"]["engine"]).replace("this", "one")


def _figure6(result: StoredResult) -> Lines:
    head = ("sites", "ECM-EH: error", "network", "ECM-EH n-way: error", "network", "ECM-RW: error", "network")
    rows = []
    for sites in dict.fromkeys(row["sites"] for row in result.rows):
        cells = []
        for how, counter, estimator in (
            ("binary tree", "eh", "half"), ("n-way", "eh", "half"), ("binary tree", "rw", "sample"),
        ):  # fmt: skip
            for row in result.where(sites=sites, how=how, counter=counter, estimator=estimator, query="point"):
                cells += [f"{row['avg_error']:.4f}", byte_size(row["network_bytes"])]
        rows.append((sites, *cells))
    return [*markdown_table(head, rows), f"These are point queries at epsilon 0.1, merged by {_engine(result)}.", ""]


def _heaviest(result: StoredResult) -> Lines:
    head = ("epsilon", "range (s)", "ten heaviest: average relative error", "worst", "all: average error", "worst",
            "worst underestimate", "outside bounds", "memory")  # fmt: skip
    rows = [
        (row["epsilon"], f"{row['range_s']:,}", *(short_number(float(row[name])) for name in (
            "heaviest_avg_relative", "heaviest_max_relative", "avg_error", "max_error", "worst_underestimate")),
         f"{row['outside_bounds']:,} of {row['items']:,}", byte_size(row["memory_bytes"]))
        for row in result.rows
        if row["range_s"] >= 1000 or row["range_s"] == max(other["range_s"] for other in result.rows)
    ]  # fmt: skip
    return markdown_table(head, rows)


def _levels(result: StoredResult) -> Lines:
    head = ("levels", "sites", "worst observed", "corrected bound", "the paper's bound", "worst, budgeted", "target")
    rows = []
    for row in result.where(budget="none"):
        (cut,) = result.where(budget="corrected", levels=row["levels"])
        names = ("max_relative", "corrected_bound", "paper_bound")
        cells = [*(row[name] for name in names), cut["max_relative"], row["target_epsilon_sw"]]
        rows.append((row["levels"], row["sites"], *(f"{float(cell):.3f}" for cell in cells)))
    return markdown_table(head, rows)


def _estimators(result: StoredResult) -> Lines:
    head = ("counter", "epsilon", "half: average", "worst", "interpolated: average", "worst", "promised")
    rows = []
    for half in result.where(estimator="half"):
        (ours,) = result.where(counter=half["counter"], epsilon=half["epsilon"], estimator="interpolate")
        errors = [row[name] for row in (half, ours) for name in ("avg_relative", "max_relative")]
        cells = [*errors, half["epsilon_sw"]]
        rows.append((half["counter"].upper(), half["epsilon"], *(f"{float(cell):.4f}" for cell in cells)))
    return markdown_table(head, rows)


def _union(result: StoredResult) -> Lines:
    head = ("epsilon", "how", "sites", "average error", "worst", "promised", "bytes kept")
    return markdown_table(
        head,
        [
            (row["epsilon"], row["how"], row["sites"], f"{row['avg_error']:.4f}", f"{row['max_error']:.4f}",
             f"{row['promised']:.3f}", byte_size(row["bytes_kept"]))
            for row in result.rows
        ],
    )  # fmt: skip


def _monitoring(result: StoredResult) -> Lines:
    head = ("function", "method", "sites", "checks", "messages", "bytes", "checks missed", "wrong for up to")
    return markdown_table(
        head,
        [
            (row["function"], row["method"], row["sites"], row["checks"], short_number(row["messages"]),
             byte_size(row["bytes"]), row["missed"], f"{row['lag']} s")
            for row in result.rows
        ],
    )  # fmt: skip


_SECTIONS: dict[str, Callable[[StoredResult], Lines]] = {
    "table3": _table3,
    "figure4": _figure4,
    "table4": _table4,
    "figure6": _figure6,
    "heaviest": _heaviest,
    "estimators": _estimators,
    "levels": _levels,
    "union": _union,
    "monitoring": _monitoring,
    **BEYOND_SECTIONS,
}
