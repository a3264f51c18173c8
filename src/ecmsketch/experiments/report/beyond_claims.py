"""The claims about experiments beyond the paper: name, text, source, experiment and check of each."""

from __future__ import annotations

from collections.abc import Callable

from ecmsketch.experiments.report import cost_checks, question_checks
from ecmsketch.experiments.report.findings import Finding
from ecmsketch.experiments.results import StoredResult

Fields = tuple[str, str, str, str, Callable[[StoredResult], Finding | None]]

BEYOND_CLAIMS: tuple[Fields, ...] = (
    ("inner product", "The inner product of two streams errs at most epsilon of the product of their arrivals, with "
     "probability 1 - delta", "section 5", "inner_product", question_checks.inner_product),
    ("inner product bounds", "The bounds of an inner product hold with probability 1 - delta", "ours",
     "inner_product", question_checks.answers_bounded),
    ("count windows", "In windows of the last arrivals, a count errs at most epsilon, with probability 1 - delta",
     "section 3", "count_windows", question_checks.point_errors),
    ("count window bounds", "In windows of the last arrivals, the bounds of a count hold with probability 1 - delta",
     "ours", "count_windows", question_checks.counts_bounded),
    ("no heavy hitter missed", "With no_miss, every heavy hitter of every range is named", "ours", "heavy_hitters",
     question_checks.none_missed),
    ("wrong heavy hitters", "No item that came less than phi - epsilon of the arrivals is named", "section 6.1",
     "heavy_hitters", question_checks.wrong_names),
    ("quantiles", "The rank of a quantile errs at most epsilon of the arrivals, with probability 1 - delta",
     "section 6.1", "quantiles", question_checks.point_errors),
    ("quantile bounds", "The bounds of a quantile hold with probability 1 - delta", "ours", "quantiles",
     question_checks.answers_bounded),
    ("range sums", "A range sum errs at most epsilon of the arrivals, with probability 1 - delta", "section 6.1",
     "range_sums", question_checks.point_errors),
    ("range sum bounds", "The bounds of a range sum hold with probability 1 - delta", "ours", "range_sums",
     question_checks.answers_bounded),
    ("equal memory, all items", "In the same memory, slices err less than the sketches of 2020 to 2023, over all items",
     "ours", "equal_memory", cost_checks.equal_memory_all),
    ("equal memory, heaviest", "In the same memory, slices err less than the sketches of 2020 to 2023, over the "
     "heaviest 100 items", "ours", "equal_memory", cost_checks.equal_memory_heaviest),
    ("every batch size", "Slices at resolution 0.1 are faster than exponential histograms at every epsilon and batch "
     "size", "ours", "batch_sizes", cost_checks.every_batch_size),
    ("flat memory", "Memory grows by less than the square root of the events in the window", "ours", "peers",
     cost_checks.flat_memory),
    ("DuckDB memory", "DuckDB's exact windows take at least ten times the memory of slices at resolution 0.1",
     "ours", "peers", cost_checks.duckdb_memory),
    ("DuckDB updates", "DuckDB takes at least twice the time of slices at resolution 0.1 for an update",
     "ours", "peers", cost_checks.duckdb_updates),
    ("DuckDB questions", "DuckDB takes at least ten times the time of slices at resolution 0.1 for a question",
     "ours", "peers", cost_checks.duckdb_questions),
)  # fmt: skip
