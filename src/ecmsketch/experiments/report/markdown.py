"""Tables and numbers as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """The lines of a table. Bars inside cells are escaped."""
    lines = [[str(cell).replace("|", "\\|") for cell in row] for row in (head, ["---"] * len(head), *rows)]
    return [*("| " + " | ".join(line) + " |" for line in lines), ""]


def byte_size(value: float) -> str:
    """A number of bytes, with three digits and a unit."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value:.0f} B"


def short_number(value: Any) -> str:
    """A number with as many digits as matter; a dash if there is none."""
    if value is None or value == "":
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


def event_rate(value: float) -> str:
    """Events per second, in millions."""
    return f"{value / 1e6:.3g} M/s"
