"""The tables of the report, one function per experiment: the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable

from ecmsketch.experiments.report.beyond_sections import BEYOND_SECTIONS
from ecmsketch.experiments.report.markdown import byte_size, markdown_table, short_number
from ecmsketch.experiments.report.paper_sections import PAPER_SECTIONS
from ecmsketch.experiments.results import StoredResult

Lines = list[str]


def result_tables(result: StoredResult) -> Lines:
    """The tables of one result."""
    return _SECTIONS[result.experiment](result)


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
    **PAPER_SECTIONS,
    "heaviest": _heaviest,
    "estimators": _estimators,
    "levels": _levels,
    "union": _union,
    "monitoring": _monitoring,
    **BEYOND_SECTIONS,
}
