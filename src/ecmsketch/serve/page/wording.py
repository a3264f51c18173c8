"""Numbers, lengths and texts as people read them on the page."""

from __future__ import annotations

from hashlib import blake2b

from ecmsketch.estimate import Estimate
from ecmsketch.inputs.visible import visible

LONGEST = 120
"""Characters of an item or a site's name that a list shows."""

_LARGE = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e7, "M"))
_BYTES = ((2**30, "GB"), (2**20, "MB"), (2**10, "KB"))
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "D": 86_400.0}
_LENGTHS = ((86_400, "d", "day"), (3600, "h", "hour"), (60, "m", "minute"), (1, "s", "second"))


def count_words(count: float) -> str:
    """A count with separators; above ten millions, with four digits and a letter."""
    for size, letter in _LARGE:
        if abs(count) >= size:
            unit = 1e6 if letter == "M" else size
            return f"{count / unit:,.4g} {letter}" if abs(count) < 1000 * unit else f"{count / unit:,.0f} {letter}"
    return f"{count:,.0f}"


def bounds_words(estimate: Estimate) -> str:
    """The bounds of an answer."""
    low, high = count_words(estimate.lower), count_words(estimate.upper)
    return "exact" if estimate.lower == estimate.upper else f"{low} to {high}"


def share_words(share: float) -> str:
    """A share as percent, to two digits that count."""
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def bytes_words(number: float) -> str:
    """A number of bytes."""
    for size, name in _BYTES:
        if number >= size:
            return f"{number / size:.1f} {name}"
    return f"{number:.0f} bytes"


def seconds_in(unit: str | None) -> float | None:
    """The seconds of one tick; None if ticks are not times."""
    return None if unit is None else _SECONDS[unit]


def length_words(ticks: int, unit: str | None, model: str = "time", short: bool = False) -> str:
    """A length of time, such as 5 minutes or 5m; a number of ticks or arrivals where ticks are not times."""
    second = seconds_in(unit)
    if second is None or ticks * second < 1:
        word = "arrival" if model == "count" else "tick"
        number = _short_number(ticks) if short else f"{ticks:,}"
        return number if short else f"{number} {word}{'' if ticks == 1 else 's'}"
    seconds = ticks * second
    size, letter, name = next(length for length in _LENGTHS if seconds >= length[0])
    number = f"{seconds / size:.3g}"
    return f"{number}{letter}" if short else f"{number} {name}{'' if number == '1' else 's'}"


def last_words(ticks: int, unit: str | None, model: str = "time") -> str:
    """A range that ends now: last 5 minutes, last day."""
    return f"last {length_words(ticks, unit, model).removeprefix('1 ')}"


def cut(text: str, longest: int = LONGEST) -> str:
    """A text that fits a list, with what cannot be seen made visible, and with an ellipsis if it is too long."""
    seen = visible(text[: longest + 1])
    return seen if len(seen) <= longest else seen[: longest - 1] + "…"


def key_of(text: str) -> str:
    """A short name for a text, which the browser sends back instead of it."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def _short_number(number: int) -> str:
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return str(number)
