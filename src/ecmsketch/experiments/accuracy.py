"""How wrong a sketch is: the paper's observed errors, relative to all arrivals in the range (section 7.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ecmsketch.budget import carried_epsilon
from ecmsketch.experiments.truth import Truth
from ecmsketch.sketch import EcmSketch


class Observed(NamedTuple):
    """Errors of some queries: how many were asked, their average error, and the worst."""

    queries: int
    average: float
    worst: float


def observe(sketch: EcmSketch, truth: Truth, query: str) -> Observed:
    """One range: a point query for each distinct item in it, or one self-join."""
    if query == "point":
        answers = sketch.estimate_many(truth.items, last=truth.last).value
        errors = np.abs(answers - truth.counts) / truth.total
        return Observed(len(errors), float(errors.mean()), float(errors.max()))
    answer = sketch.self_join(last=truth.last, unproven=True).value
    error = abs(answer - truth.self_join) / truth.total**2
    return Observed(1, error, error)


def overall(parts: list[Observed]) -> Observed:
    """All ranges together; every query counts once."""
    queries = sum(part.queries for part in parts)
    average = sum(part.average * part.queries for part in parts) / queries
    return Observed(queries, average, max(part.worst for part in parts))


def observe_all(sketch: EcmSketch, truths: list[Truth], query: str) -> Observed:
    """All ranges of a stream together."""
    return overall([observe(sketch, truth, query) for truth in truths])


def total_bias(sketch: EcmSketch, truths: list[Truth]) -> float:
    """By how much the sketch's totals are above the true ones, on average over the ranges; below is negative."""
    return float(np.mean([sketch.total(last=truth.last).value / truth.total - 1 for truth in truths]))


def promised(sketch: EcmSketch, query: str) -> float:
    """What theorems 1 and 2 allow the error to be, after the merging the sketch has been through."""
    if query == "point":
        return sketch.epsilon
    window = carried_epsilon(sketch.config.epsilon_sw, sketch.merge_levels)
    return window**2 + 2 * window + sketch.config.epsilon_cm * (1 + window) ** 2
