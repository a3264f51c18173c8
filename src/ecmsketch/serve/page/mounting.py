"""Puts the page into the app."""

from __future__ import annotations

from fastapi import FastAPI
from nicegui import ui

from ecmsketch.serve.live_store import LiveStore


def mount(app: FastAPI, live: LiveStore) -> None:
    """Serve the page at / of an app, beside the routes that the app has already."""

    def root() -> None:
        view = live.view()
        ui.label(live.problem or f"{len(view.sites) if view else 0} sites")

    ui.run_with(app, root=root, title="ecmsketch", show_welcome_message=False)
