"""Checks of the questions that the paper bounds and does not measure. Reasons state what the rows show."""

from __future__ import annotations

from ecmsketch.experiments.report.findings import Finding, spread
from ecmsketch.experiments.report.intervals import by_seed
from ecmsketch.experiments.results import StoredResult
from ecmsketch.experiments.spec import Row

DELTA = 0.1
"""The share of answers that may break a bound, in all of these experiments."""


def _exact_engines(result: StoredResult) -> list[Row]:
    """The rows of engines without a resolution of their own: these promise epsilon in all."""
    return [row for row in result.rows if "resolution" not in row["engine"]]


def _case(row: Row) -> str:
    place = f"the last {row['range_s']:,} s" if "range_s" in row else f"the last {row['arrivals']:,} arrivals"
    return f"{row['engine']}, epsilon {row['epsilon']:g}, {place}, seed {row['seed']}"


def _errors_promised(result: StoredResult, column: str) -> Finding:
    """Count the answers that err more than promised: in each case, over all seeds, at most a share delta may."""
    keys = ("engine", "epsilon", "range_s" if "range_s" in result.rows[0] else "arrivals")
    shares = by_seed(result.rows, keys, "beyond_promise")
    most = max(shares, key=lambda case: shares[case].mean)
    worst = max(_exact_engines(result), key=lambda row: float(row[column] / row["epsilon"]))
    return Finding(
        shares[most].mean <= DELTA,
        f"at most {100 * shares[most].mean:.2g} % of the answers of a range err more; without a resolution, the worst "
        f"error is {worst[column] / worst['epsilon']:.2g} of epsilon",
        f"{most[0]}, epsilon {most[1]}, range {most[2]}: {100 * shares[most].mean:.3g} % of the answers err more than "
        f"promised, over all seeds; the worst error is {worst[column]:.3g} ({_case(worst)})",
    )


def inner_product(result: StoredResult) -> Finding:
    """Compare the errors of inner products with epsilon."""
    promised = [row | {"beyond_promise": float(row["error"] > row["promised"])} for row in result.rows]
    return _errors_promised(StoredResult(result.manifest, promised), "error")


def point_errors(result: StoredResult) -> Finding:
    """Compare the errors of counts, ranks or sums with epsilon."""
    return _errors_promised(result, "max_error")


def answers_bounded(result: StoredResult) -> Finding:
    """Count how often the truth lies within the bounds of an answer."""
    engines = dict.fromkeys(row["engine"] for row in result.rows)
    shares = {}
    for engine in engines:
        rows = result.where(engine=engine)
        shares[engine] = sum(float(row["covered"]) for row in rows) / len(rows)
    worst = min(result.rows, key=lambda row: float(row["covered"]))
    return Finding(
        min(shares.values()) >= 1 - DELTA,
        "the truth is within the bounds of " + ", ".join(f"{100 * s:.4g} % ({name})" for name, s in shares.items()),
        f"{min(shares.values()):.3g} is below {1 - DELTA:g}; the worst case is {_case(worst)} with "
        f"{float(worst['covered']):.3g}",
    )


def counts_bounded(result: StoredResult) -> Finding:
    """Count the answers about the last arrivals that are outside their own bounds."""
    shares = by_seed(result.rows, ("engine", "epsilon", "arrivals"), "outside_bounds")
    most = max(shares, key=lambda case: shares[case].mean)
    worst = max(result.rows, key=lambda row: float(row["outside_bounds"]))
    return Finding(
        shares[most].mean <= DELTA,
        f"at most {100 * shares[most].mean:.2g} % of the answers of a range are outside their bounds",
        f"{most[0]}, epsilon {most[1]}, the last {most[2]} arrivals: {100 * shares[most].mean:.3g} % over all seeds, "
        f"and up to {100 * worst['outside_bounds']:.3g} % of {worst['items']:,} answers with one ({_case(worst)})",
    )


def none_missed(result: StoredResult) -> Finding:
    """Count the heavy hitters that `no_miss` does not name."""
    worst = min(result.rows, key=lambda row: float(row["recall_no_miss"]))
    heavy = sum(row["heavy"] for row in result.rows)
    missed = sum(round(row["heavy"] * (1 - row["recall_no_miss"])) for row in result.rows)
    plain = [float(row["recall"]) for row in result.rows]
    return Finding(
        worst["recall_no_miss"] == 1,
        f"{missed} of {heavy:,} missed; without `no_miss`, recall is {spread(plain)}",
        f"{_case(worst)}: recall {worst['recall_no_miss']:.3g} of {worst['heavy']} heavy hitters at phi {worst['phi']}",
    )


def wrong_names(result: StoredResult) -> Finding:
    """Compare what was named and is not heavy with phi less epsilon."""
    rows = _exact_engines(result)
    worst = min(rows, key=lambda row: float((row["smallest_wrong"] - row["phi"]) / row["epsilon"]))
    shares = [(row["phi"] - row["smallest_wrong"]) / row["epsilon"] for row in rows]
    below = sum(share > 1 + 1e-9 for share in shares)
    return Finding(
        not below,
        f"what is named and is not heavy came at most {max(shares):.2g} epsilon less than phi; precision is "
        f"{spread([float(row['precision']) for row in rows])}",
        f"in {below} of {len(rows)} cases, which happens to each light item with probability {DELTA:g} at most; "
        f"{_case(worst)}: {worst['smallest_wrong']:.3g} of the arrivals at phi {worst['phi']}",
    )
