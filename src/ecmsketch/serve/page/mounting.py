"""Puts the page into the app."""

from __future__ import annotations

import asyncio
from importlib.resources import files

from fastapi import FastAPI, Request
from nicegui import app as nicegui_app
from nicegui import background_tasks, ui

from ecmsketch.serve.live_store import LiveStore
from ecmsketch.serve.page.choice import Choice
from ecmsketch.serve.page.page_layout import build_layout
from ecmsketch.serve.page.page_model import PageModel
from ecmsketch.serve.page.page_view import PageView
from ecmsketch.serve.page.pushing import Pushing

PATIENCE = 0.5
"""Seconds that the first answer may take before the page is sent without it."""
RECONNECT = 30
"""Seconds that a browser may be silent. NiceGUI's 3 drop all pages when the machine is busy for two seconds."""
FAVICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#2557d6"/>'
    '<path d="M3 12V9h2v3zm4 0V6h2v6zm4 0V3h2v9z" fill="#fff"/></svg>'
)


def mount(app: FastAPI, live: LiveStore) -> None:
    """Serve the page at / of an app, beside the routes that the app has already."""
    model = PageModel(live)
    pushing = Pushing(model)
    look = files(__package__).joinpath("look.css").read_text()

    @ui.page("/", dark=None, title="ecmsketch", language="en-US")
    async def index(request: Request) -> None:
        ui.add_css(look)
        client = ui.context.client
        page = PageView(model, build_layout(), Choice.of(request.query_params), client)
        page.show_status(live.view(), live.problem)
        pushing.add(page)
        client.on_delete(lambda: pushing.discard(page))
        first = background_tasks.create(page.refresh(), name="first answer of a page")
        await asyncio.wait({first}, timeout=PATIENCE)

    nicegui_app.on_startup(pushing.start)
    ui.run_with(
        app, title="ecmsketch", favicon=FAVICON, dark=None, tailwind=False, binding_refresh_interval=None,
        message_history_length=20, show_welcome_message=False, reconnect_timeout=RECONNECT,
    )  # fmt: skip
