"""Tells all open pages when there is something new, and only then."""

from __future__ import annotations

import asyncio
from collections import Counter

from nicegui import app as nicegui_app
from nicegui import background_tasks

from ecmsketch.serve.page.page_model import PageModel
from ecmsketch.serve.page.page_view import PageView

EVERY = 0.25
"""Seconds between looks at what the store's thread has read; a look compares a few numbers."""
PAUSE = 0.003
"""Seconds between updates of two pages, in which requests are answered. An update takes one or two milliseconds."""
SPREAD = 1.0
"""Seconds over which the updates of very many pages are spread at most."""


class Pushing:
    """Keeps the open pages and updates them."""

    def __init__(self, model: PageModel) -> None:
        self._model = model
        self._pages: set[PageView] = set()

    def add(self, page: PageView) -> None:
        """Update a page from now on."""
        self._pages.add(page)

    def __len__(self) -> int:
        """How many pages are open."""
        return len(self._pages)

    def discard(self, page: PageView) -> None:
        """Forget a page that was closed."""
        self._pages.discard(page)

    def start(self) -> None:
        """Look for news from now on, until the server stops."""
        background_tasks.create(self.run(), name="updates of pages")

    async def run(self) -> None:
        """Look for news, for ever."""
        seen = self._model.stamp()
        while True:
            await asyncio.sleep(EVERY)
            stamp = self._model.stamp()
            if stamp != seen:
                seen = stamp
                await self.push()

    async def push(self) -> None:
        """Update all pages, those that many look at first: each choice is computed once."""
        pages = list(self._pages)
        looks = Counter(page.choice for page in pages)
        pages.sort(key=lambda page: -looks[page.choice])
        pause = min(PAUSE, SPREAD / max(len(pages), 1))
        for page in pages:
            try:
                await page.refresh()
            except Exception as error:  # one page must not keep the others from being updated
                nicegui_app.handle_exception(error)
            await asyncio.sleep(pause)  # requests get their turn: all pages at once would keep them waiting
