"""What is better than in the paper, with numbers from the result tables of all streams."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

from ecmsketch.experiments.paper.table3 import ONE_CALL, WHOLE
from ecmsketch.experiments.report.findings import ratios, spread
from ecmsketch.experiments.report.looks import label_of
from ecmsketch.experiments.report.markdown import byte_size, markdown_table
from ecmsketch.experiments.results import StoredResult

OURS = ("eh sharper", "slices", "slices 0.1")
Lines = list[str]


def what_is_better(results: Iterable[StoredResult]) -> Lines:
    """A table of shares and a few sentences, of everything that the results have rows for."""
    kept = list(results)
    figure4, table4, table3 = ([part for part in kept if part.experiment == n] for n in ("figure4", "table4", "table3"))
    lines = _shares(figure4, table4)
    for sentence in (_speed(table3), _finished(table4)):
        lines += [f"- {sentence}"] if sentence else []
    return ["## What is better", "", *lines, ""] if lines else []


def _shares(figure4: list[StoredResult], table4: list[StoredResult]) -> Lines:
    """How much of the paper's ECM-EH ours takes, or errs: from the least to the greatest stream."""
    rows: list[tuple[str, ...]] = []
    if figure4:
        rows += [
            _line("memory at epsilon 0.1, for point queries", figure4, "memory_bytes", query="point", epsilon=0.1),
            _line("memory at epsilon 0.1, for self-joins", figure4, "memory_bytes", query="self-join", epsilon=0.1),
            _line("average error of point queries, same epsilon", figure4, "avg_error", query="point"),
            _line("average error of self-joins, same epsilon", figure4, "avg_error", query="self-join"),
            ("average error of point queries, in no more memory", *(_at_memory(figure4, name) for name in OURS)),
        ]
    if table4:
        both = ("n-way", "binary tree")
        rows.append(
            _line("bytes sent by all sites, ours in one step, the paper's up its tree", table4, "network_bytes", both)
        )
        rows.append(_line("bytes sent by all sites, both in one step", table4, "network_bytes", ("n-way", "n-way")))
    if not rows:
        return []
    head = ("share of the paper's ECM-EH (less is better)", *(label_of(name) for name in OURS))
    return [
        *markdown_table(head, rows),
        "Shares are means over epsilons and seeds. Two numbers are those of the best and the worst stream. All have "
        "the same epsilon, but slices at resolution 0.1 promise less at the start of a range. *In no more memory* "
        "takes the best of our sketches that are not larger than the paper's, where there is one.",
        "",
    ]


def _line(
    text: str, results: list[StoredResult], column: str, ways: tuple[str, str] | None = None, **case: object
) -> tuple[str, ...]:
    cells = []
    for name in OURS:
        found = []
        for result in results:
            here, there = ({"how": way} for way in ways) if ways else ({}, {})
            ours, theirs = result.where(variant=name, **here, **case), result.where(variant="eh", **there, **case)
            shares = ratios(ours, theirs, column, ("epsilon", "query"))
            found += [fmean(shares)] if shares else []
        cells.append(spread(found) if found else "–")
    return (text, *cells)


def _at_memory(results: list[StoredResult], name: str) -> str:
    """The error of our best sketch that is not larger than the paper's, as a share of the paper's error."""
    found = []
    for result in results:
        shares = []
        for theirs in result.where(variant="eh", query="point"):
            ours = result.where(variant=name, query="point", seed=theirs["seed"])
            fitting = [row["avg_error"] for row in ours if row["memory_bytes"] <= theirs["memory_bytes"]]
            shares += [min(fitting) / theirs["avg_error"]] if fitting and theirs["avg_error"] else []
        found += [fmean(shares)] if shares else []
    return spread(found) if found else "–"


def _speed(results: list[StoredResult]) -> str | None:
    if not results:
        return None
    parts = []
    for how in dict.fromkeys(row["how"] for row in results[0].rows):
        rates = [
            [row["updates_per_s"] / 1e6 for result in results for row in result.where(how=how, variant=name)]
            for name in ("slices", "eh sharper", "eh")
        ]
        text = {ONE_CALL: ONE_CALL, WHOLE: "batches as the stream comes"}.get(how, how)
        parts.append(f"{text} {' / '.join(spread(found) for found in rates)}")
    return f"Million updates a second on one core, slices / ECM-EH sharper / ECM-EH as published: {'; '.join(parts)}."


def _finished(results: list[StoredResult]) -> str | None:
    """The cells that the paper could not finish: ECM-RW on wc'98, aggregated at epsilon 0.1, and epsilon 0.05."""
    parts = [
        f"epsilon {row['epsilon']}: average error {row['avg_error']:.3g}, {byte_size(row['memory_bytes'])} at the "
        f"root, {byte_size(row['network_bytes'])} sent"
        for result in results
        if result.data.startswith("worldcup98")
        for row in result.where(variant="rw", how="binary tree")
        if row["epsilon"] <= 0.1
    ]
    if not parts:
        return None
    return (
        "The paper could not aggregate ECM-RW on wc'98 at epsilon 0.1 for want of memory (N/A in table 4). Here, with "
        f"our constant: {'; '.join(parts)}."
    )
