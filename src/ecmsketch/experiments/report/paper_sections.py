"""The tables of the paper's experiments: the paper's numbers beside ours, means over seeds with 95 % intervals."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

from ecmsketch.experiments.paper import published
from ecmsketch.experiments.paper.latency import ACTIONS
from ecmsketch.experiments.report.intervals import Interval, by_seed
from ecmsketch.experiments.report.looks import LOOKS, label_of
from ecmsketch.experiments.report.markdown import byte_size, event_rate, markdown_table, short_number
from ecmsketch.experiments.results import StoredResult
from ecmsketch.experiments.spec import Row

Lines = list[str]


def _table2(result: StoredResult) -> Lines:
    rows = []
    for variant in dict.fromkeys(row["variant"] for row in result.rows):
        found = {row["action"]: row for row in result.where(variant=variant)}
        times = [found.get(action) for action in ACTIONS]
        rows.append((label_of(variant), *(_microseconds(row) for row in times)))
    return markdown_table(("µs: median (one in a hundred is slower than)", *ACTIONS), rows)


def _microseconds(row: Row | None) -> str:
    return "–" if row is None else f"{row['median_us']:.3g} ({row['p99_us']:.3g})"


def _table3(result: StoredResult) -> Lines:
    hows = list(dict.fromkeys(row["how"] for row in result.rows))
    rows = []
    for variant in dict.fromkeys(row["variant"] for row in result.rows):
        found = {row["how"]: row for row in result.where(variant=variant)}
        first = next(iter(found.values()))
        theirs = first["paper_updates_per_s"] if variant == first["counter"] else ""
        cells = [_rate(found[how], theirs != "") for how in hows]
        rows.append((label_of(variant), "–" if isinstance(theirs, str) else event_rate(theirs), *cells))
    return markdown_table(("variant", "the paper, 2012", *hows), rows)


def _rate(row: Row, compared: bool) -> str:
    times = f" ({row['times_the_paper']:.2g} x)" if compared else ""
    return f"{event_rate(row['updates_per_s'])}{times}"


def _figure4(result: StoredResult) -> Lines:
    head = ("query", "epsilon", "variant", "average error", "maximum error", "without collisions", "memory", "as bytes")
    wanted = [row for row in result.rows if row["epsilon"] in (0.05, 0.1, 0.2) and row["estimator"] != "computed"]
    keys = ("query", "epsilon", "variant")
    means = [by_seed(wanted, keys, name) for name in ("avg_error", "max_error", "counter_error")]
    sizes = [by_seed(wanted, keys, name) for name in ("memory_bytes", "bytes")]
    cases = sorted(means[0], key=lambda case: (case[0], case[1], list(LOOKS).index(str(case[2]))))
    rows = [
        (*case[:2], label_of(str(case[2])), *(str(found[case]) for found in means),
         *(byte_size(found[case].mean) for found in sizes))
        for case in cases
    ]  # fmt: skip
    return [*markdown_table(head, rows), f"Seeds: {_seeds(wanted)}.", ""]


def _seeds(rows: list[Row]) -> str:
    """How many seeds there are, and where there are fewer."""
    found = {name: len({row["seed"] for row in rows if row["variant"] == name}) for name in LOOKS}
    most = max(found.values())
    fewer = [f"{count} for {label_of(name)}" for name, count in found.items() if 0 < count < most]
    return ", ".join([str(most), *fewer])


def _table4(result: StoredResult) -> Lines:
    head = ("query", "epsilon", "variant", "the paper: centr. : distr. (ratio)", "centralised", "binary tree", "ratio",
            "n-way", "ratio", "network: tree", "n-way")  # fmt: skip
    wanted = [row for row in result.rows if row["epsilon"] in (0.1, 0.2)]
    keys = ("query", "epsilon", "variant", "how")
    errors, bytes_sent = by_seed(wanted, keys, "avg_error"), by_seed(wanted, keys, "network_bytes")
    rows = []
    for case in sorted(dict.fromkeys(key[:3] for key in errors), key=lambda key: (key[0], key[1])):
        alone, tree, n_way = (errors[*case, how] for how in ("centralised", "binary tree", "n-way"))
        query, epsilon, variant = str(case[0]), float(str(case[1])), str(case[2])
        loss = published.loss(result.data, epsilon, variant, query)
        rows.append(
            (query, epsilon, label_of(variant), _printed(loss), alone, tree, _ratio(tree, alone), n_way,
             _ratio(n_way, alone), *(byte_size(bytes_sent[*case, how].mean) for how in ("binary tree", "n-way")))
        )  # fmt: skip
    sites = max(row["sites"] for row in result.rows)
    return [
        *markdown_table(head, rows),
        f"These are average observed errors over {sites} sites, merged by {_engine(result)}. Seeds: {_seeds(wanted)}.",
        "",
    ]


def _printed(loss: published.Loss | None) -> str:
    if loss is None:
        return "–"
    far = "N/A" if loss.distributed is None else f"{loss.distributed:g}"
    return f"{loss.centralised:g} : {far} ({short_number(loss.ratio)})"


def _ratio(mine: Interval, theirs: Interval) -> str:
    return f"{mine.mean / theirs.mean:.3f}" if theirs.mean else "–"


def _engine(result: StoredResult) -> str:
    return str(result.manifest["key"]["engine"]).replace("this", "one")


FIGURE6_COLUMNS = (
    ("eh", "binary tree"), ("rw", "binary tree"), ("eh sharper", "n-way"), ("slices", "n-way"), ("slices 0.1", "n-way")
)  # fmt: skip
"""The paper's variants up the paper's tree, and ours merged in one step."""


def _figure6(result: StoredResult) -> Lines:
    lines: Lines = []
    for query in dict.fromkeys(row["query"] for row in result.rows):
        shown = [(name, how) for name, how in FIGURE6_COLUMNS if result.where(variant=name, how=how, query=query)]
        rows = []
        for sites in dict.fromkeys(row["sites"] for row in result.rows):
            cells = [_error_and_bytes(result.where(variant=v, how=h, query=query, sites=sites)) for v, h in shown]
            rows.append((sites, *cells))
        lines += markdown_table((f"sites, {query}", *(f"{label_of(name)}, {how}" for name, how in shown)), rows)
    return [*lines, f"Error and network bytes at epsilon 0.1. Seeds: {_seeds(result.rows)}.", ""]


def _error_and_bytes(rows: list[Row]) -> str:
    (error,) = by_seed(rows, ("variant",), "avg_error").values()
    return f"{error}, {byte_size(fmean(row['network_bytes'] for row in rows))}"


PAPER_SECTIONS: dict[str, Callable[[StoredResult], Lines]] = {
    "table2": _table2,
    "table3": _table3,
    "figure4": _figure4,
    "table4": _table4,
    "figure6": _figure6,
}
