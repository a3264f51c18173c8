"""Which column of a log is the item, the tick, the site and the weight."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ecmsketch.config import SketchConfig
from ecmsketch.errors import InputError


class Roles(NamedTuple):
    """Which column has which role, and what the sketches need of the items."""

    items: list[str]
    tick: str
    site: str | None
    weight: str | None
    unit: str | None
    names: bool
    """Whether the names of items are needed, not only their hashes."""
    numbers: bool = False
    """Whether items must be numbers, for PrefixSketches."""
    kind: str = ""
    """The kind of the items (kinds.py) in the first file, and so in all files. Empty if any kind will do."""

    def all(self) -> list[str]:
        """The columns to read, each once."""
        return list(dict.fromkeys([*self.items, self.tick, *filter(None, (self.site, self.weight))]))

    def named(self) -> dict[str, str | None]:
        """The column of every role, by the role's name."""
        return {f"item {name}": name for name in self.items} | {
            "tick": self.tick, "site": self.site, "weight": self.weight
        }  # fmt: skip


def make_roles(
    config: SketchConfig,
    item: str | Sequence[str],
    tick: str,
    site: str | None = None,
    weight: str | None = None,
    bits: int | None = None,
) -> Roles:
    """The roles of a build's columns. A PrefixSketch (`bits`) has one column of items."""
    items = item_names(item)
    if bits is not None and len(items) > 1:
        raise InputError(f"item: a PrefixSketch counts the numbers of one column, got {', '.join(items)}; name one")
    return Roles(items, tick, site, weight, config.unit, config.heavy_hitters, bits is not None)


def item_names(item: str | Sequence[str]) -> list[str]:
    """The names of the item's columns, of which there is at least one."""
    items = [item] if isinstance(item, str) else list(item)
    if not items:
        raise InputError("item: expected the name of a column, or several, got none; name at least one")
    return items


def check_columns(have: Iterable[str], wanted: dict[str, str | None]) -> None:
    """Raise an error that names the first column that is missing."""
    known = set(have)
    for role, name in wanted.items():
        if name is not None and name not in known:
            raise InputError(f"{role}: there is no column {name!r}; the columns are {', '.join(sorted(known))}")
