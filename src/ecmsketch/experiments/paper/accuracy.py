"""The paper's observed errors, relative to all arrivals in the range (section 7.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config.budget import carried_epsilon
from ecmsketch.experiments.data.exact_counts import Truth
from ecmsketch.experiments.paper.variants import Variant, read_with
from ecmsketch.experiments.spec import Row
from ecmsketch.inputs.items import hash_items
from ecmsketch.kernels.hashing import cells_of
from ecmsketch.sketch import EcmSketch


class Observed(NamedTuple):
    """The errors of a set of queries: their number, their average and the worst."""

    queries: int
    average: float
    worst: float


def observe(sketch: EcmSketch, truth: Truth, query: str, today: bool = False) -> Observed:
    """The errors in one range: of a point query for each distinct item, or of one self-join.

    Answers are the paper's: the least cell, and the least row. With `today` they are those of the library.
    """
    if query == "point":
        answers = sketch.estimate_many(truth.items, last=truth.last).value if today else least_cells(sketch, truth)
        return observe_points(answers, truth)
    answer = sketch.self_join(last=truth.last).value if today else _least_row(sketch.table(last=truth.last).value)
    error = abs(answer - truth.self_join) / truth.total**2
    return Observed(1, error, error)


def counter_error(sketch: EcmSketch, truth: Truth, query: str, today: bool = False) -> float:
    """The part of the error in one range that is the window counters' own: what is left if nothing collides.

    Every cell is compared with the exact number of arrivals that were hashed to it, collisions included. For point
    queries this is the average over the items' least cells, for self-joins the change of the answer.
    """
    cells = cells_of(hash_items(truth.items), sketch.config.rows)
    counts = np.broadcast_to(truth.counts, cells.shape)
    exact: NDArray[np.float64] = np.bincount(cells.ravel(), counts.ravel(), sketch.config.cells).astype(np.float64)
    read = sketch.table(last=truth.last).value
    if query == "point":
        mine = read.ravel()[cells]
        least = np.take_along_axis(cells, mine.argmin(axis=0)[None], axis=0)[0]
        return float(np.abs(read.ravel()[least] - exact[least]).mean() / truth.total)
    answer = _median_row if today else _least_row
    return abs(answer(read) - answer(exact.reshape(read.shape))) / truth.total**2


def _least_row(table: NDArray[np.float64]) -> float:
    return float((table**2).sum(axis=1).min())


def _median_row(table: NDArray[np.float64]) -> float:
    """The median of rows from which expected collisions are subtracted (docs/guarantees.md, "Unbiased rows")."""
    width = table.shape[1]
    centred = table - table.mean(axis=1, keepdims=True)
    return float(np.median((centred**2).sum(axis=1)) * width / (width - 1))


def least_cells(sketch: EcmSketch, truth: Truth) -> NDArray[np.float64]:
    """The paper's point queries: the least cell of each distinct item of a range."""
    cells = cells_of(hash_items(truth.items), sketch.config.rows)
    read = sketch.read_cells(cells.ravel(), last=truth.last).value
    return np.asarray(read.reshape(cells.shape).min(axis=0))


def observe_points(answers: NDArray[np.float64], truth: Truth) -> Observed:
    """The errors of given answers, one per distinct item of a range."""
    errors = np.abs(answers - truth.counts) / truth.total
    return Observed(len(errors), float(errors.mean()), float(errors.max()))


def overall(parts: list[Observed]) -> Observed:
    """All ranges together, where every query counts once."""
    queries = sum(part.queries for part in parts)
    average = sum(part.average * part.queries for part in parts) / queries
    return Observed(queries, average, max(part.worst for part in parts))


def observed_columns(sketch: EcmSketch, variant: Variant, truths: list[Truth]) -> Row:
    """What a sketch's answers are like over all ranges together, where every query counts once; and its memory."""
    today = not variant.published
    read = read_with(sketch, variant.reader)
    found = overall([observe(read, truth, variant.query, today) for truth in truths])
    weights = [len(truth.items) if variant.query == "point" else 1 for truth in truths]
    alone = np.average([counter_error(read, truth, variant.query, today) for truth in truths], weights=weights)
    return {
        "variant": variant.name, "counter": variant.counter, "query": variant.query,
        "epsilon": sketch.config.epsilon, "estimator": variant.reader, "queries": found.queries,
        "avg_error": _short(found.average), "max_error": _short(found.worst), "counter_error": _short(float(alone)),
        "promised": _promise(sketch, variant),
        "memory_bytes": sketch.nbytes,
    }  # fmt: skip


OBSERVED_COLUMNS = (
    "variant", "counter", "query", "epsilon", "estimator", "queries", "avg_error", "max_error", "counter_error",
    "promised", "memory_bytes",
)  # fmt: skip


def _promise(sketch: EcmSketch, variant: Variant) -> float | str:
    """As published, or (ours) as the library says; it has no number for the self-join of a merged sketch."""
    if variant.published:
        return _short(promised(sketch, variant.query))
    return _short(sketch.epsilon) if variant.query == "point" else ""


def _short(value: float) -> float:
    """Six digits: more than luck leaves, and a short CSV."""
    return float(f"{value:.6g}")


def total_bias(sketch: EcmSketch, truths: list[Truth]) -> float:
    """The average relative error of the sketch's totals over the ranges; negative if they are too low."""
    return _short(float(np.mean([sketch.total(last=truth.last).value / truth.total - 1 for truth in truths])))


def promised(sketch: EcmSketch, query: str) -> float:
    """The error bound of theorems 1 and 2 as published, after all merging that the sketch has been through.

    `sketch.epsilon` is sharper: the published bound adds up errors that cannot meet (docs/guarantees.md).
    """
    window = carried_epsilon(sketch.config.epsilon_sw, sketch.merge_levels)
    factors = 1 if query == "point" else 2
    return float((1 + window) ** factors * (1 + sketch.config.epsilon_cm) - 1)
