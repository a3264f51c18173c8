"""One open page: what was chosen on it, and what it shows."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from nicegui import Client
from nicegui.events import GenericEventArguments

from ecmsketch.serve.page.choice import Choice
from ecmsketch.serve.page.freshness import notice, status
from ecmsketch.serve.page.item_history import Histories
from ecmsketch.serve.page.page_layout import Layout
from ecmsketch.serve.page.page_model import PageModel, site_of
from ecmsketch.serve.page.page_threads import in_thread
from ecmsketch.serve.page.screen import Screen
from ecmsketch.serve.page.wording import cut, key_of
from ecmsketch.serve.store_view import StoreView


class PageView:
    """Shows screens on one page, and changes what is chosen when someone clicks."""

    def __init__(self, model: PageModel, layout: Layout, choice: Choice, client: Client) -> None:
        self.model, self.layout, self.choice, self._client = model, layout, choice, client
        self._screen: Screen | None = None
        self._shown = datetime.min.replace(tzinfo=UTC)
        self._comparing, self._search, self._full = False, "", ""
        self._wanted = self._working = False
        self._connect()

    async def refresh(self) -> None:
        """Show what is chosen, as of now. However often it is called, a page is worked on once at a time."""
        self._wanted = True
        if self._working:
            return
        self._working = True
        try:
            while self._wanted:
                self._wanted = False
                await self._refresh()
        finally:
            self._working = False

    async def _refresh(self) -> None:
        live = self.model.live
        view, problem = live.view(), live.problem
        choice = self.choice
        if view is None:
            self.show_status(view, problem)
            return
        asked = self.model.asked(view, choice)
        texts = tuple(choice.items)
        answer = self.model.known(view, asked, texts)  # most pages show what others show too
        if answer is None:
            answer = await in_thread(self.model.answer, view, asked, texts)
        screen, found = answer
        newer = choice == self.choice and view.read_at >= self._shown  # of two answers at once, the older may end last
        if newer and not self._client.is_deleted:
            self._shown = view.read_at
            self.show_status(view, problem)
            self.show_screen(view, screen)
            self.show_histories(found)

    def show_status(self, view: StoreView | None, problem: str | None) -> None:
        """Show how fresh the data is, and what is wrong."""
        wrong = notice(view, problem, self.model.live.alerts_problem)
        self.layout.status.show(status=status(view, problem, self.model.live.alerts_problem))
        self.layout.notice.set_visibility(wrong is not None)
        self.layout.content.set_visibility(view is not None)
        if wrong is not None:
            self.layout.notice.show(**wrong, over=view is not None)

    def show_screen(self, view: StoreView, screen: Screen) -> None:
        """Show everything that does not depend on an item."""
        layout, config = self.layout, view.config
        self._screen = screen
        presets, last = screen.presets, screen.asked.last
        layout.ranges.show(presets=presets, last=last, most=config.window, text=screen.text, words=screen.words)
        layout.tiles.show(tiles=screen.tiles)
        chosen = [key_of(text) for text in self.choice.items]
        lists = (layout.busiest, screen.busiest), (layout.risen, screen.risen), (layout.fallen, screen.fallen)
        for part, listing in lists:
            part.show(rows=listing.rows, empty=listing.empty, selected=chosen)
        if screen.quantiles is not None:
            layout.quantiles.show(rows=screen.quantiles.rows, empty=screen.quantiles.empty)
        layout.changes_card.set_visibility(screen.quantiles is None)
        layout.quantiles_card.set_visibility(screen.quantiles is not None)
        layout.compared.set_text(screen.compared)
        layout.alarms.show(alarms=screen.alarms, empty="Nothing was noticed so far.")
        layout.facts.show(facts=screen.sure)
        self._show_sites(view)

    def show_histories(self, found: Histories) -> None:
        """Show the history of what is chosen."""
        self.layout.subject.show(
            subjects=found.subjects, comparing=self._comparing, can=len(self.choice.items) == 1,
            problem=found.problem, full=self._full,
        )  # fmt: skip
        self.layout.band.show(history=[] if found.chart is None else [found.chart])
        self.layout.multiples.show(sites=found.sites, note=found.note)

    def _show_sites(self, view: StoreView) -> None:
        matches, more = self.model.matching_sites(view, self._search, self.choice.sites)
        count = len(self.choice.sites)
        label = f"All {len(view.sites):,} sites" if not count else f"{count:,} of {len(view.sites):,} sites"
        if count == 1:
            label = cut(self.choice.sites[0], 40)
        self.layout.sites.show(label=label, matches=matches, more=more, some=count > 0)

    def _connect(self) -> None:
        layout = self.layout
        layout.ranges.on("choose", lambda event: self._choose(last=_number(event)))
        layout.sites.on("search", self._on_search)
        layout.sites.on("toggle", self._on_site)
        layout.sites.on("all", lambda: self._choose(sites=()))
        layout.ask.on("ask", lambda event: self._pick(_text(event)))
        for part in (layout.busiest, layout.risen, layout.fallen):
            part.on("pick", self._on_pick)
        layout.subject.on("drop", self._on_drop)
        layout.subject.on("whole", self._on_whole)
        layout.subject.on("compare", self._on_compare)

    async def _choose(self, **changes: Any) -> None:
        self.choice = replace(self.choice, **changes)
        self._client.run_javascript(f"history.replaceState({{}}, '', {json.dumps(self.choice.address)})")
        await self.refresh()

    async def _pick(self, text: str) -> None:
        """Show the history of an item: instead of the one shown, or beside it if it is to be compared."""
        self._full = ""
        if self._comparing and self.choice.item not in (None, text):
            self._comparing = False
            await self._choose(other=text)
        else:
            await self._choose(item=text, other=None)

    async def _on_pick(self, event: GenericEventArguments) -> None:
        text = None if self._screen is None else self._screen.text_of(_text(event))
        if text is not None:
            await self._pick(text)

    async def _on_drop(self, event: GenericEventArguments) -> None:
        left = [text for text in self.choice.items if key_of(text) != _text(event)]
        self._comparing, self._full = False, ""
        await self._choose(item=left[0] if left else None, other=None)

    async def _on_whole(self, event: GenericEventArguments) -> None:
        whole = [text for text in self.choice.items if key_of(text) == event.args]
        self._full = whole[0] if whole else ""
        self.layout.subject.show(full=self._full)

    def _on_compare(self) -> None:
        self._comparing = not self._comparing
        self.layout.subject.show(comparing=self._comparing)

    def _on_search(self, event: GenericEventArguments) -> None:
        self._search = _text(event)
        view = self.model.live.view()
        if view is not None:
            self._show_sites(view)

    async def _on_site(self, event: GenericEventArguments) -> None:
        view = self.model.live.view()
        site = None if view is None else site_of(view, _text(event))
        if site is not None:
            await self._choose(sites=self.choice.toggled(site).sites)


def _text(event: GenericEventArguments) -> str:
    """The text that the browser sent; anything else is hostile and means nothing."""
    return event.args if isinstance(event.args, str) else ""


def _number(event: GenericEventArguments) -> int | None:
    return event.args if isinstance(event.args, int) and event.args > 0 else None
