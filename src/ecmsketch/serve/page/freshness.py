"""How fresh the page is: live, quiet or unreadable; and what is wrong with the store, in words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ecmsketch.serve.page.page_times import moment_words
from ecmsketch.serve.store_view import StoreView

LIVE_SECONDS = 30
"""A store whose newest version is older than this is called quiet."""
ADVICE = "This page looks again several times a second and goes on by itself."


def status(view: StoreView | None, problem: str | None, alerts_problem: str | None = None) -> dict[str, Any]:
    """The line at the top of the page."""
    sent = datetime.now(UTC).timestamp()
    if view is None:
        return {"state": "waiting", "word": "Waiting for the store", "sent": sent}
    written = view.written.timestamp()
    tick = view.now if view.config.model == "time" else None
    line = {
        "sent": sent,
        "written": written,
        "asof": "" if tick is None else f"as of {moment_words(tick, view.unit)}",
        "sites": f"{len(view.sites):,} site{'' if len(view.sites) == 1 else 's'}",
        "rejected": f"{view.rejected.rows:,} rejected" if view.rejected.rows else "",
    }
    if problem is not None:
        return line | {"state": "stale", "word": "Stale"}
    if alerts_problem is not None:
        return line | {"state": "stale", "word": "Alarms cannot be read"}
    return line | ({"state": "quiet", "word": "Quiet"} if is_quiet(view) else {"state": "live", "word": "Live"})


def is_quiet(view: StoreView) -> bool:
    """Whether nothing was written for a while."""
    return (datetime.now(UTC) - view.written).total_seconds() > LIVE_SECONDS


def notice(view: StoreView | None, problem: str | None, alerts_problem: str | None = None) -> dict[str, str] | None:
    """The message above everything, if something is wrong."""
    if problem is None and alerts_problem is None:
        return None
    if problem is None:
        return {"title": "Alarms cannot be read", "words": alerts_problem or "", "advice": ADVICE}
    if view is None:
        return {"title": "There is nothing to show yet", "words": problem, "advice": ADVICE}
    return {
        "title": "The store cannot be read at the moment",
        "words": problem,
        "advice": f"What you see below is version {view.version:,}, the last that could be read. {ADVICE}",
    }
