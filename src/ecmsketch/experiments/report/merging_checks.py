"""Checks of what the paper says about merging many sites: table 4, figures 5 and 6. One function per claim."""

from __future__ import annotations

from math import inf
from statistics import fmean

from ecmsketch.experiments.report.findings import Finding, judge_ratios, ratios, spread
from ecmsketch.experiments.report.markdown import byte_size
from ecmsketch.experiments.results import StoredResult
from ecmsketch.experiments.spec import Row


def _losses(result: StoredResult, variant: str, how: str) -> list[float]:
    """The error after merging divided by the error in one place, at the epsilons of the paper's table 4."""
    rows = [row for row in result.where(variant=variant) if row["epsilon"] in (0.1, 0.2)]
    far, near = ([row for row in rows if row["how"] == name] for name in (how, "centralised"))
    return ratios(far, near, "avg_error", ("query", "epsilon"))


def _mean(rows: list[Row], column: str) -> float:
    return fmean(row[column] for row in rows)


def small_loss(result: StoredResult) -> Finding | None:
    """Compare the error of ECM-EH after a binary tree with that in one place."""
    eh = {how: result.where(variant="eh", query="point", how=how) for how in ("centralised", "binary tree", "n-way")}
    finding = judge_ratios(
        _losses(result, "eh", "binary tree"), (0, 1.3), "the centralised error",
        _own_error(eh["centralised"], eh["binary tree"]),
    )  # fmt: skip
    if finding is None:
        return None
    biases = [100 * _mean(eh[how], "total_bias") for how in ("binary tree", "n-way")]
    return finding._replace(
        observed=f"{finding.observed} (the paper: 1.02 to 1.23); after an n-way merge "
        f"{spread(_losses(result, 'eh', 'n-way'))} times. Totals are off by {biases[0]:+.1f} % after the tree and "
        f"{biases[1]:+.1f} % after the n-way merge; collisions only add, so undercounting can even reduce the error"
    )


def _own_error(before: list[Row], after: list[Row]) -> str:
    """What merging did to the counters alone."""
    if not before or not after:
        return ""
    own = [100 * _mean(rows, "counter_error") for rows in (before, after)]
    total = [100 * _mean(rows, "avg_error") for rows in (before, after)]
    return (
        f"without collisions the counters err by {own[0]:.3g} % of all arrivals before merging and by {own[1]:.3g} % "
        f"after it, with collisions by {total[0]:.3g} and {total[1]:.3g} %"
    )


def rw_lossless(result: StoredResult) -> Finding | None:
    """Compare the error of ECM-RW after a binary tree with that in one place."""
    rows = {how: result.where(variant="rw", how=how) for how in ("centralised", "binary tree")}
    return judge_ratios(
        _losses(result, "rw", "binary tree"), (0.9, 1.1), "the centralised error (the paper: 0.99 to 1.03)",
        "sites draw other samples than one place does: " + _own_error(rows["centralised"], rows["binary tree"]),
    )  # fmt: skip


def rw_network(result: StoredResult) -> Finding | None:
    """Compare the network bytes of ECM-RW with those of ECM-EH."""
    rows = [row for row in result.where(how="binary tree", query="point") if row["sites"] > 1]
    eh, rw = ([row for row in rows if row["variant"] == name] for name in ("eh", "rw"))
    found = ratios(rw, eh, "network_bytes", ("epsilon", "sites"))
    if not found:
        return None
    sites = max(row["sites"] for row in rw)
    least = min((row for row in rw if row["sites"] == sites), key=lambda row: float(row["network_bytes"]))
    sent = result.where(variant="rw", how="n-way", sites=sites, epsilon=least["epsilon"])
    share = result.manifest["data"]["events"] // sites
    return judge_ratios(
        found, (10, inf), "the network bytes of ECM-EH",
        f"each of {sites} sites has {share:,} events on average, and fewer inside the window. At epsilon "
        f"{least['epsilon']} its ECM-RW takes {byte_size(_mean(sent, 'network_bytes') / sites)}, or "
        f"{_mean(sent, 'network_bytes') / sites / max(share, 1):.1f} bytes an event: a wave "
        "that is not full sends the arrivals in its window once, and these are few",
    )  # fmt: skip


def _growth(result: StoredResult, variant: str) -> list[float]:
    """The error of many sites divided by that of one."""
    rows = result.where(how="binary tree", variant=variant)
    alone = [row for row in rows if row["sites"] == 1]
    return ratios([row for row in rows if row["sites"] > 1], alone, "avg_error", ("query",))


def eh_grows_little(result: StoredResult) -> Finding | None:
    """Compare the error of ECM-EH on many sites with that on one."""
    return judge_ratios(_growth(result, "eh"), (0, 1.3), "the error of one site", _ends(result, "eh"))


def rw_does_not_grow(result: StoredResult) -> Finding | None:
    """Compare the error of ECM-RW on many sites with that on one."""
    why = "every network draws other samples: " + _ends(result, "rw")
    return judge_ratios(_growth(result, "rw"), (0.9, 1.1), "the error of one site", why)


def _ends(result: StoredResult, variant: str) -> str:
    """The counters' own error on one site and on the most sites."""
    rows = result.where(how="binary tree", variant=variant, query="point")
    most = max((row["sites"] for row in rows), default=1)
    return _own_error([row for row in rows if row["sites"] == 1], [row for row in rows if row["sites"] == most])
