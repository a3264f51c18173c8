"""Alarms on the page: what monitors noticed, newest first, and which of them are still raised."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ecmsketch.serve.page.page_times import moment_words
from ecmsketch.serve.page.wording import count_words, cut

LISTED = 6
"""Alarms in the list."""


class Alarms(NamedTuple):
    """What monitors noticed."""

    rows: list[dict[str, str]]
    raised: int
    """Monitors whose value is above a threshold now."""
    watched: int
    """Monitors that ever reported."""
    newest: str
    """The newest alarm in a few words."""


def alarms(alerts: Iterable[dict[str, Any]], unit: str | None) -> Alarms:
    """What the page says about alerts, which come oldest first."""
    every = list(alerts)
    latest: dict[str, dict[str, Any]] = {}
    for alert in every:
        latest[alert["monitor"]] = alert
    changed = [alert for alert in every if alert["previous"] is not None or alert["region"] > 0]
    rows = [_row(alert, unit) for alert in reversed(changed[-LISTED:])]
    raised = sum(alert["region"] > 0 for alert in latest.values())
    newest = f"{rows[0]['text']}" if rows else "nothing noticed so far"
    return Alarms(rows, raised, len(latest), newest)


def _row(alert: dict[str, Any], unit: str | None) -> dict[str, str]:
    name, value = cut(str(alert["monitor"]), 60), count_words(alert["value"])
    up = alert["previous"] is None or alert["region"] > alert["previous"]
    if alert["region"] == 0:
        text, tone = f"{name}: back to normal", "calm"
    else:
        threshold = "the threshold" if alert["region"] == 1 else f"threshold {alert['region']}"
        text, tone = f"{name}: {'above' if up else 'down to'} {threshold}", "alarm"
    return {"text": text, "note": f"value {value}", "when": moment_words(alert["tick"], unit), "tone": tone}
