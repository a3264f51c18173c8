"""What the paper says, and what we say beyond it, checked on the result tables: holds, or does not hold and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import mean
from typing import NamedTuple

from ecmsketch.experiments import paper
from ecmsketch.experiments.results import Result
from ecmsketch.experiments.spec import Row
from ecmsketch.experiments.summaries import over_ranges

_BROKEN = "a bound that needs no luck was broken, which is an error in this software"


class Finding(NamedTuple):
    """What a table shows of a claim; `why` matters where it does not hold."""

    holds: bool
    observed: str
    why: str = ""


class Claim(NamedTuple):
    """A sentence that one experiment's table can prove wrong."""

    name: str
    text: str
    source: str
    """Where the paper says it; "ours" if it does not."""
    experiment: str
    check: Callable[[Result], Finding | None]
    """None if the table has no rows for it."""


class Verdict(NamedTuple):
    """A claim on one stream."""

    claim: Claim
    data: str
    label: str
    finding: Finding

    @property
    def word(self) -> str:
        return "holds" if self.finding.holds else "does not hold"


def check(results: Iterable[Result]) -> list[Verdict]:
    """Every claim on every stream that has its table."""
    found = []
    for claim in CLAIMS:
        for result in results:
            if result.experiment == claim.experiment:
                finding = claim.check(result)
                if finding is not None:
                    found.append(Verdict(claim, result.data, result.label, finding))
    return found


def _spread(values: list[float]) -> str:
    return f"{min(values):.3g} to {max(values):.3g}" if max(values) > min(values) else f"{values[0]:.3g}"


def _pairs(rows: list[Row], other: list[Row], column: str, by: tuple[str, ...]) -> list[float]:
    """How many times `other`'s value each row of `rows` has, where both have one."""
    known = {tuple(row[name] for name in by): row[column] for row in other}
    ratios = [(row[column], known.get(tuple(row[name] for name in by))) for row in rows]
    return [mine / theirs for mine, theirs in ratios if theirs]


def _below_epsilon(result: Result) -> Finding:
    rows = [row for row in over_ranges(result.rows) if row["estimator"] in ("half", "sample")]
    average = max(row["avg_error"] / row["epsilon"] for row in rows)
    worst = max(rows, key=lambda row: row["max_error"] / row["epsilon"])
    share = worst["max_error"] / worst["epsilon"]
    return Finding(
        share <= 1,
        f"average at most {average:.2f} of epsilon, maximum at most {share:.2f} of it "
        f"({worst['counter']}, {worst['query']}, epsilon {worst['epsilon']})",
        "the guarantee is for each query with probability 1 - delta = 0.9, so single queries may exceed epsilon",
    )


def _memory(result: Result, counter: str, reserved: bool) -> list[float]:
    rows = over_ranges(result.where(counter=counter, reserved=reserved, query="point"))
    return _pairs(rows, over_ranges(result.where(counter="eh", query="point")), "memory_bytes", ("epsilon",))


def _rw_memory(result: Result) -> Finding:
    ratios = _memory(result, "rw", False)
    return Finding(
        min(ratios) >= 10,
        f"{_spread(ratios)} times the memory of ECM-EH",
        f"{result.manifest['data']['events']:,} events are too few: waves that are not full hold every arrival once",
    )


def _dw_memory(result: Result) -> Finding:
    reserved, grown = _memory(result, "dw", True), _memory(result, "dw", False)
    return Finding(
        1.5 <= mean(reserved) <= 2.5,
        f"with the paper's room for an event a millisecond {_spread(reserved)} times, {mean(reserved):.2g} on average; "
        f"grown on demand {_spread(grown)}",
        "our waves take rings of powers of two for all levels that 10^9 arrivals could need, while histograms grow "
        "with what has arrived",
    )


def _rw_megabytes(result: Result) -> Finding | None:
    rows = {name: result.where(counter=name, query="point", epsilon=0.1) for name in ("eh", "dw", "rw")}
    if not all(rows.values()):
        return None
    sizes = {name: max(row["memory_bytes"] for row in found) / 1e6 for name, found in rows.items()}
    return Finding(
        max(sizes["eh"], sizes["dw"]) < 1,
        f"EH {sizes['eh']:.2f} MB, DW {sizes['dw']:.2f} MB, RW {sizes['rw']:.1f} MB (the paper: "
        f"{paper.RW_MEGABYTES} MB; our waves keep an arrival in one level only, and a smaller sample: decisions/007)",
    )


def _fastest(result: Result) -> Finding:
    rates = {row["counter"]: row["updates_per_s"] for row in result.where(how="batches")}
    text = ", ".join(f"{name.upper()} {rate / 1e6:.0f} M/s" for name, rate in rates.items())
    return Finding(rates["eh"] == max(rates.values()), text, "timings of a busy machine vary; run it again")


def _ten_times(result: Result) -> Finding:
    rows = result.where(how="batches")
    times = ", ".join(f"{row['counter'].upper()} {row['times_the_paper']:.0f}" for row in rows)
    java = next(row["times_their_java_today"] for row in rows if row["counter"] == "eh")
    calls = next(row["updates_per_s"] for row in result.where(counter="eh", how="one call per event"))
    return Finding(
        min(row["times_the_paper"] for row in rows) >= 10,
        f"{times} times the paper's rates in batches; EH {java:.1f} times the 5.6 M/s of their Java today. One call "
        f"per event from Python: {calls / 1e6:.1f} M/s",
        "timings of a busy machine vary; run it again",
    )


def _ratios(result: Result, counter: str, how: str) -> list[float]:
    """Of the error in one place, at the epsilons of the paper's table 4."""
    rows = [row for row in result.where(counter=counter) if row["estimator"] in ("half", "sample")]
    rows = [row for row in rows if row["epsilon"] in (0.1, 0.2)]
    far, near = ([row for row in rows if row["how"] == name] for name in (how, "centralised"))
    return _pairs(far, near, "avg_error", ("query", "epsilon"))


def _loss(result: Result) -> Finding | None:
    ratios, ours = _ratios(result, "eh", "binary tree"), _ratios(result, "eh", "n-way")
    if not ratios:
        return None
    biases = [
        100 * mean(row["total_bias"] for row in result.where(counter="eh", how=how, estimator="half", query="point"))
        for how in ("binary tree", "n-way")
    ]
    return Finding(
        max(ratios) <= 1.3,
        f"{_spread(ratios)} times the centralised error (the paper: 1.02 to 1.23); merged n-way "
        f"{_spread(ours)}. Totals are off by {biases[0]:+.1f} % through the tree, {biases[1]:+.1f} % n-way; collisions "
        "add, so counting too little can even help",
        "the error that merging adds is not small beside that of collisions here",
    )


def _lossless(result: Result) -> Finding | None:
    ratios = _ratios(result, "rw", "binary tree")
    if not ratios:
        return None
    return Finding(
        min(ratios) >= 0.9 and max(ratios) <= 1.1,
        f"{_spread(ratios)} times the centralised error (the paper: 0.99 to 1.03)",
        "sites draw other samples than one place does; the difference is that of two samples",
    )


def _rw_network(result: Result) -> Finding | None:
    rows = [row for row in result.where(how="binary tree", query="point") if row["sites"] > 1]
    eh = [row for row in rows if row["counter"] == "eh" and row["estimator"] == "half"]
    ratios = _pairs([row for row in rows if row["counter"] == "rw"], eh, "network_bytes", ("epsilon", "sites"))
    if not ratios:
        return None
    sites = max(row["sites"] for row in rows)
    share = result.manifest["data"]["events"] // sites
    return Finding(
        min(ratios) >= 10,
        f"{_spread(ratios)} times the network bytes of ECM-EH",
        f"with {sites} sites one has {share:,} events on average, fewer inside the window; waves not yet full hold "
        "every arrival once, and an arrival takes a byte or two; the ratio grows with the events of a site",
    )


def _growth(result: Result, counter: str) -> list[float]:
    rows = [row for row in result.where(how="binary tree", counter=counter) if row["estimator"] != "interpolate"]
    alone = [row for row in rows if row["sites"] == 1]
    return _pairs([row for row in rows if row["sites"] > 1], alone, "avg_error", ("query",))


def _grows_little(result: Result) -> Finding | None:
    ratios = _growth(result, "eh")
    if not ratios:
        return None
    return Finding(
        max(ratios) <= 1.3,
        f"{_spread(ratios)} times the error of one site",
        "the error that merging adds is not small beside that of collisions here",
    )


def _grows_not(result: Result) -> Finding | None:
    ratios = _growth(result, "rw")
    if not ratios:
        return None
    return Finding(
        min(ratios) >= 0.9 and max(ratios) <= 1.1,
        f"{_spread(ratios)} times the error of one site",
        "every network draws other samples; the difference is that of two samples",
    )


def _n_way(result: Result) -> Finding | None:
    best = {"estimator": "half", "query": "point"}
    ratios = _pairs(
        result.where(how="n-way", **best), result.where(how="binary tree", **best), "network_bytes",
        ("counter", "epsilon"),
    )  # fmt: skip
    promises = _pairs(
        result.where(how="n-way", **best), result.where(how="binary tree", **best), "promised", ("counter", "epsilon")
    )
    return Finding(
        max(ratios) < 1 and max(promises) < 1,
        f"{_spread(ratios)} of the tree's network bytes, {_spread(promises)} of its promised error",
        "an aggregation over so few sites has no levels to save",
    )


def _underestimates(result: Result) -> Finding:
    worst = max(row["worst_underestimate"] / row["epsilon_sw"] for row in result.rows)
    return Finding(worst <= 1 + 1e-9, f"the worst is {worst:.2g} of epsilon_sw", _BROKEN)


def _heaviest(result: Result) -> Finding | None:
    rows = [row for row in result.rows if row["epsilon"] == 0.001]
    if not rows:
        return None
    worst = max(row["heaviest_max_relative"] for row in rows)
    sizes = [row["memory_bytes"] / 1e6 for row in rows]
    return Finding(
        worst <= 0.01, f"the worst is {worst:.2g} of the item's own count, in {max(sizes):.0f} MB",
        "the heaviest items are too light a share of the arrivals for this epsilon",
    )  # fmt: skip


def _interpolates(result: Result) -> Finding:
    ratios = _pairs(
        result.where(estimator="interpolate"), result.where(estimator="half"), "avg_relative", ("counter", "epsilon")
    )
    return Finding(
        max(ratios) <= 1,
        f"{_spread(ratios)} of the average error of half a bucket",
        "many arrivals share few ticks here, and nothing can be told apart inside a tick",
    )


def _bounded(result: Result) -> Finding:
    shares = [row["max_relative"] / row["corrected_bound"] for row in result.rows]
    return Finding(max(shares) <= 1 + 1e-9, f"the worst observed error is {_spread(shares)} of the bound", _BROKEN)


def _no_miss(result: Result) -> Finding:
    missed = sum(int(row["missed"]) for row in result.rows)
    return Finding(missed == 0, f"{missed} missed", _BROKEN)


def _fewer_bytes(result: Result) -> Finding:
    shipped = {row["function"]: row["bytes"] for row in result.where(method="ship the events")}
    ours = result.where(method="safe zone, lazy balancing")
    ratios = {row["function"]: shipped[row["function"]] / max(row["bytes"], 1) for row in ours}
    observed = ", ".join(f"{name} {ratio:.1f} x" for name, ratio in ratios.items())
    return Finding(
        min(ratios.values()) >= 10,
        observed,
        "a site sees few events between two crossings, and a vector is many numbers",
    )


def _union(result: Result) -> Finding:
    lazy, tree = result.where(how="lazy union"), result.where(how="n-way")
    errors = _pairs(lazy, tree, "avg_error", ("epsilon",))
    sizes = _pairs(lazy, tree, "bytes_kept", ("epsilon",))
    return Finding(
        max(errors) <= 1.02,
        f"{_spread(errors)} times the error of the n-way merge, in {_spread(sizes)} times the bytes",
        "a sum of sites' answers cannot collide more; what is left is how counters read their oldest buckets",
    )


CLAIMS = (
    Claim("below epsilon", "Average and maximum observed error are below epsilon, for all variants", "section 7.2",
          "figure4", _below_epsilon),
    Claim("rw memory", "ECM-RW takes at least ten times the memory of ECM-EH", "section 7.2", "figure4", _rw_memory),
    Claim("dw memory", "ECM-DW takes about twice the memory of ECM-EH", "section 7.2", "figure4", _dw_memory),
    Claim("megabytes", "At epsilon 0.1 ECM-EH and ECM-DW take less than a megabyte", "section 7.2", "figure4",
          _rw_megabytes),
    Claim("eh fastest", "ECM-EH is the fastest variant", "table 3", "table3", _fastest),
    Claim("ten times", "Updates are at least ten times as fast as the authors published", "ours", "table3", _ten_times),
    Claim("small loss", "Aggregating ECM-EH up a binary tree hardly adds error", "table 4", "table4", _loss),
    Claim("rw lossless", "Aggregating ECM-RW loses nothing", "table 4", "table4", _lossless),
    Claim("rw network", "ECM-RW needs at least ten times the network of ECM-EH", "figure 5", "table4", _rw_network),
    Claim("n-way", "Merging n-way sends less than the tree, and promises less error", "ours", "table4", _n_way),
    Claim("eh grows little", "From 1 to 256 sites the error of ECM-EH grows little", "figure 6", "figure6",
          _grows_little),
    Claim("rw grows not", "From 1 to 256 sites the error of ECM-RW does not grow", "figure 6", "figure6", _grows_not),
    Claim("rw network by size", "At every size ECM-RW needs at least ten times the network of ECM-EH", "figure 6",
          "figure6", _rw_network),
    Claim("underestimates", "No item is underestimated by more than epsilon_sw of itself", "theorem 1", "heaviest",
          _underestimates),
    Claim("heaviest", "At epsilon 0.001 the ten heaviest items are within 1 % of themselves", "ours", "heaviest",
          _heaviest),
    Claim("interpolation", "Interpolating errs less than counting half a bucket", "ours", "estimators", _interpolates),
    Claim("levels", "Merging level upon level stays within the corrected bound", "ours", "levels", _bounded),
    Claim("no crossing missed", "Watching misses no crossing at any check", "ours", "monitoring", _no_miss),
    Claim("fewer bytes", "Watching takes a tenth of the bytes of shipping", "ours", "monitoring", _fewer_bytes),
    Claim("lazy union", "Keeping all sites' sketches errs no more than merging them", "ours", "union", _union),
)  # fmt: skip
