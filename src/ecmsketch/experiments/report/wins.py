"""What is better than in the paper, in a sentence each, with numbers from the result tables of all streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import fmean

from ecmsketch.experiments.paper.table3 import ONE_CALL, WHOLE
from ecmsketch.experiments.report.findings import ratios, spread
from ecmsketch.experiments.report.looks import label_of
from ecmsketch.experiments.report.markdown import byte_size
from ecmsketch.experiments.results import StoredResult

OURS = ("eh sharper", "slices", "slices 0.1")


def what_is_better(results: Iterable[StoredResult]) -> list[str]:
    """A sentence for everything that the results have rows for."""
    kept = list(results)
    sentences = (say([result for result in kept if result.experiment == name]) for name, say in _WINS)
    return [sentence for sentence in sentences if sentence]


def _each(found: dict[str, list[float]]) -> str:
    return ", ".join(f"{label_of(name)} {spread(values)}" for name, values in found.items() if values)


def _against_eh(results: list[StoredResult], column: str, **case: object) -> dict[str, list[float]]:
    """Our numbers as shares of those of ECM-EH as published, over all streams and epsilons."""
    found: dict[str, list[float]] = {name: [] for name in OURS}
    for result in results:
        theirs = result.where(variant="eh", **case)
        for name in OURS:
            found[name] += ratios(result.where(variant=name, **case), theirs, column, ("epsilon", "query"))
    return found


def _memory(results: list[StoredResult]) -> str | None:
    if not results:
        return None
    shares = _against_eh(results, "memory_bytes", query="point", epsilon=0.1)
    return (
        "**Memory for the same epsilon.** At epsilon 0.1, for point queries, the memory is this share of the paper's "
        f"ECM-EH: {_each(shares)}."
    )


def _error(results: list[StoredResult]) -> str | None:
    if not results:
        return None
    shares = {query: {name: [fmean(found)] for name, found in _against_eh(results, "avg_error", query=query).items()}
              for query in ("point", "self-join")}  # fmt: skip
    return (
        "**Error at the same epsilon.** The average error is this share of that of the paper's ECM-EH, as a mean over "
        f"all epsilons, seeds and streams: for point queries {_each(shares['point'])}; for self-joins "
        f"{_each(shares['self-join'])}."
    )


def _error_at_memory(results: list[StoredResult]) -> str | None:
    """Compare sketches of ours with the paper's that take at least as much memory."""
    found: dict[str, list[float]] = {name: [] for name in OURS}
    for result in results:
        for theirs in result.where(variant="eh", query="point"):
            for name in OURS:
                fitting = [
                    row["avg_error"]
                    for row in result.where(variant=name, query="point", seed=theirs["seed"])
                    if row["memory_bytes"] <= theirs["memory_bytes"]
                ]
                found[name] += [min(fitting) / theirs["avg_error"]] if fitting else []
    if not any(found.values()):
        return None
    means = {name: [fmean(values)] for name, values in found.items() if values}
    return (
        "**Error at the same memory.** In no more memory than the paper's ECM-EH takes, for point queries, the best of "
        f"our five sketches errs by this share, on average: {_each(means)}."
    )


def _network(results: list[StoredResult]) -> str | None:
    if not results:
        return None
    found: dict[str, list[float]] = {name: [] for name in OURS}
    for result in results:
        theirs = result.where(variant="eh", how="binary tree")
        for name in OURS:
            ours = result.where(variant=name, how="n-way")
            found[name] += ratios(ours, theirs, "network_bytes", ("epsilon", "query"))
    return (
        "**Network bytes.** Sites that send once, to one place, send this share of what the paper's tree of ECM-EH "
        f"sends: {_each(found)}."
    )


def _speed(results: list[StoredResult]) -> str | None:
    if not results:
        return None
    hows = dict.fromkeys(row["how"] for row in results[0].rows)
    parts = []
    for how in hows:
        rates = [
            (row["variant"], row["updates_per_s"] / 1e6)
            for result in results
            for row in result.where(how=how)
            if row["variant"] in ("eh sharper", "slices")
        ]
        name = {ONE_CALL: ONE_CALL, WHOLE: "the stream's own batches"}.get(how, how)
        found = {key: [rate for variant, rate in rates if variant == key] for key in ("eh sharper", "slices")}
        parts.append(f"{name}: {_each(found)}")
    return f"**Speed at every batch size**, in million updates a second on one core. {'; '.join(parts)}."


def _finished(results: list[StoredResult]) -> str | None:
    """The cells that the paper could not finish: ECM-RW on wc'98, aggregated at epsilon 0.1, and epsilon 0.05."""
    parts = []
    for result in results:
        for row in result.where(variant="rw", how="binary tree"):
            if result.data.startswith("worldcup98") and row["epsilon"] <= 0.1:
                parts.append(
                    f"epsilon {row['epsilon']}: average error {row['avg_error']:.3g}, {byte_size(row['memory_bytes'])} "
                    f"at the root, {byte_size(row['network_bytes'])} sent"
                )
    if not parts:
        return None
    return "**What the paper could not finish.** Aggregated ECM-RW on wc'98 ran out of memory there (N/A in table 4). " \
        f"Here {'; '.join(parts)}."  # fmt: skip


_WINS: tuple[tuple[str, Callable[[list[StoredResult]], str | None]], ...] = (
    ("figure4", _memory),
    ("figure4", _error),
    ("figure4", _error_at_memory),
    ("table4", _network),
    ("table3", _speed),
    ("table4", _finished),
)
