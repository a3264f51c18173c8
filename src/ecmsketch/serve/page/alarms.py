"""Alarms on the page: what monitors noticed, newest first, and which of them are still raised."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ecmsketch.serve.page.page_times import moment_words
from ecmsketch.serve.page.wording import count_words, cut, share_words

LISTED = 6
"""Alarms in the list."""
SITES = 3
"""Sites that an alarm about an item names."""


class Alarms(NamedTuple):
    """What monitors noticed."""

    rows: list[dict[str, str]]
    raised: int
    """Values of monitors, or items that they watch, that are above a threshold now."""
    watched: int
    """Monitors that ever reported."""
    newest: str
    """The newest alarm in a few words."""


def alarms(alerts: Iterable[dict[str, Any]], unit: str | None) -> Alarms:
    """What the page says about alerts, which come oldest first."""
    every = list(alerts)
    latest = {(alert["monitor"], alert.get("item")): alert for alert in every}  # each item is raised on its own
    changed = [alert for alert in every if alert["previous"] is not None or alert["region"] > 0]
    rows = [_row(alert, unit) for alert in reversed(changed[-LISTED:])]
    raised = sum(alert["region"] > 0 for alert in latest.values())
    newest = f"{rows[0]['text']}" if rows else "nothing noticed so far"
    return Alarms(rows, raised, len({monitor for monitor, _ in latest}), newest)


def _row(alert: dict[str, Any], unit: str | None) -> dict[str, str]:
    name, item = cut(str(alert["monitor"]), 60), alert.get("item")
    if item is not None:
        name = f"{name}: {cut(str(item), 60)}"
    up = alert["previous"] is None or alert["region"] > alert["previous"]
    if alert["region"] == 0:
        text, tone = f"{name}: back to normal", "calm"
    else:
        threshold = "the threshold" if alert["region"] == 1 else f"threshold {alert['region']}"
        text, tone = f"{name}: {'above' if up else 'down to'} {threshold}", "alarm"
    return {"text": text, "note": _note(alert), "when": moment_words(alert["tick"], unit), "tone": tone}


def _note(alert: dict[str, Any]) -> str:
    """The value; of an item also its bounds, its share, and the sites that contribute most."""
    lower, upper, share, sites = (alert.get(name) for name in ("lower", "upper", "share", "sites"))
    parts = [f"value {count_words(alert['value'])}"]
    if lower is not None and upper is not None:
        parts[0] += f" ({count_words(lower)} to {count_words(upper)})"
    if share is not None:
        parts.append(f"{share_words(share)} of all")
    if sites:
        named = ", ".join(f"{cut(str(part['site']), 40)} {count_words(part['value'])}" for part in sites[:SITES])
        parts.append(f"at {named}" + (f" and {len(sites) - SITES:,} more" if len(sites) > SITES else ""))
    return " · ".join(parts)
