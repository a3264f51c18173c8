"""Checks of what we say beyond the paper, one function per claim."""

from __future__ import annotations

from ecmsketch.experiments.report.findings import BUG, Finding, ratios, spread
from ecmsketch.experiments.results import StoredResult


def n_way(result: StoredResult) -> Finding:
    """Compare the n-way merge with the tree: network bytes and promised error."""
    best = {"estimator": "half", "query": "point"}
    ours, tree = result.where(how="n-way", **best), result.where(how="binary tree", **best)
    sent, promised = (ratios(ours, tree, column, ("counter", "epsilon")) for column in ("network_bytes", "promised"))
    return Finding(
        max(sent) < 1 and max(promised) < 1,
        f"{spread(sent)} of the tree's network bytes, {spread(promised)} of its promised error",
        "a tree of so few sites has no levels to save",
    )


def heaviest(result: StoredResult) -> Finding | None:
    """Compare the errors of the heaviest items with one percent of their counts."""
    rows = [row for row in result.rows if row["epsilon"] == 0.001]
    if not rows:
        return None
    worst = max(row["heaviest_max_relative"] for row in rows)
    sizes = [row["memory_bytes"] / 1e6 for row in rows]
    return Finding(
        worst <= 0.01,
        f"the worst error is {worst:.2g} of the item's own count, in {max(sizes):.0f} MB",
        "the heaviest items have too small a share of the arrivals for this epsilon",
    )


def interpolation(result: StoredResult) -> Finding:
    """Compare interpolating in the oldest bucket with counting half of it."""
    ours, half = result.where(estimator="interpolate"), result.where(estimator="half")
    found = ratios(ours, half, "avg_relative", ("counter", "epsilon"))
    return Finding(
        max(found) <= 1,
        f"{spread(found)} of the average error of counting half a bucket",
        "many arrivals share a tick here, and interpolation cannot divide a tick",
    )


def levels_bounded(result: StoredResult) -> Finding:
    """Compare the worst error after many merges with the corrected bound."""
    shares = [row["max_relative"] / row["corrected_bound"] for row in result.rows]
    return Finding(max(shares) <= 1 + 1e-9, f"the worst observed error is {spread(shares)} of the bound", BUG)


def no_crossing_missed(result: StoredResult) -> Finding:
    """Count the checks at which the coordinator was on the wrong side of the threshold."""
    missed = sum(int(row["missed"]) for row in result.rows)
    return Finding(missed == 0, f"{missed} crossings missed", BUG)


def fewer_bytes(result: StoredResult) -> Finding:
    """Compare the bytes of watching with those of shipping all events, packed."""
    shipped = {row["function"]: row["bytes"] for row in result.where(method="ship the events, packed")}
    ours = result.where(method="watching (mode auto)")
    times = {row["function"]: shipped[row["function"]] / max(row["bytes"], 1) for row in ours}
    return Finding(
        min(times.values()) >= 10,
        "shipping sends more bytes: " + ", ".join(f"{name} {ratio:.1f} x" for name, ratio in times.items()),
        "with many sites the value has less room for each than the site's own count moves by chance",
    )


def lazy_union(result: StoredResult) -> Finding:
    """Compare summed answers of all sites with the answers of their merged sketch."""
    lazy, merged = result.where(how="lazy union"), result.where(how="n-way")
    errors, sizes = (ratios(lazy, merged, column, ("epsilon",)) for column in ("avg_error", "bytes_kept"))
    return Finding(
        max(errors) <= 1.02,
        f"{spread(errors)} times the error of the n-way merge, in {spread(sizes)} times the bytes",
        "summed answers do not collide more than merged ones; the difference comes from reading the oldest buckets",
    )
