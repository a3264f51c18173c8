"""Rows of figure 4 over all ranges together, as the paper plots them."""

from __future__ import annotations

from ecmsketch.experiments.paper.accuracy import Observed, overall
from ecmsketch.experiments.spec import Row

_CASE = ("counter", "reserved", "query", "epsilon", "estimator")


def over_ranges(rows: list[Row]) -> list[Row]:
    """One row for each sketch and estimator, over the queries of all ranges; every query counts once."""
    cases: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        cases.setdefault(tuple(row[name] for name in _CASE), []).append(row)
    return [_together(parts) for parts in cases.values()]


def _together(parts: list[Row]) -> Row:
    found = overall([Observed(row["queries"], row["avg_error"], row["max_error"]) for row in parts])
    return parts[0] | {"queries": found.queries, "avg_error": found.average, "max_error": found.worst, "range_s": "all"}
