"""Puts the page into the app."""

from __future__ import annotations

import asyncio
from importlib.resources import files

from fastapi import FastAPI, Request, Response
from nicegui import app as nicegui_app
from nicegui import background_tasks, ui

from ecmsketch.serve.live_store import LiveStore
from ecmsketch.serve.page.choice import Choice
from ecmsketch.serve.page.page_layout import build_layout
from ecmsketch.serve.page.page_model import PageModel
from ecmsketch.serve.page.page_view import PageView
from ecmsketch.serve.page.pushing import Pushing
from ecmsketch.serve.problems import problem_response

PATIENCE = 0.5
"""Seconds that the first answer may take before the page is sent without it."""
MOST_PAGES = 1000
"""Pages that may be open at once. One that was loaded counts for a minute, also if nobody looks at it."""
BUILDING = 60.0
"""Seconds that building a page may take. After NiceGUI's 3 a busy machine answers with an error that never changes."""
HISTORY = 4
"""Messages that are kept for each page until its browser has confirmed them; a browser that missed more loads anew."""
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

    @ui.page("/", dark=None, title="ecmsketch", language="en-US", response_timeout=BUILDING, markdown=False)
    async def index(request: Request) -> Response | None:
        client = ui.context.client
        if len(pushing) >= MOST_PAGES:
            client.delete()
            return problem_response(503, f"{MOST_PAGES:,} pages are open; close one and try again in a minute")
        ui.add_css(look)
        page = PageView(model, build_layout(), Choice.of(request.query_params), client)
        page.show_status(live.view(), live.problem)
        pushing.add(page)
        client.on_delete(lambda: pushing.discard(page))
        first = background_tasks.create(page.refresh(), name="first answer of a page")
        await asyncio.wait({first}, timeout=PATIENCE)
        return None

    nicegui_app.on_startup(pushing.start)
    ui.run_with(
        app, title="ecmsketch", favicon=FAVICON, dark=None, tailwind=False, binding_refresh_interval=None,
        message_history_length=HISTORY, show_welcome_message=False, reconnect_timeout=RECONNECT,
    )  # fmt: skip
