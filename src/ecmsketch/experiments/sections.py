"""The report, experiment by experiment: the paper's numbers beside ours, from the CSV alone."""

from __future__ import annotations

from collections.abc import Callable

from ecmsketch.experiments import paper
from ecmsketch.experiments.figures import NAMES
from ecmsketch.experiments.markdown import rate, short, size, table
from ecmsketch.experiments.results import Result
from ecmsketch.experiments.summaries import over_ranges

Lines = list[str]


def section(result: Result) -> Lines:
    """The tables of one result."""
    return _SECTIONS[result.experiment](result)


def _table3(result: Result) -> Lines:
    head = ("variant", "the paper, 2012", "ours, in batches", "times", "ours, one call per event")
    rows = []
    for row in result.where(how="batches"):
        (single,) = result.where(counter=row["counter"], how="one call per event")
        rows.append(
            (NAMES[row["counter"]], rate(row["paper_updates_per_s"]), rate(row["updates_per_s"]),
             short(row["times_the_paper"]), rate(single["updates_per_s"]))
        )  # fmt: skip
    return table(head, rows)


def _figure4(result: Result) -> Lines:
    head = ("variant", "query", "epsilon", "average error", "maximum error", "memory", "as bytes")
    rows = [
        (f"{NAMES[row['counter']]}{', reserved' if row['reserved'] else ''}", row["query"], row["epsilon"],
         f"{row['avg_error']:.4f}", f"{row['max_error']:.4f}", size(row["memory_bytes"]), size(row["bytes"]))
        for row in over_ranges(result.rows)
        if row["estimator"] != "interpolate" and row["epsilon"] in (0.05, 0.1, 0.2)
    ]  # fmt: skip
    return table(head, rows)


def _table4(result: Result) -> Lines:
    head = ("epsilon", "variant", "query", "the paper: centr. : distr.", "ratio", "ours: centr. : distr.", "ratio",
            "n-way", "ratio", "network: tree", "n-way")  # fmt: skip
    rows = []
    for alone in result.where(how="centralised"):
        if alone["estimator"] == "interpolate" or alone["epsilon"] not in (0.1, 0.2):
            continue
        case = {name: alone[name] for name in ("counter", "query", "epsilon", "estimator")}
        (tree,), (n_way,) = result.where(how="binary tree", **case), result.where(how="n-way", **case)
        loss = paper.loss(result.data, case["epsilon"], case["counter"], case["query"])
        theirs = "–" if loss is None else f"{loss.centralised:g} : {'N/A' if loss.ratio is None else loss.distributed}"
        rows.append(
            (case["epsilon"], NAMES[case["counter"]], case["query"], theirs, short(loss and loss.ratio),
             f"{alone['avg_error']:.4f} : {tree['avg_error']:.4f}", _ratio(tree["avg_error"], alone["avg_error"]),
             f"{n_way['avg_error']:.4f}", _ratio(n_way["avg_error"], alone["avg_error"]),
             size(tree["network_bytes"]), size(n_way["network_bytes"]))
        )  # fmt: skip
    sites = max(row["sites"] for row in result.rows)
    return [*table(head, rows), f"Average observed error, {sites} sites, merged by {_engine(result)}.", ""]


def _ratio(mine: float, theirs: float) -> str:
    return f"{mine / theirs:.3f}" if theirs else "–"


def _engine(result: Result) -> str:
    return str(result.manifest["key"]["engine"]).replace("this", "one")


def _figure6(result: Result) -> Lines:
    head = ("sites", "ECM-EH: error", "network", "ECM-EH n-way: error", "network", "ECM-RW: error", "network")
    rows = []
    for sites in dict.fromkeys(row["sites"] for row in result.rows):
        cells = []
        for how, counter, estimator in (
            ("binary tree", "eh", "half"), ("n-way", "eh", "half"), ("binary tree", "rw", "sample"),
        ):  # fmt: skip
            for row in result.where(sites=sites, how=how, counter=counter, estimator=estimator, query="point"):
                cells += [f"{row['avg_error']:.4f}", size(row["network_bytes"])]
        rows.append((sites, *cells))
    return [*table(head, rows), f"Point queries at epsilon 0.1, merged by {_engine(result)}.", ""]


def _heaviest(result: Result) -> Lines:
    head = ("epsilon", "range (s)", "ten heaviest: average relative error", "worst", "all: average error", "worst",
            "worst underestimate", "outside bounds", "memory")  # fmt: skip
    rows = [
        (row["epsilon"], f"{row['range_s']:,}", *(short(float(row[name])) for name in (
            "heaviest_avg_relative", "heaviest_max_relative", "avg_error", "max_error", "worst_underestimate")),
         f"{row['outside_bounds']:,} of {row['items']:,}", size(row["memory_bytes"]))
        for row in result.rows
        if row["range_s"] >= 1000 or row["range_s"] == max(other["range_s"] for other in result.rows)
    ]  # fmt: skip
    return table(head, rows)


def _levels(result: Result) -> Lines:
    head = ("levels", "sites", "worst observed", "corrected bound", "the paper's bound", "worst, budgeted", "target")
    rows = []
    for row in result.where(budget="none"):
        (cut,) = result.where(budget="corrected", levels=row["levels"])
        names = ("max_relative", "corrected_bound", "paper_bound")
        cells = [*(row[name] for name in names), cut["max_relative"], row["target_epsilon_sw"]]
        rows.append((row["levels"], row["sites"], *(f"{float(cell):.3f}" for cell in cells)))
    return table(head, rows)


def _estimators(result: Result) -> Lines:
    head = ("counter", "epsilon", "half: average", "worst", "interpolated: average", "worst", "promised")
    rows = []
    for half in result.where(estimator="half"):
        (ours,) = result.where(counter=half["counter"], epsilon=half["epsilon"], estimator="interpolate")
        errors = [row[name] for row in (half, ours) for name in ("avg_relative", "max_relative")]
        cells = [*errors, half["epsilon_sw"]]
        rows.append((half["counter"].upper(), half["epsilon"], *(f"{float(cell):.4f}" for cell in cells)))
    return table(head, rows)


def _union(result: Result) -> Lines:
    head = ("epsilon", "how", "sites", "average error", "worst", "promised", "bytes kept")
    return table(
        head,
        [
            (row["epsilon"], row["how"], row["sites"], f"{row['avg_error']:.4f}", f"{row['max_error']:.4f}",
             f"{row['promised']:.3f}", size(row["bytes_kept"]))
            for row in result.rows
        ],
    )  # fmt: skip


def _monitoring(result: Result) -> Lines:
    head = ("function", "method", "sites", "events", "messages", "bytes", "checks missed", "wrong for up to")
    return table(
        head,
        [
            (row["function"], row["method"], row["sites"], short(row["events"]), short(row["messages"]),
             size(row["bytes"]), row["missed"], f"{row['lag']} s")
            for row in result.rows
        ],
    )  # fmt: skip


def _peers(result: Result) -> Lines:
    head = ("peer", "version", "answers", "events", "events/s", "memory", "average error", "worst")
    rows = []
    for row in result.rows:
        cells: tuple[str, ...] = (row["state"], "", "", "")
        if row["state"] == "measured":
            memory = size(row["memory_bytes"]) if row["memory_bytes"] != "" else "–"
            cells = (rate(row["events_per_s"]), memory, short(float(row["avg_error"])), short(float(row["max_error"])))
        rows.append((row["peer"], row["version"] or "–", row["answers"], short(row["events"]), *cells))
    return table(head, rows)


_SECTIONS: dict[str, Callable[[Result], Lines]] = {
    "table3": _table3,
    "figure4": _figure4,
    "table4": _table4,
    "figure6": _figure6,
    "heaviest": _heaviest,
    "estimators": _estimators,
    "levels": _levels,
    "union": _union,
    "monitoring": _monitoring,
    "peers": _peers,
}

NOTES = {
    "table3": f"The authors' Java code reaches {rate(paper.JAVA_TODAY)} (ECM-EH) on a current machine. One core each; "
    "items are integers, hashing is included.",
    "figure4": "Errors are shares of the arrivals in the range (of their square for self-joins), over all ranges, read "
    "as the paper does (half of the oldest bucket). Reserved: with room for an event a millisecond from the start, as "
    "in the paper and in the figures.",
    "heaviest": "Relative errors are shares of the item's own count; ECM-EH, interpolated.",
    "estimators": "Relative errors of one counter that counts all of the stream's last events, over many ranges.",
    "levels": "Relative errors of one counter that counts all of the stream's last events, read as the paper does.",
    "union": "Lazy union: nothing is merged, and a question goes to every site's sketch. All are interpolated.",
    "monitoring": "Whether the value over the last fifteenth of the time is above a threshold that it is above for a "
    "tenth of the time; simulated with real sites, a real coordinator and their bytes. Tuned: the longest period that "
    "is never wrong for more than a tenth of the range, chosen knowing the future.",
    "peers": "The same events for all (fewer for Spark's windows, which put every event into a hundred of them), width "
    "and depth of epsilon 0.01 for all Count-Min tables; ours in batches, probstructs and datasketches a call per "
    "event. Panes are taken whole: a range shorter than one is answered with all of it, hence errors above 1.",
}
"""What a reader of the tables must know, once for all streams."""
