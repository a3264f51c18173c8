"""Runs the app on a socket, until Ctrl-C."""

from __future__ import annotations

import uvicorn

from ecmsketch.serve.app import make_app
from ecmsketch.serve.live_store import LiveStore


def run(store: str, alerts: str | None, host: str, port: int, token_file: str | None) -> None:
    """Serve a store until the process is told to stop."""
    with LiveStore(store, alerts) as live:
        uvicorn.run(make_app(live), host=host, port=port, log_level="warning")
