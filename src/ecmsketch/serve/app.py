"""The web app: the page, the JSON API, metrics and health, behind one guard."""

from __future__ import annotations

from fastapi import FastAPI

from ecmsketch.serve.live_store import LiveStore


def make_app(live: LiveStore, *, page: bool = True) -> FastAPI:
    """The app that serves a store. NiceGUI keeps one page in a process, so `page=False` makes apps without it."""
    app = FastAPI(title="ecmsketch", docs_url=None, redoc_url=None, openapi_url="/api/v1/openapi.json")
    if page:
        from ecmsketch.serve.page import mount

        mount(app, live)
    return app
