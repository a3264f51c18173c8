"""Checks of what the paper says about one sketch: figure 4, table 3 and theorem 1. One function per claim."""

from __future__ import annotations

from math import inf
from statistics import fmean

from ecmsketch.experiments.paper import published
from ecmsketch.experiments.paper.table3 import ONE_CALL, WHOLE
from ecmsketch.experiments.report.findings import BUG, Finding, judge_ratios, ratios, spread
from ecmsketch.experiments.report.looks import label_of
from ecmsketch.experiments.report.markdown import byte_size, event_rate
from ecmsketch.experiments.results import StoredResult
from ecmsketch.experiments.spec import Row

PUBLISHED = ("eh", "dw reserved", "rw")
OURS = ("eh sharper", "slices", "slices 0.1")


def below_epsilon(result: StoredResult) -> Finding:
    """Compare the average and the maximum observed error of the paper's variants with epsilon."""
    return _below_epsilon([row for row in result.rows if row["variant"] in PUBLISHED])


def ours_below_epsilon(result: StoredResult) -> Finding:
    """Compare the average and the maximum observed error of our variants with epsilon."""
    return _below_epsilon([row for row in result.rows if row["variant"] in OURS])


def _below_epsilon(rows: list[Row]) -> Finding:
    average = max(row["avg_error"] / row["epsilon"] for row in rows)
    worst = max(rows, key=lambda row: row["max_error"] / row["epsilon"])
    above = [row for row in rows if row["max_error"] > row["epsilon"]]
    return Finding(
        not above,
        f"the average is at most {average:.2f} of epsilon, the maximum at most "
        f"{worst['max_error'] / worst['epsilon']:.2f} of it ({label_of(worst['variant'])}, {worst['query']}, epsilon "
        f"{worst['epsilon']})",
        f"{len(above)} of {len(rows)} sketches {'has' if len(above) == 1 else 'have'} a query above epsilon. The "
        f"guarantee allows that: it lets each single query fail with probability 0.1. In the worst sketch the error of "
        f"{worst['queries']:,} queries is "
        f"{worst['avg_error'] / worst['epsilon']:.3f} of epsilon on average, and that of its counters without "
        f"collisions {worst['counter_error'] / worst['epsilon']:.4f}: single items that collide cause it",
    )


def _memory(result: StoredResult, variant: str) -> list[float]:
    """The memory of a variant divided by that of ECM-EH, for each epsilon."""
    eh = result.where(variant="eh", query="point")
    return ratios(result.where(variant=variant, query="point"), eh, "memory_bytes", ("epsilon",))


def rw_memory(result: StoredResult) -> Finding | None:
    """Compare the memory of ECM-RW with that of ECM-EH."""
    rows = sorted(result.where(variant="rw"), key=lambda row: float(row["epsilon"]))
    if not rows:
        return None
    fine, coarse = rows[0], rows[-1]
    growth, full = fine["memory_bytes"] / coarse["memory_bytes"], (coarse["epsilon"] / fine["epsilon"]) ** 2
    return judge_ratios(
        _memory(result, "rw"), (10, inf), "the memory of ECM-EH",
        f"from epsilon {coarse['epsilon']} to {fine['epsilon']} the memory of ECM-RW grows {growth:.1f} times, where "
        f"full waves would grow about {full:.0f} times: with {result.manifest['data']['events']:,} events most waves "
        "still hold every arrival",
    )  # fmt: skip


def dw_memory(result: StoredResult) -> Finding:
    """Compare the memory of ECM-DW with that of ECM-EH."""
    reserved, grown = _memory(result, "dw reserved"), _memory(result, "dw")
    times = fmean(reserved) / fmean(grown)
    return Finding(
        1.5 <= fmean(reserved) <= 2.5,
        f"{spread(reserved)} times ({fmean(reserved):.2g} on average) with the paper's capacity of one event per "
        f"millisecond; {spread(grown)} times if waves grow on demand",
        f"room for 10^9 arrivals takes {times:.1f} times what {result.manifest['data']['events']:,} events need; "
        f"without it ECM-DW takes {fmean(grown):.2g} times the memory of ECM-EH on average",
    )


def megabytes(result: StoredResult) -> Finding | None:
    """Compare the memory at epsilon 0.1 with a megabyte."""
    rows = {name: result.where(variant=name, query="point", epsilon=0.1) for name in (*PUBLISHED, "rw c=36")}
    if not all(rows.values()):
        return None
    sizes = {name: max(row["memory_bytes"] for row in found) for name, found in rows.items()}
    theirs = published.megabytes("worldcup98", 0.1, "rw")
    return Finding(
        max(sizes["eh"], sizes["dw reserved"]) < 1e6,
        f"EH {byte_size(sizes['eh'])}, DW {byte_size(sizes['dw reserved'])}, RW {byte_size(sizes['rw'])} with our "
        f"constant, {byte_size(sizes['rw c=36'])} with the published one (the paper, on wc'98: {theirs} MB)",
        f"{result.manifest['data']['events']:,} events take ECM-EH {byte_size(sizes['eh'])} and ECM-DW "
        f"{byte_size(sizes['dw reserved'])}",
    )


def _rates(result: StoredResult, how: str) -> dict[str, float]:
    return {row["variant"]: row["updates_per_s"] for row in result.where(how=how)}


def eh_fastest(result: StoredResult) -> Finding:
    """Compare the update rates of the paper's variants, with one call per event as there, and in batches."""
    observed, faster = [], []
    for how, words in ((ONE_CALL, "with one call per event"), (WHOLE, "in whole batches")):
        rates = {name: rate for name, rate in _rates(result, how).items() if name in ("eh", "dw", "rw")}
        best = max(rates, key=lambda name: rates[name])
        observed.append(f"{words} " + ", ".join(f"{name.upper()} {event_rate(rate)}" for name, rate in rates.items()))
        if best != "eh":
            faster.append(f"{words} {best.upper()} took {rates['eh'] / rates[best]:.2f} of the time of EH in this run")
    return Finding(not faster, "; ".join(observed), "; ".join(faster) or "EH was the fastest")


def _times_published(result: StoredResult, how: str) -> dict[str, float]:
    rows = [row for row in result.where(how=how) if row["variant"] in ("eh", "dw", "rw")]
    return {row["variant"]: row["times_the_paper"] for row in rows if row["times_the_paper"] != ""}


def ten_times(result: StoredResult) -> Finding | None:
    """Compare our update rates in batches with the published ones."""
    return _judge_times(result, WHOLE, 10, "in batches")


def one_by_one(result: StoredResult) -> Finding | None:
    """Compare our update rates with one call per event with the published ones, which were made so."""
    return _judge_times(result, ONE_CALL, 1, "with one Python call per event")


def _judge_times(result: StoredResult, how: str, least: float, words: str) -> Finding | None:
    times = _times_published(result, how)
    if not times:
        return None
    slow = [name for name, ratio in times.items() if ratio < least]
    rates = _rates(result, how)
    return Finding(
        not slow,
        f"{words}, " + ", ".join(f"{name.upper()} {ratio:.2g}" for name, ratio in times.items()) + " times the paper's",
        f"{words} an update takes " + ", ".join(f"{name.upper()} {1e6 / rates[name]:.3g}" for name in slow)
        + " µs in this run, the cost of the call included",
    )  # fmt: skip


def underestimates(result: StoredResult) -> Finding:
    """Compare the worst underestimate with theorem 1."""
    worst = max(row["worst_underestimate"] / row["epsilon_sw"] for row in result.rows)
    return Finding(worst <= 1 + 1e-9, f"the worst underestimate is {worst:.2g} of epsilon_sw", BUG)
