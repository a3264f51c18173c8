"""Checks of what we say beyond the paper, one function per claim. Reasons state what the rows show."""

from __future__ import annotations

from math import ceil, log2

from ecmsketch.experiments.report.findings import BUG, Finding, ratios, spread
from ecmsketch.experiments.results import StoredResult


def n_way(result: StoredResult) -> Finding:
    """Compare the n-way merge with the tree: network bytes and promised error."""
    best = {"estimator": "half", "query": "point"}
    ours, tree = result.where(how="n-way", **best), result.where(how="binary tree", **best)
    sent, promised = (ratios(ours, tree, column, ("counter", "epsilon")) for column in ("network_bytes", "promised"))
    sites = max(row["sites"] for row in result.rows)
    worse = sum(ratio >= 1 for ratio in sent), sum(ratio >= 1 for ratio in promised)
    return Finding(
        max(sent) < 1 and max(promised) < 1,
        f"{spread(sent)} of the tree's network bytes, {spread(promised)} of its promised error",
        f"of {len(ours)} cases {worse[0]} send no less and {worse[1]} promise no less error; {sites} sites make a "
        f"tree of {ceil(log2(max(sites, 2)))} levels",
    )


def heaviest(result: StoredResult) -> Finding | None:
    """Compare the errors of the heaviest items with one percent of their counts."""
    rows = [row for row in result.rows if row["epsilon"] == 0.001]
    if not rows:
        return None
    worst = max(rows, key=lambda row: float(row["heaviest_max_relative"]))
    relative, largest = float(worst["heaviest_max_relative"]), float(worst["max_error"])
    share = largest / max(relative, 1e-9)
    sizes = [row["memory_bytes"] / 1e6 for row in rows]
    return Finding(
        relative <= 0.01,
        f"the worst error is {relative:.2g} of the item's own count, in {max(sizes):.0f} MB",
        f"in the last {worst['range_s']:,} s no error is above {largest:.2g} of the {worst['arrivals']:,} arrivals, "
        f"so an item that errs by {relative:.2g} of its own count came at most {share:.2g} of them",
    )


def interpolation(result: StoredResult) -> Finding:
    """Compare interpolating in the oldest bucket with counting half of it."""
    by = ("counter", "epsilon")
    ours, half = result.where(estimator="interpolate"), result.where(estimator="half")
    found = ratios(ours, half, "avg_relative", by)
    data = result.manifest["data"]
    crowd = data["events"] / max(data["seconds_covered"], 1)
    worse = sum(ratio > 1 for ratio in found)
    return Finding(
        max(found) <= 1,
        f"{spread(found)} of the average error of counting half a bucket",
        f"{worse} of {len(found)} counters err more, at most {max(found):.3g} times; {crowd:.3g} events of this stream "
        "share a second on average, and interpolation cannot divide a tick",
    )


def levels_bounded(result: StoredResult) -> Finding:
    """Compare the worst error after many merges with the corrected bound."""
    worst = max(result.rows, key=lambda row: float(row["max_relative"] / row["corrected_bound"]))
    shares = [row["max_relative"] / row["corrected_bound"] for row in result.rows]
    return Finding(
        max(shares) <= 1 + 1e-9,
        f"the worst observed error is {spread(shares)} of the bound",
        f"after {worst['levels']} levels {worst['max_relative']:.3g} is above {worst['corrected_bound']:.3g}; {BUG}",
    )


def no_crossing_missed(result: StoredResult) -> Finding:
    """Count the checks at which the coordinator was on the wrong side of the threshold."""
    wrong = {f"{row['function']}, {row['method']}": row["missed"] for row in result.rows if row["missed"]}
    cases = ", ".join(f"{case}: {count}" for case, count in wrong.items())
    return Finding(not wrong, f"{sum(wrong.values())} crossings missed", f"{cases or 'none'}; {BUG}")


def fewer_bytes(result: StoredResult) -> Finding:
    """Compare the bytes of watching with those of shipping all events, packed."""
    shipped = {row["function"]: row["bytes"] for row in result.where(method="ship the events, packed")}
    ours = result.where(method="watching (mode auto)")
    times = {row["function"]: shipped[row["function"]] / max(row["bytes"], 1) for row in ours}
    worst = min(ours, key=lambda row: times[row["function"]])
    between = worst["events"] / worst["sites"] / max(worst["checks"], 1)
    return Finding(
        min(times.values()) >= 10,
        "shipping sends more bytes: " + ", ".join(f"{name} {ratio:.1f} x" for name, ratio in times.items()),
        f"between two checks each of {worst['sites']} sites sees {between:.2g} events, which packed take "
        f"{shipped[worst['function']] / worst['events']:.2g} bytes each; watching {worst['function']} took "
        f"{worst['messages']:,} messages",
    )


def lazy_union(result: StoredResult) -> Finding:
    """Compare summed answers of all sites with the answers of their merged sketch."""
    lazy, merged = result.where(how="lazy union"), result.where(how="n-way")
    errors, sizes = (ratios(lazy, merged, column, ("epsilon",)) for column in ("avg_error", "bytes_kept"))
    worst = max(lazy, key=lambda row: float(row["avg_error"]))
    (other,) = [row for row in merged if row["epsilon"] == worst["epsilon"] and row["seed"] == worst["seed"]]
    return Finding(
        max(errors) <= 1.02,
        f"{spread(errors)} times the error of the n-way merge, in {spread(sizes)} times the bytes",
        f"at epsilon {worst['epsilon']} the union of {worst['sites']} sites errs {worst['avg_error']:.3g} on average "
        f"and the merged sketch {other['avg_error']:.3g}, with promises of {worst['promised']:.3g} and "
        f"{other['promised']:.3g}",
    )
