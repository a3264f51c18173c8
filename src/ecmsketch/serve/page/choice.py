"""What a person chose: range, sites and items, as the address of the page says it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from ecmsketch.config import SketchConfig
from ecmsketch.serve.page.wording import length_words, seconds_in

LONGEST_IN_ADDRESS = 2000
"""Characters of an item that the address holds; a link to a longer one would not survive being pasted."""
MOST_SITES = 1000
"""Sites that a choice holds."""

_PRESET_SECONDS = (60, 300, 900, 3600, 21_600, 86_400, 604_800)
_FIRST = 300
"""Seconds of the range that is shown before anyone chooses."""


class Range(NamedTuple):
    """A range and the sites it is asked about; () means all. This decides what the page shows, for all who chose it."""

    last: int
    sites: tuple[str, ...] = ()


@dataclass(frozen=True)
class Choice:
    """What one page shows."""

    last: int | None = None
    """None until someone chooses: the range then depends on the store."""
    sites: tuple[str, ...] = ()
    item: str | None = None
    other: str | None = None
    """A second item, compared with the first."""

    @classmethod
    def of(cls, query: QueryParams) -> Choice:
        """Read a choice from the address. Whatever is wrong in it is left out."""
        last = query.get("last", "")
        ticks = int(last) if last.isascii() and last.isdigit() and len(last) < 19 else 0
        items = [*[text for text in query.getlist("item") if text][:2], None, None]
        sites = dict.fromkeys(query.getlist("site")[:MOST_SITES])
        return cls(ticks or None, tuple(sorted(sites)), items[0], items[1])

    @property
    def address(self) -> str:
        """The address of a page that shows the same."""
        parts = [] if self.last is None else [("last", str(self.last))]
        parts += [("site", site) for site in self.sites]
        parts += [("item", text) for text in self.items if len(text) <= LONGEST_IN_ADDRESS]
        return "?" + urlencode(parts, errors="replace") if parts else "?"

    @property
    def items(self) -> list[str]:
        """The items whose history is shown."""
        return [text for text in (self.item, self.other) if text is not None]

    def range_of(self, config: SketchConfig, known: frozenset[str]) -> Range:
        """The range and sites to ask a store about: sites that it does not have are left out."""
        last = first_range(config) if self.last is None else self.last
        return Range(max(1, min(last, config.window)), tuple(site for site in self.sites if site in known))

    def toggled(self, site: str) -> Choice:
        """The choice with a site added or taken away."""
        sites = set(self.sites) ^ {site}
        return replace(self, sites=tuple(sorted(sites))[:MOST_SITES])


def presets(config: SketchConfig) -> list[dict[str, object]]:
    """Ranges that are one click away: those inside the window, and the window."""
    unit, model, window = config.unit, config.model, config.window
    second = None if model == "count" else seconds_in(unit)
    if second is None:
        ticks = {10**power for power in range(1, 19) if 10**power < window} | {window}
    else:
        ticks = {round(length / second) for length in _PRESET_SECONDS if 1 <= length / second < window} | {window}
    unit = None if model == "count" else unit
    return [
        {"last": last, "text": length_words(last, unit, model, short=True), "long": length_words(last, unit, model)}
        for last in sorted(ticks)[-7:]
    ]


def first_range(config: SketchConfig) -> int:
    """The range before anyone chooses: five minutes, or a tenth of the window where that is not inside it."""
    second = None if config.model == "count" else seconds_in(config.unit)
    if second is not None and 1 <= _FIRST / second < config.window:
        return round(_FIRST / second)
    return max(1, config.window // 10)
