"""The claim that ours is better: no larger errors than the paper's, in less memory or with fewer bytes sent.

The bar is what the paper prints, and what the paper's ECM-EH gives on the same stream; the lower of the two counts.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import NamedTuple

from ecmsketch.experiments.paper import published
from ecmsketch.experiments.report.findings import Finding, spread
from ecmsketch.experiments.report.looks import label_of
from ecmsketch.experiments.report.markdown import byte_size
from ecmsketch.experiments.results import StoredResult
from ecmsketch.experiments.spec import Row

PRINTED_DIGITS = 3
"""The paper prints errors with three decimals, so ours are rounded likewise before they are compared with them."""


class _Cell(NamedTuple):
    """One comparison: means over seeds of an error and of a size, ours and the paper's."""

    name: str
    ours: float
    theirs: float
    printed: float | None
    size: float
    their_size: float
    own: float
    """The error of our counters without collisions."""

    @property
    def errs_more(self) -> bool:
        rounded = round(self.ours, PRINTED_DIGITS)
        return self.ours > self.theirs or (self.printed is not None and rounded > self.printed)

    @property
    def is_larger(self) -> bool:
        return self.size >= self.their_size


def figure4_errors(variant: str, column: str) -> Callable[[StoredResult], Finding | None]:
    """Compare a variant's average or maximum error with the paper's, at every epsilon and for both queries."""

    def check(result: StoredResult) -> Finding | None:
        cells = []
        for query, epsilon in _cases(result.rows):
            ours, theirs = (result.where(variant=name, query=query, epsilon=epsilon) for name in (variant, "eh"))
            loss = published.loss(result.data, epsilon, "eh", query) if column == "avg_error" else None
            printed = loss and loss.centralised
            cells += _cell(f"{query}, epsilon {epsilon}", ours, theirs, column, "memory_bytes", printed)
        return _judge(cells, variant, "memory")

    return check


def table4_errors(variant: str) -> Callable[[StoredResult], Finding | None]:
    """Compare a variant's errors in one place and merged with every cell of table 4, ECM-RW's included."""

    def check(result: StoredResult) -> Finding | None:
        cells = []
        for query, epsilon in _cases(result.rows):
            if epsilon not in (0.1, 0.2):
                continue
            losses = [published.loss(result.data, epsilon, counter, query) for counter in ("eh", "rw")]
            for how, their_how in (("centralised", "centralised"), ("n-way", "binary tree")):
                numbers = [loss.centralised if how == "centralised" else loss.distributed for loss in losses if loss]
                printed = min((number for number in numbers if number is not None), default=None)
                case = {"query": query, "epsilon": epsilon}
                ours = result.where(variant=variant, how=how, **case)
                theirs = result.where(variant="eh", how=their_how, **case)
                size = "memory_bytes" if how == "centralised" else "network_bytes"
                cells += _cell(f"{query}, epsilon {epsilon}, {how}", ours, theirs, "avg_error", size, printed)
        return _judge(cells, variant, "memory or network")

    return check


def _cases(rows: list[Row]) -> list[tuple[str, float]]:
    return list(dict.fromkeys((row["query"], row["epsilon"]) for row in rows))


def _cell(name: str, ours: list[Row], theirs: list[Row], column: str, size: str, printed: float | None) -> list[_Cell]:
    if not ours or not theirs:
        return []
    means = [fmean(row[column] for row in rows) for rows in (ours, theirs)]
    sizes = [fmean(row[size] for row in rows) for rows in (ours, theirs)]
    own = fmean(row["counter_error"] for row in ours)
    return [_Cell(name, means[0], means[1], printed, sizes[0], sizes[1], own)]


def _judge(cells: list[_Cell], variant: str, size: str) -> Finding | None:
    if not cells:
        return None
    errors, sizes = [cell.ours / cell.theirs for cell in cells if cell.theirs], [c.size / c.their_size for c in cells]
    bad = [cell for cell in cells if cell.errs_more or cell.is_larger]
    printed = sum(cell.printed is not None for cell in cells)
    compared = f"; {printed} of {len(cells)} cells are also compared with what the paper prints" if printed else ""
    return Finding(
        not bad,
        f"{label_of(variant)}: {spread(errors)} of the error of the paper's ECM-EH in {spread(sizes)} of its {size}"
        f"{compared}",
        f"{len(bad)} of {len(cells)} cells fail{'s' * (len(bad) == 1)}. " + "; ".join(_reason(cell) for cell in bad),
    )


def _reason(cell: _Cell) -> str:
    parts = []
    if cell.errs_more:
        bar = cell.theirs if cell.printed is None else min(cell.theirs, cell.printed)
        parts.append(
            f"error {cell.ours:.3g} where the paper's is {bar:.3g}, in {cell.size / cell.their_size:.2f} of the bytes; "
            f"our counters without collisions err by {cell.own:.2g} on average, the rest is collisions"
        )
    if cell.is_larger:
        parts.append(f"{byte_size(cell.size)} where the paper's takes {byte_size(cell.their_size)}")
    return f"{cell.name}: {' and '.join(parts)}"
