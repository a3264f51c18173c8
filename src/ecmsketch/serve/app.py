"""The web app: the page, the JSON API, metrics and health, behind one guard."""

from __future__ import annotations

from fastapi import FastAPI

from ecmsketch.serve.access import Access
from ecmsketch.serve.api import make_api
from ecmsketch.serve.guard import Guard
from ecmsketch.serve.health import add_health
from ecmsketch.serve.live_store import LiveStore
from ecmsketch.serve.metrics import API, Metrics, Timing
from ecmsketch.serve.problems import say_problems
from ecmsketch.serve.work_pool import WorkPool


def make_app(live: LiveStore, access: Access, *, pool: WorkPool | None = None, page: bool = True) -> FastAPI:
    """The app that serves a store. NiceGUI keeps one page in a process, so `page=False` makes apps without it."""
    pool = pool or WorkPool()
    app = FastAPI(title="ecmsketch", docs_url=None, redoc_url=None, openapi_url=None)
    say_problems(app)
    metrics = Metrics(live)
    metrics.add(app, pool)
    add_health(app, live, access)
    app.mount(API, make_api(live, pool))
    if page:
        from ecmsketch.serve.page import mount

        mount(app, live)
    app.add_middleware(Timing, metrics=metrics)
    app.add_middleware(Guard, access=access)  # added last, so it comes first
    return app
