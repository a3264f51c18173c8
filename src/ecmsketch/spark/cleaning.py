"""Which rows can be counted: one rule for batches, files, streams and monitors.

What a sketch, the store or the monitor would refuse is rejected here and counted by reason, under its site where that
is known, so that a bad row never stops a query. The limits are those of the parts behind: ticks from -2**61 to 2**62
and 2**53 arrivals (what is counted exactly), names of 1 to 1024 bytes (what the monitor's messages hold).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ecmsketch.engines.contract import MAX_ARRIVALS
from ecmsketch.errors import EcmError
from ecmsketch.inputs.ticks import MAX_TICK, MIN_TICK
from ecmsketch.monitor.wire import MAX_NAME
from ecmsketch.spark.recipe import Recipe

Ints = NDArray[np.int64]
Reasons = dict[str, int]

TOO_FAR_AHEAD = "tick too far ahead"
REFUSED = "refused by the sketch"
"""What a sketch itself refuses: in practice, weights that make more than 2**53 arrivals in all."""
_MOST_REFUSED = 100
"""How many rows of a batch are refused one by one. After that, blocks of rows are refused whole."""


class Events(NamedTuple):
    """Some events as Arrow columns. Without `sites` there is one site; without `weights` every weight is one."""

    items: Any
    """One column, or a dict of several whose rows are items."""
    ticks: Any
    sites: Any = None
    weights: Any = None
    malformed: int = 0
    """How many rows could not be read at all."""


class Rows(NamedTuple):
    """Events that can be counted: integers as numpy arrays, texts as Arrow columns; several item columns as a dict."""

    items: Any
    ticks: Ints
    weights: Ints | None

    def each(self, change: Callable[[Any], Any]) -> Rows:
        """Apply a change to every column."""
        items = self.items
        changed = {name: change(column) for name, column in items.items()} if isinstance(items, dict) else change(items)
        return Rows(changed, change(self.ticks), None if self.weights is None else change(self.weights))

    def part(self, begin: int, end: int) -> Rows:
        """Some consecutive rows."""
        return self.each(lambda column: column[begin:end])

    @property
    def nbytes(self) -> int:
        """Memory of all columns."""
        items = self.items.values() if isinstance(self.items, dict) else [self.items]
        columns = (*items, self.ticks, self.weights)
        return sum(int(column.nbytes) for column in columns if column is not None)

    def arrival_ticks(self) -> Ints:
        """The ticks of rows that stand for an arrival: a weight of zero moves no clock."""
        return self.ticks if self.weights is None or self.weights.all() else self.ticks[self.weights > 0]


def add_reasons(reasons: Reasons, more: Reasons) -> None:
    """Add up why rows were rejected."""
    for reason, count in more.items():
        if count:
            reasons[reason] = reasons.get(reason, 0) + count


def clean(events: Events, recipe: Recipe) -> tuple[Events, dict[Any, Reasons]]:
    """The rows that can be counted, and why others cannot: reasons by site, None for an unknown site."""
    rejected: dict[Any, Reasons] = {}
    if events.malformed:
        rejected[None] = {"malformed row": events.malformed}
    keep: Any = None
    for reason, bad in _problems(events, recipe):
        if keep is not None:
            bad = pc.and_(bad, keep)
        if not pc.any(bad).as_py():
            continue
        for site, count in _by_site(events.sites, bad, reason).items():
            add_reasons(rejected.setdefault(site, {}), {reason: count})
        keep = pc.invert(bad) if keep is None else pc.and_(keep, pc.invert(bad))
    kept = events if keep is None else _filter(events, keep)
    if kept.sites is not None and _is_binary(kept.sites.type):
        kept = kept._replace(sites=kept.sites.cast(pa.large_string()))
    return kept, rejected


def feed(count: Callable[[Rows], Any], rows: Rows) -> Reasons:
    """Count rows; those that the sketch refuses are left out, and counted in what is returned.

    A sketch that refuses a batch has counted none of it. So a refused batch is cut in two, and again, until the rows
    at fault are left.
    """
    refused = 0
    waiting = [rows]
    while waiting:
        part = waiting.pop()
        try:
            count(part)
        except EcmError:
            size = len(part.ticks)
            if size > 1 and refused < _MOST_REFUSED:
                waiting += [part.part(size // 2, size), part.part(0, size // 2)]
            else:
                refused += size
    return {REFUSED: refused} if refused else {}


def _problems(events: Events, recipe: Recipe) -> Iterator[tuple[str, Any]]:
    """Reasons to reject rows, each with which rows; only those that occur are computed."""
    if not len(events.ticks):
        return
    if events.sites is not None:
        yield from _site_problems(events.sites)
    yield from _item_problems(events.items, recipe.bits)
    for name, column in (("tick", events.ticks), ("weight", events.weights)):
        if column is not None and column.null_count:
            yield f"null {name}", column.is_null()
    yield from _outside(events.ticks, MIN_TICK, MAX_TICK, "tick out of range", "tick out of range")
    if recipe.until is not None:
        yield from _outside(events.ticks, None, recipe.until, "", "tick in the future")
    if recipe.horizon is not None:
        yield from _outside(events.ticks, None, recipe.horizon, "", TOO_FAR_AHEAD)
    if events.weights is not None:
        yield from _outside(events.weights, 0, MAX_ARRIVALS, "negative weight", "weight above 2**53")


def _site_problems(sites: Any) -> Iterator[tuple[str, Any]]:
    """Reasons to reject rows for their site. Such rows have no known site."""
    if sites.null_count:
        yield "null site", sites.is_null()
    if pa.types.is_integer(sites.type):
        return
    yield from _outside(pc.binary_length(sites), 1, MAX_NAME, "empty site", f"site name over {MAX_NAME} bytes")
    yield from not_utf8(sites, "site")


def _item_problems(items: Any, bits: int | None) -> Iterator[tuple[str, Any]]:
    for column in items.values() if isinstance(items, dict) else [items]:
        if column.null_count:
            yield "null item", column.is_null()
        if _is_text(column.type):
            yield from not_utf8(column, "item")
    if bits is not None:
        outside = "item outside the domain"
        yield from _outside(items, 0, (1 << min(bits, 63)) - 1, outside, outside)


def _outside(column: Any, low: int | None, high: int, below: str, above: str) -> Iterator[tuple[str, Any]]:
    """Rows of a column of integers that are below or above limits; nulls are neither."""
    found = pc.min_max(column).as_py()
    if found["min"] is None:
        return
    if low is not None and found["min"] < low:
        yield below, pc.fill_null(pc.less(column, pa.scalar(low, column.type)), False)
    if found["max"] > high:
        yield above, pc.fill_null(pc.greater(column, pa.scalar(high, column.type)), False)


def not_utf8(column: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Rows whose bytes are not UTF-8: Spark and Parquet let them through, and names cannot be read."""
    try:
        if _is_text(column.type):
            column.validate(full=True)
        else:
            column.cast(pa.large_string())
    except pa.ArrowInvalid:
        raw = column.cast(pa.large_binary()).to_pylist()
        bad = [value is not None and not _is_utf8(value) for value in raw]
        yield f"{name} is not UTF-8", pa.array(bad, pa.bool_())


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_binary(kind: Any) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _by_site(sites: Any, bad: Any, reason: str) -> Counter[Any]:
    if sites is None:
        return Counter({"all": pc.sum(bad).as_py()})
    if "site" in reason:
        return Counter({None: pc.sum(bad).as_py()})
    names = sites.filter(bad)
    return Counter((names.cast(pa.large_string()) if _is_binary(names.type) else names).to_pylist())


def _filter(events: Events, keep: Any) -> Events:
    def kept(column: Any) -> Any:
        if isinstance(column, dict):
            return {name: part.filter(keep) for name, part in column.items()}
        return None if column is None else column.filter(keep)

    return Events(kept(events.items), kept(events.ticks), kept(events.sites), kept(events.weights))
