"""The claims of the paper and ours beyond it, checked on result tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ecmsketch.experiments.report import beyond_checks, merging_checks, paper_checks, versus_checks
from ecmsketch.experiments.report.beyond_claims import BEYOND_CLAIMS
from ecmsketch.experiments.report.findings import Finding
from ecmsketch.experiments.results import StoredResult


class Claim(NamedTuple):
    """A sentence that the table of one experiment can prove wrong."""

    name: str
    text: str
    source: str
    """Where the paper says it, or "ours"."""
    experiment: str
    check: Callable[[StoredResult], Finding | None]
    """Returns None if the table has no rows for the claim."""


class Verdict(NamedTuple):
    """A claim, checked on one stream."""

    claim: Claim
    data: str
    label: str
    finding: Finding

    @property
    def word(self) -> str:
        return "holds" if self.finding.holds else "does not hold"


def check_claims(results: Iterable[StoredResult]) -> list[Verdict]:
    """Check every claim on every stream that has its table."""
    found = []
    for claim in CLAIMS:
        for result in results:
            if result.experiment == claim.experiment:
                finding = claim.check(result)
                if finding is not None:
                    found.append(Verdict(claim, result.data, result.label, finding))
    return found


CLAIMS = (
    Claim("below epsilon", "Average and maximum observed error are below epsilon, for all variants", "section 7.2",
          "figure4", paper_checks.below_epsilon),
    Claim("below epsilon, ours", "Average and maximum observed error of our variants are below epsilon", "ours",
          "figure4", paper_checks.ours_below_epsilon),
    Claim("slices: average", "Slices: at every epsilon the average errors are at most the paper's, in less memory",
          "ours", "figure4", versus_checks.figure4_errors("slices", "avg_error")),
    Claim("slices: maximum", "Slices: at every epsilon the maximum errors are at most the paper's, in less memory",
          "ours", "figure4", versus_checks.figure4_errors("slices", "max_error")),
    Claim("coarse slices: average", "Slices, resolution 0.1: average errors at most the paper's, in less memory",
          "ours", "figure4", versus_checks.figure4_errors("slices 0.1", "avg_error")),
    Claim("coarse slices: maximum", "Slices, resolution 0.1: maximum errors at most the paper's, in less memory",
          "ours", "figure4", versus_checks.figure4_errors("slices 0.1", "max_error")),
    Claim("sharper: average", "ECM-EH, sharper: average errors at most the paper's, in less memory",
          "ours", "figure4", versus_checks.figure4_errors("eh sharper", "avg_error")),
    Claim("sharper: maximum", "ECM-EH, sharper: maximum errors at most the paper's, in less memory",
          "ours", "figure4", versus_checks.figure4_errors("eh sharper", "max_error")),
    Claim("rw memory", "ECM-RW takes at least ten times the memory of ECM-EH", "section 7.2", "figure4",
          paper_checks.rw_memory),
    Claim("dw memory", "ECM-DW takes about twice the memory of ECM-EH", "section 7.2", "figure4",
          paper_checks.dw_memory),
    Claim("megabytes", "At epsilon 0.1 ECM-EH and ECM-DW take less than a megabyte", "section 7.2", "figure4",
          paper_checks.megabytes),
    Claim("eh fastest", "ECM-EH is the fastest variant", "table 3", "table3", paper_checks.eh_fastest),
    Claim("ten times", "In whole batches, updates are at least ten times as fast as the authors published", "ours",
          "table3", paper_checks.ten_times),
    Claim("one by one", "With one Python call per event, updates are as fast as the authors published", "ours",
          "table3", paper_checks.one_by_one),
    Claim("slices: table 4", "Slices: errors at most those in every cell of table 4, in fewer bytes", "ours", "table4",
          versus_checks.table4_errors("slices")),
    Claim("coarse slices: table 4", "Slices, resolution 0.1: errors at most those in every cell of table 4, in fewer "
          "bytes", "ours", "table4", versus_checks.table4_errors("slices 0.1")),
    Claim("sharper: table 4", "ECM-EH, sharper: errors at most those in every cell of table 4, in fewer bytes", "ours",
          "table4", versus_checks.table4_errors("eh sharper")),
    Claim("small loss", "Aggregating ECM-EH up a binary tree hardly adds error", "table 4", "table4",
          merging_checks.small_loss),
    Claim("rw lossless", "Aggregating ECM-RW loses nothing", "table 4", "table4", merging_checks.rw_lossless),
    Claim("rw network", "ECM-RW needs at least ten times the network of ECM-EH", "figure 5", "table4",
          merging_checks.rw_network),
    Claim("n-way", "An n-way merge sends less than the tree, and promises less error", "ours", "table4",
          beyond_checks.n_way),
    Claim("eh grows little", "From 1 to 256 sites the error of ECM-EH grows little", "figure 6", "figure6",
          merging_checks.eh_grows_little),
    Claim("rw grows not", "From 1 to 256 sites the error of ECM-RW does not grow", "figure 6", "figure6",
          merging_checks.rw_does_not_grow),
    Claim("rw network by size", "At every size ECM-RW needs at least ten times the network of ECM-EH", "figure 6",
          "figure6", merging_checks.rw_network),
    Claim("underestimates", "No item is underestimated by more than epsilon_sw of its count", "theorem 1", "heaviest",
          paper_checks.underestimates),
    Claim("heaviest", "At epsilon 0.001 the estimates of the ten heaviest items are within 1 % of their counts", "ours",
          "heaviest", beyond_checks.heaviest),
    Claim("interpolation", "Interpolating errs less than counting half a bucket", "ours", "estimators",
          beyond_checks.interpolation),
    Claim("levels", "After many levels of merging the error stays within the corrected bound", "ours", "levels",
          beyond_checks.levels_bounded),
    Claim("no crossing missed", "Watching misses no crossing of the threshold at any check", "ours", "monitoring",
          beyond_checks.no_crossing_missed),
    Claim("fewer bytes", "Watching sends at most a tenth of the bytes of packed events", "ours", "monitoring",
          beyond_checks.fewer_bytes),
    Claim("lazy union", "Keeping the sketches of all sites errs no more than merging them", "ours", "union",
          beyond_checks.lazy_union),
    *(Claim(*fields) for fields in BEYOND_CLAIMS),
)  # fmt: skip
