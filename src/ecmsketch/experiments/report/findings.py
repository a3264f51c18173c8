"""What a result table shows about a claim, and the ratios that most claims are about."""

from __future__ import annotations

from typing import NamedTuple

from ecmsketch.experiments.spec import Row

BUG = "this bound holds with certainty, so breaking it is a bug in this software"


class Finding(NamedTuple):
    """What a table shows about a claim. `why` explains a claim that does not hold."""

    holds: bool
    observed: str
    why: str


def spread(values: list[float]) -> str:
    """The smallest and the largest value, in words."""
    return f"{min(values):.3g} to {max(values):.3g}" if max(values) > min(values) else f"{values[0]:.3g}"


def ratios(rows: list[Row], other: list[Row], column: str, by: tuple[str, ...]) -> list[float]:
    """Every row's value divided by that of the row of `other` with equal `by` columns, where there is one.

    Rows of several seeds are compared with those of the same seed.
    """
    by = ("seed", *by) if rows and "seed" in rows[0] else by
    known = {tuple(row[name] for name in by): row[column] for row in other}
    pairs = [(row[column], known.get(tuple(row[name] for name in by))) for row in rows]
    return [mine / theirs for mine, theirs in pairs if theirs]


def judge_ratios(found: list[float], limits: tuple[float, float], of_what: str, why: str) -> Finding | None:
    """A finding that holds if all ratios are within the limits; None if there are no ratios."""
    if not found:
        return None
    return Finding(limits[0] <= min(found) and max(found) <= limits[1], f"{spread(found)} times {of_what}", why)
