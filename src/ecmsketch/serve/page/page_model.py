"""What pages show, computed once for each version, range and choice, and shared by all who look at the same."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar, cast

from ecmsketch.serve.live_store import LiveStore
from ecmsketch.serve.page.choice import Choice, Range
from ecmsketch.serve.page.freshness import is_quiet
from ecmsketch.serve.page.item_history import Histories, histories
from ecmsketch.serve.page.screen import Screen, make_screen
from ecmsketch.serve.page.wording import cut, key_of
from ecmsketch.serve.shared_work import SharedWork
from ecmsketch.serve.store_view import StoreView

KEPT_BYTES = 2**24
"""Bytes of answers that are kept."""
_SCREEN_BYTES = 2**15
"""About the bytes of one screen or history."""
LISTED_SITES = 100
"""Sites that the search for sites lists."""

Stamp = tuple[Any, ...]
Result = TypeVar("Result")


class PageModel:
    """Answers for pages. All methods may be called from threads."""

    def __init__(self, live: LiveStore) -> None:
        self.live = live
        self.shared = SharedWork(KEPT_BYTES)
        self._newest: Stamp = ()
        self._newest_read = datetime.min.replace(tzinfo=UTC)

    def stamp(self) -> Stamp:
        """What pages depend on: as long as it is equal, they show the same."""
        view = self.live.view()
        known = None if view is None else (*_identity(view), is_quiet(view))
        return known, self.live.problem, self.live.alerts_problem

    def asked(self, view: StoreView, choice: Choice) -> Range:
        """The range and the sites that a choice means in a store."""
        return choice.range_of(view.config, frozenset(view.sites) if choice.sites else frozenset())

    def known(self, view: StoreView, asked: Range, texts: tuple[str, ...]) -> tuple[Screen, Histories] | None:
        """What `answer` would return, if that takes no time."""
        seen = _identity(view)
        screen = self.shared.find(("screen", seen, asked))
        found = self.shared.find(("histories", seen, asked, texts))
        return None if screen is None or found is None else (screen, found)

    def answer(self, view: StoreView, asked: Range, texts: tuple[str, ...]) -> tuple[Screen, Histories]:
        """All that a page shows."""
        return self.screen(view, asked), self.histories(view, asked, texts)

    def screen(self, view: StoreView, asked: Range) -> Screen:
        """What the page shows of a version, without items."""
        return self._shared("screen", view, (asked,), lambda: make_screen(view, asked))

    def histories(self, view: StoreView, asked: Range, texts: tuple[str, ...]) -> Histories:
        """What the page shows about items over time."""
        return self._shared("histories", view, (asked, texts), lambda: histories(view, asked, texts))

    def matching_sites(self, view: StoreView, text: str, chosen: tuple[str, ...]) -> tuple[list[dict[str, Any]], str]:
        """The sites whose names contain a text."""
        if text:
            return matching_sites(view, text, chosen)
        return self._shared("sites", view, chosen, lambda: matching_sites(view, text, chosen))

    def _shared(self, name: str, view: StoreView, asked: tuple[Any, ...], make: Callable[[], Result]) -> Result:
        """An answer made once for all pages. Nobody asks for those of older versions again, so they are dropped."""
        seen = _identity(view)
        if seen != self._newest and view.read_at >= self._newest_read:
            self._newest, self._newest_read = seen, view.read_at
            self.shared.forget(unless=lambda key: cast("Stamp", key)[1] == seen)
        return self.shared.get((name, seen, *asked), make, _size)


def matching_sites(view: StoreView, text: str, chosen: tuple[str, ...]) -> tuple[list[dict[str, Any]], str]:
    """The sites whose names contain a text, the chosen ones first, and how many more there are."""
    wanted, on = text.casefold(), set(chosen)
    names = [site for site in view.sites if wanted in site.casefold()]
    names.sort(key=lambda site: site not in on)
    more = len(names) - LISTED_SITES
    rows = [{"key": key_of(site), "text": cut(site), "on": site in on} for site in names[:LISTED_SITES]]
    if not names:
        return rows, "No site has this in its name."
    return rows, f"{more:,} more; type a part of a name to find them." if more > 0 else ""


def site_of(view: StoreView, key: str) -> str | None:
    """The site that a key stands for."""
    return next((site for site in view.sites if key_of(site) == key), None)


def _identity(view: StoreView) -> Stamp:
    """Tells versions apart, also those of a store that was deleted and written anew, and their alerts."""
    newest = view.alerts()[-1:]
    found = view.rejected
    noted = found.rows, found.late_counted, found.late_dropped
    return view.version, view.read_at, len(view.alerts()), noted, *(alert["written"] for alert in newest)


def _size(_: object) -> int:
    return _SCREEN_BYTES
