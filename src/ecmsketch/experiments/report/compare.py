"""Compare a fresh run with the one that the repository keeps, number by number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import isclose
from typing import Any, NamedTuple

from ecmsketch.experiments.results import StoredResult

TOLERANCE = 1e-9
"""Relative: seeds are fixed, so errors and bytes differ at most by how a machine rounds sums of floats."""
NOT_COMPARED = re.compile(r"^version$|^seconds$|^times_|^ns_|^us_|_per_s$|_(s|ms|us|ns)$")
"""Columns that depend on the machine: speeds, times, versions of peers."""
COMPARED_AFTER_ALL = ("range_s",)
"""Lengths of ranges: seconds of the stream, not of the machine."""
DIFFERENT_EVERY_TIME = {("peers", "memory_bytes"), ("batch_sizes", "events"), ("batch_sizes", "memory_bytes")}
"""The memory of peers is what the process grows by, and sketches of `batch_sizes` are fed for so many seconds."""


class Difference(NamedTuple):
    """A number that differs, or a result or rows that only one of two runs has."""

    experiment: str
    data: str
    row: str
    column: str
    kept: Any
    fresh: Any


def compare_results(fresh: Iterable[StoredResult], kept: Iterable[StoredResult]) -> list[Difference]:
    """All differences beyond the tolerance. Kept results of real data may be missing: not everyone has the data."""
    mine = {(result.experiment, result.data): result for result in fresh}
    found: list[Difference] = []
    for theirs in kept:
        ours = mine.get((theirs.experiment, theirs.data))
        if ours is not None:
            found += _differences(ours, theirs)
        elif theirs.label != "real":
            found.append(Difference(theirs.experiment, theirs.data, "all", "", f"{len(theirs.rows)} rows", "not run"))
    return found


def _differences(ours: StoredResult, theirs: StoredResult) -> Iterator[Difference]:
    """Only runs of the same size can be compared: other parameters or events are a difference themselves."""
    here = (ours.experiment, ours.data)
    for name in ("parameters", "events", "seed", "seeds"):
        kept, fresh = theirs.manifest["key"][name], ours.manifest["key"][name]
        if kept != fresh:
            yield Difference(*here, "all", name, kept, fresh)
            return
    if len(theirs.rows) != len(ours.rows):
        yield Difference(*here, "all", "", f"{len(theirs.rows)} rows", f"{len(ours.rows)} rows")
        return
    for old, new in zip(theirs.rows, ours.rows, strict=True):
        for name, value in old.items():
            if is_compared(ours.experiment, name) and not _equal(value, new.get(name)):
                yield Difference(*here, _words(old), name, value, new.get(name))


def is_compared(experiment: str, column: str) -> bool:
    """Whether a column must have the same values on every machine."""
    if column in COMPARED_AFTER_ALL:
        return True
    return NOT_COMPARED.search(column) is None and (experiment, column) not in DIFFERENT_EVERY_TIME


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE**2)
    return bool(one == other)


def _words(row: dict[str, Any]) -> str:
    """What tells a row from others: its texts, and its first numbers."""
    cells = [f"{name} {value}" for name, value in row.items() if not isinstance(value, float)]
    return ", ".join(cells[:6])
