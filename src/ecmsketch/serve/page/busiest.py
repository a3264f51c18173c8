"""The lists of the page: the busiest items, what rose and fell most, and quantiles of numbers."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

from ecmsketch.config import SketchConfig
from ecmsketch.errors import QueryError
from ecmsketch.estimate import Estimate, HeavyChange, HeavyHitter
from ecmsketch.inputs.item_text import show_item
from ecmsketch.serve.page.wording import bounds_words, count_words, cut, key_of, last_words, length_words, share_words
from ecmsketch.sketch.loading import AnySketch
from ecmsketch.sketch.prefix import PrefixSketch

LISTED, CHANGED = 10, 5
"""Items in the list of the busiest, and in each list of changes."""
QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.99, 0.999)

Row = dict[str, Any]


class Listing(NamedTuple):
    """Rows of a list, and the items that they stand for."""

    rows: list[Row]
    items: dict[str, str]
    """Full texts of the items by the keys of the rows."""
    empty: str
    """What a list without rows says."""


NOTHING = "Nothing arrived in this range."


def busiest(sketch: AnySketch, last: int) -> Listing:
    """The most frequent items of a range."""
    if not isinstance(sketch, PrefixSketch) and not sketch.config.heavy_hitters:
        return Listing([], {}, "This store keeps no names of items. Ask about an item by name in the box above.")
    found = _heaviest(sketch, last)
    total = max(sketch.total(last=last).value, 1.0)
    most = max((hitter.estimate.upper for hitter in found), default=1.0) or 1.0
    rows, items = [], {}
    for hitter in found:
        text = show_item(hitter.item, sketch.kinds)
        row = _row(text, hitter.estimate, most)
        share = share_words(hitter.estimate.value / total)
        row["bounds"] = f"{share} · {row['bounds']}"
        row["say"] = f"{row['text']}: {row['value']} arrivals, {row['bounds']}, {share} of all"
        rows.append(row)
        items[row["key"]] = text
    return Listing(rows, items, NOTHING)


def changes(sketch: AnySketch, last: int, by: str) -> Listing:
    """The items that rose or fell most: a range against the range before it."""
    if isinstance(sketch, PrefixSketch) or not sketch.config.heavy_hitters:
        return Listing([], {}, "Changes need the names of items.")
    found = list(sketch.heavy_changes(CHANGED, last=change_range(sketch.config, last), by=by))
    most = max((abs(change.change.value) for change in found), default=1.0) or 1.0
    rows = [_changed(change, show_item(change.item, sketch.kinds), most) for change in found]
    texts = [show_item(change.item, sketch.kinds) for change in found]
    return Listing(rows, {key_of(text): text for text in texts}, "Nothing rose." if by == "rise" else "Nothing fell.")


def change_range(config: SketchConfig, last: int) -> int:
    """The length of the two ranges that are compared: both must be inside the window."""
    return max(1, min(last, config.window // 2))


def change_words(config: SketchConfig, last: int) -> str:
    """What is compared with what."""
    length = change_range(config, last), config.unit, config.model
    return f"{last_words(*length)} against the {length_words(*length).removeprefix('1 ')} before"


def quantiles(sketch: AnySketch, last: int) -> Listing:
    """Quantiles of the numbers of a range, with bounds."""
    if not isinstance(sketch, PrefixSketch):
        return Listing([], {}, "Quantiles need ordered numbers.")
    try:
        found = sketch.quantiles(QUANTILES, last=last)
    except QueryError:
        return Listing([], {}, NOTHING)
    most = max((quantile.upper for quantile in found), default=1.0) or 1.0
    rows = []
    for share, quantile in zip(QUANTILES, found, strict=True):
        row = _row(f"{share:.1%}".replace(".0%", "%"), quantile, most)
        row["say"] = f"{row['text']} of the arrivals are at most {row['value']} ({row['bounds']})"
        rows.append(row)
    return Listing(rows, {}, NOTHING)


def _heaviest(sketch: AnySketch, last: int) -> list[HeavyHitter]:
    if not isinstance(sketch, PrefixSketch):
        return sketch.top(LISTED, last=last)
    share = sketch.epsilon * 1.01
    for phi in (share, 4 * share):
        with suppress(QueryError):  # a share that is too low for the errors of this range
            return sketch.heavy_hitters(min(1.0, phi), last=last)[:LISTED]
    return []


def _row(text: str, estimate: Estimate, most: float) -> Row:
    return {
        "key": key_of(text),
        "text": cut(text),
        "value": count_words(estimate.value),
        "bounds": bounds_words(estimate),
        "bar": estimate.value / most,
        "low": max(0.0, estimate.lower / most),
        "high": min(1.0, estimate.upper / most),
    }


def _changed(change: HeavyChange, text: str, most: float) -> Row:
    row = _row(text, change.change, most)
    size = abs(change.change.value) / most
    row["value"] = ("+" if change.change.value > 0 else "−") + count_words(abs(change.change.value))
    row["bounds"] = f"{count_words(change.older.value)} → {count_words(change.newer.value)}"
    row |= {"bar": size, "low": 0.0, "high": 0.0}
    row["say"] = (
        f"{row['text']}: {row['value']}, from {count_words(change.older.value)} to {count_words(change.newer.value)}"
    )
    return row
