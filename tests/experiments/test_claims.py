"""Every claim can fail: on a table that contradicts it, the verdict says so and gives a reason."""

from __future__ import annotations

import pytest

from ecmsketch.experiments.report.claims import CLAIMS, check_claims
from ecmsketch.experiments.results import StoredResult, read_results

MISSING = {"heaviest"}
"""Claims about an epsilon that small runs leave out."""


def when(change, **case):
    """A function that changes the rows of one case and leaves all others as they are."""
    return lambda row: row | change if all(row[name] == value for name, value in case.items()) else row


CONTRADICTIONS = {
    "below epsilon": when({"max_error": 0.9}, variant="eh", query="point"),
    "below epsilon, ours": when({"max_error": 0.9}, variant="slices", query="point"),
    "slices: average": when({"avg_error": 0.03}, variant="slices", epsilon=0.25, query="self-join"),
    "slices: maximum": when({"memory_bytes": 10**6}, variant="slices", epsilon=0.1, query="point"),
    "coarse slices: average": when({"avg_error": 0.013}, variant="slices 0.1", epsilon=0.1, query="point"),
    "coarse slices: maximum": when({"max_error": 0.9}, variant="slices 0.1", epsilon=0.25, query="point"),
    "sharper: average": when({"avg_error": 0.9}, variant="eh sharper", epsilon=0.1, query="self-join"),
    "sharper: maximum": when({"max_error": 0.9}, variant="eh sharper", epsilon=0.1, query="self-join"),
    "rw memory": when({"memory_bytes": 1}, variant="rw"),
    "dw memory": when({"memory_bytes": 1}, variant="dw reserved"),
    "megabytes": when({"memory_bytes": 10**6}, variant="eh"),
    "eh fastest": when({"updates_per_s": 1.0}, variant="eh", how="batches"),
    "ten times": when({"times_the_paper": 9.9}, variant="dw", how="batches"),
    "one by one": when({"times_the_paper": 0.9}, variant="eh", how="one call per event"),
    "slices: table 4": when({"avg_error": 0.0076}, variant="slices", query="point", epsilon=0.1, how="centralised"),
    "coarse slices: table 4": when({"network_bytes": 10**9}, variant="slices 0.1", query="point", how="n-way"),
    "sharper: table 4": when({"avg_error": 0.016}, variant="eh sharper", query="self-join", epsilon=0.1, how="n-way"),
    "small loss": when({"avg_error": 0.9}, variant="eh", how="binary tree"),
    "rw lossless": when({"avg_error": 1e-9}, variant="rw", how="binary tree"),
    "rw network": when({"network_bytes": 1}, variant="rw", how="binary tree"),
    "n-way": when({"promised": 9.0}, how="n-way"),
    "eh grows little": when({"avg_error": 0.9}, variant="eh", sites=8),
    "rw grows not": when({"avg_error": 0.9}, variant="rw", sites=8),
    "rw network by size": when({"network_bytes": 1}, variant="rw", sites=2),
    "underestimates": when({"worst_underestimate": 0.9}),
    "heaviest": lambda row: row | {"epsilon": 0.001, "heaviest_max_relative": 0.02},
    "interpolation": when({"avg_relative": 0.9}, estimator="interpolate"),
    "levels": when({"max_relative": 9.0}, levels=2),
    "no crossing missed": when({"missed": 1}, method="watching (mode auto)"),
    "fewer bytes": when({"bytes": 10**9}, method="watching (mode auto)"),
    "lazy union": when({"avg_error": 0.9}, how="lazy union"),
    "inner product": when({"error": 0.9}, engine="slices"),
    "inner product bounds": when({"covered": False}, engine="eh"),
    "count windows": when({"beyond_promise": 0.2}, engine="slices, resolution 0.1", epsilon=0.1),
    "count window bounds": when({"outside_bounds": 0.2}, engine="eh", epsilon=0.1),
    "no heavy hitter missed": when({"recall_no_miss": 0.9}, engine="slices"),
    "wrong heavy hitters": when({"smallest_wrong": 0.004}, engine="eh"),
    "quantiles": when({"beyond_promise": 0.2}, engine="eh"),
    "quantile bounds": when({"covered": 0.5}, engine="slices"),
    "range sums": when({"beyond_promise": 0.2}, engine="eh"),
    "range sum bounds": when({"covered": 0.5}, engine="slices"),
    "equal memory, all items": when({"all_items": 1e4}, sketch="slices"),
    "equal memory, heaviest": when({"heaviest": 1e4}, sketch="slices"),
    "every batch size": when({"updates_per_s": 1.0}, engine="slices, resolution 0.1", batch=1000),
    "flat memory": when({"memory_bytes": 10**7}, peer="ecmsketch slices, resolution 0.1", events=20_000),
    "DuckDB memory": when({"memory_bytes": 10}, peer="DuckDB, exact"),
    "DuckDB updates": when({"ns_per_event": 0.1}, peer="DuckDB, exact"),
    "DuckDB questions": when({"ask_us": 0.1}, peer="DuckDB, exact"),
}


def verdict_of(results, name):
    (verdict,) = [verdict for verdict in check_claims(results) if verdict.claim.name == name]
    return verdict


def test_every_claim_is_checked(out):
    checked = {verdict.claim.name for verdict in check_claims(read_results(out))}
    assert checked == {claim.name for claim in CLAIMS} - MISSING == set(CONTRADICTIONS) - MISSING


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_table_that_contradicts_a_claim_is_found_out_and_explained(out, name):
    (experiment,) = [claim.experiment for claim in CLAIMS if claim.name == name]
    (result,) = [result for result in read_results(out) if result.experiment == experiment]
    contradicted = StoredResult(result.manifest, [CONTRADICTIONS[name](row) for row in result.rows])
    verdict = verdict_of([contradicted], name)
    assert verdict.word == "does not hold"
    assert verdict.finding.why
    if name not in MISSING:
        assert verdict.finding.observed != verdict_of([result], name).finding.observed


def test_claims_that_need_no_luck_hold_on_any_stream(out):
    held = {verdict.claim.name for verdict in check_claims(read_results(out)) if verdict.finding.holds}
    assert held >= {"underestimates", "levels", "no crossing missed", "n-way", "megabytes"}
