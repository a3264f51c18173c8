"""How sure bounds are: the `confidence=` of a question, and what lists need for it."""

from __future__ import annotations

from typing import Any

from ecmsketch.config import SketchConfig
from ecmsketch.errors import QueryError
from ecmsketch.inputs.integers import is_number


def delta_of(config: SketchConfig, confidence: Any) -> float:
    """The probability with which bounds may fail. 0 means that only bounds that always hold are wanted."""
    if confidence is None:
        return 1 - config.confidence
    if not is_number(confidence) or not 0 < confidence <= 1:
        raise QueryError(f"confidence: expected a number above 0 and at most 1, got {confidence!r}")
    if config.counter != "rw":
        return 1 - float(confidence)
    if confidence > config.confidence:
        raise QueryError(
            f"confidence: with counter='rw' expected at most {config.confidence:.6g}, which its waves were built for, "
            f"got {confidence!r}; build the sketch with a smaller delta"
        )
    return 1 - config.confidence


def delta_of_listed(delta: float, listed: int, candidates: int) -> float:
    """How rarely the bound of one item must fail, so that a share `delta` of a list fails (Benjamini, Yekutieli 2005).

    Items with much luck are more likely to be listed. Of the candidates each fails with this probability, so of all of
    them delta * listed fail on average, which is a share `delta` of the list even if all of those are listed.
    """
    return delta * listed / candidates if candidates else delta
