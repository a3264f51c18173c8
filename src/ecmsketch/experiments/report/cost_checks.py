"""Checks of memory and speed against other sketches and other systems. Reasons state what the rows show."""

from __future__ import annotations

from itertools import pairwise
from math import exp, log

from ecmsketch.experiments.report.findings import Finding, spread
from ecmsketch.experiments.report.intervals import by_seed
from ecmsketch.experiments.results import StoredResult

OURS = "ecmsketch slices, resolution 0.1"
DUCKDB = "DuckDB, exact"


def error_at(result: StoredResult, memory: float, measure: str) -> float:
    """The error of slices in the given memory: on the line between the two settings around it, on log scales."""
    rows = result.where(sketch="slices")
    sizes = by_seed(rows, ("setting",), "memory_bytes")
    errors = by_seed(rows, ("setting",), measure)
    points = sorted((sizes[case].mean, errors[case].mean) for case in sizes)
    if memory >= points[-1][0]:
        return points[-1][1]  # more memory errs no more than this
    (small, high), (large, low) = next(
        pair for pair in pairwise(points) if memory < pair[1][0] or pair[1] == points[-1]
    )
    share = log(memory / small) / log(large / small)
    return exp(log(high) + share * (log(low) - log(high)))


def _equal_memory(result: StoredResult, measure: str) -> Finding:
    others = [row for row in result.rows if row["source"] != "measured here"]
    found = {
        f"{row['sketch']} in {row['memory_bytes'] / 1000:g} kB": (
            error_at(result, row["memory_bytes"], measure), float(row[measure]),
        )
        for row in others
    }  # fmt: skip
    lost = {name: pair for name, pair in found.items() if pair[0] > pair[1]}
    shares = [ours / theirs for ours, theirs in found.values()]
    return Finding(
        not lost,
        f"slices err {spread(shares)} times as much as the others",
        "; ".join(f"{name} errs {theirs:.3g} and slices {ours:.3g}" for name, (ours, theirs) in lost.items())
        + f"; slices err less in {len(found) - len(lost)} of {len(found)} cases",
    )


def equal_memory_all(result: StoredResult) -> Finding:
    """Compare the mean error of all items at the memory of other sketches."""
    return _equal_memory(result, "all_items")


def equal_memory_heaviest(result: StoredResult) -> Finding:
    """Compare the mean error of the heaviest 100 items at the memory of other sketches."""
    return _equal_memory(result, "heaviest")


def every_batch_size(result: StoredResult) -> Finding:
    """Compare the rates of slices with those of exponential histograms in every cell."""
    slow, fast = (
        by_seed(result.where(engine=engine), ("epsilon", "batch"), "updates_per_s")
        for engine in ("eh", "slices, resolution 0.1")
    )
    found = {case: fast[case].mean / rate.mean for case, rate in slow.items()}
    lost = {case: ratio for case, ratio in found.items() if ratio < 1}
    return Finding(
        not lost,
        f"{spread(list(found.values()))} times the rate of exponential histograms",
        f"{len(lost)} of {len(found)} cases are slower: "
        + "; ".join(
            f"epsilon {case[0]} in batches of {case[1]}: {fast[case]} against {slow[case]} updates/s" for case in lost
        ),
    )


def _against(result: StoredResult, column: str, peer: str) -> dict[str, float]:
    """How many times our value the peer's is, at each size that both were measured at."""
    values = {}
    for name in (OURS, peer):
        rows = [row for row in result.where(peer=name, state="measured") if row[column] != ""]
        values[name] = by_seed(rows, ("sweep", "events", "window"), column)
    return {
        f"{case[1]:,} events, window {case[2]:,}": value.mean / values[OURS][case].mean
        for case, value in values[peer].items()
        if case in values[OURS]
    }


def _times_duckdb(result: StoredResult, column: str, least: float, what: str) -> Finding | None:
    found = _against(result, column, DUCKDB)
    if not found:
        return None
    lost = {case: ratio for case, ratio in found.items() if ratio < least}
    return Finding(
        not lost,
        f"DuckDB takes {spread(list(found.values()))} times {what}",
        f"fewer than {least:g} times in {len(lost)} of {len(found)} cases: "
        + "; ".join(f"{case}: {ratio:.3g}" for case, ratio in lost.items()),
    )


def duckdb_memory(result: StoredResult) -> Finding | None:
    """Compare the memory of DuckDB's exact windows with that of slices."""
    return _times_duckdb(result, "memory_bytes", 10, "the memory of slices")


def duckdb_updates(result: StoredResult) -> Finding | None:
    """Compare the cost of an update in DuckDB with that in slices."""
    return _times_duckdb(result, "ns_per_event", 2, "the time of an update of slices")


def duckdb_questions(result: StoredResult) -> Finding | None:
    """Compare the time of a question to DuckDB with that of slices."""
    return _times_duckdb(result, "ask_us", 10, "the time of a question to slices")


def flat_memory(result: StoredResult) -> Finding | None:
    """Compare how the memory of slices and of DuckDB grows with the events in the window."""
    rows = {
        name: by_seed(result.where(peer=name, sweep="events", state="measured"), ("events",), "memory_bytes")
        for name in (OURS, DUCKDB)
    }
    sizes = sorted(int(str(case[0])) for case in rows[OURS])
    if len(sizes) < 2:
        return None
    grown = {
        name: points[max(points, key=lambda case: int(str(case[0])))].mean / points[sizes[0],].mean
        for name, points in rows.items()
        if points
    }
    more = sizes[-1] / sizes[0]
    return Finding(
        grown[OURS] <= more**0.5,
        f"{more:,.0f} times the events take {grown[OURS]:.3g} times the memory"
        + (f" (DuckDB: {grown[DUCKDB]:.3g} times)" if DUCKDB in grown else ""),
        f"{grown[OURS]:.3g} is above {more**0.5:.3g}, the square root of {more:,.0f}; at {sizes[0]:,} events the "
        f"sketch holds {rows[OURS][sizes[0],].mean:,.0f} bytes",
    )
