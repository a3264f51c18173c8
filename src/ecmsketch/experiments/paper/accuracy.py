"""The paper's observed errors, relative to all arrivals in the range (section 7.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config.budget import carried_epsilon
from ecmsketch.experiments.data.exact_counts import Truth
from ecmsketch.inputs.items import hash_items
from ecmsketch.inputs.row_hashes import cells_of
from ecmsketch.sketch import EcmSketch


class Observed(NamedTuple):
    """The errors of a set of queries: their number, their average and the worst."""

    queries: int
    average: float
    worst: float


def observe(sketch: EcmSketch, truth: Truth, query: str) -> Observed:
    """The errors in one range: of a point query for each distinct item, or of one self-join.

    Answers are the paper's: the least cell, and the least row. `EcmSketch` answers with smaller errors than these.
    """
    if query == "point":
        return observe_points(least_cells(sketch, truth), truth)
    answer = float((sketch.table(last=truth.last).value ** 2).sum(axis=1).min())
    error = abs(answer - truth.self_join) / truth.total**2
    return Observed(1, error, error)


def least_cells(sketch: EcmSketch, truth: Truth) -> NDArray[np.float64]:
    """The paper's point queries: the least cell of each distinct item of a range."""
    cells = cells_of(hash_items(truth.items), sketch.config.row_hashes())
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


def observe_all(sketch: EcmSketch, truths: list[Truth], query: str) -> Observed:
    """The errors in all ranges of a stream together."""
    return overall([observe(sketch, truth, query) for truth in truths])


def total_bias(sketch: EcmSketch, truths: list[Truth]) -> float:
    """The average relative error of the sketch's totals over the ranges; negative if they are too low."""
    return float(np.mean([sketch.total(last=truth.last).value / truth.total - 1 for truth in truths]))


def promised(sketch: EcmSketch, query: str) -> float:
    """The error bound of theorems 1 and 2 as published, after all merging that the sketch has been through.

    `sketch.epsilon` is sharper: the published bound adds up errors that cannot meet (docs/guarantees.md).
    """
    window = carried_epsilon(sketch.config.epsilon_sw, sketch.merge_levels)
    factors = 1 if query == "point" else 2
    return float((1 + window) ** factors * (1 + sketch.config.epsilon_cm) - 1)
