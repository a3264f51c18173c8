"""Time works and print their results."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple


class Row(NamedTuple):
    """One result. `met` is None if there is no target."""

    name: str
    value: str
    target: str = ""
    met: bool | None = None


def show(title: str, rows: list[Row]) -> None:
    """Print a section of results."""
    print(f"\n## {title}\n")
    width = max(len(row.name) for row in rows)
    for row in rows:
        verdict = {None: "", True: "  ok", False: "  MISSED"}[row.met]
        target = f"   (target {row.target})" if row.target else ""
        print(f"  {row.name:<{width}}  {row.value}{target}{verdict}", flush=True)


def best_seconds(*works: Callable[[], object], rounds: int = 5) -> list[float]:
    """The shortest time of each work. Works take turns, so that a noisy machine slows all of them alike."""
    best = [float("inf")] * len(works)
    for work in works:
        work()
    for _ in range(rounds):
        for i, work in enumerate(works):
            begin = time.perf_counter()
            work()
            best[i] = min(best[i], time.perf_counter() - begin)
    return best
