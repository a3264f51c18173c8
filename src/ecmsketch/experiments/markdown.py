"""Tables and numbers as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Lines of a table; bars inside cells are kept from ending them."""
    lines = [[str(cell).replace("|", "\\|") for cell in row] for row in (head, ["---"] * len(head), *rows)]
    return [*("| " + " | ".join(line) + " |" for line in lines), ""]


def size(value: float) -> str:
    """Bytes as people read them."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value:.0f} B"


def short(value: Any) -> str:
    """A number with as many digits as matter; a dash for none."""
    if value is None or value == "":
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


def rate(value: float) -> str:
    """Events a second."""
    return f"{value / 1e6:.3g} M/s"
