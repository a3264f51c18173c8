"""/metrics for Prometheus: the store, and how long requests take."""

from __future__ import annotations

from time import perf_counter

from fastapi import FastAPI, Response
from prometheus_client import CollectorRegistry, Histogram, disable_created_metrics, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ecmsketch.serve.live_store import LiveStore
from ecmsketch.serve.store_metrics import StoreMetrics
from ecmsketch.serve.work_pool import WorkPool

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_OWN = ("/metrics", "/healthz", "/readyz")
API = "/api/v1"

disable_created_metrics()  # type: ignore[no-untyped-call] # they would double what a histogram costs


class Metrics:
    """The metrics of one app, apart from those of others in the process."""

    def __init__(self, live: LiveStore) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(StoreMetrics(live))
        self.durations = Histogram(
            "ecmsketch_request_duration_seconds", "Time from a request to the end of its answer.",
            ["route", "status"], buckets=_BUCKETS, registry=self.registry,
        )  # fmt: skip

    def add(self, app: FastAPI, pool: WorkPool) -> None:
        """Add /metrics to an app."""

        @app.get("/metrics", include_in_schema=False)
        async def metrics() -> Response:
            text = await pool.run(lambda: generate_latest(self.registry))
            return Response(text, media_type=CONTENT_TYPE_PLAIN_0_0_4)


class Timing:
    """Notes how long each request took, by its route: there are few, whatever clients send."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._durations = app, metrics.durations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request; anything else passes."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, path = perf_counter(), 500, scope["path"]

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            self._durations.labels(_route(path, scope), str(status)).observe(perf_counter() - began)


def _route(path: str, scope: Scope) -> str:
    if path in _OWN:
        return path
    if path.startswith(f"{API}/"):
        return f"{API}{getattr(scope.get('route'), 'path', '/other')}"
    return "page"
