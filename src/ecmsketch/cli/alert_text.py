"""Alerts for people and for programs, as the commands that watch print them."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from ecmsketch.cli.times import shown
from ecmsketch.inputs.item_text import json_item, show_item
from ecmsketch.inputs.kinds import NOTHING

if TYPE_CHECKING:
    from ecmsketch.monitor import Alert


def alert_words(alert: Alert, unit: str) -> str:
    """An alert as one line; names may hold anything, so show it with `visible`."""
    if alert.item is not None:
        way = "is above the threshold" if alert.region else "has fallen"
        share = "" if alert.share is None else f", {alert.share:.2%} of all"
        most = ", ".join(f"{show_item(site.site, NOTHING)} {site.value:,.0f}" for site in alert.sites[:3])
        item = show_item(alert.item, NOTHING)
        return (
            f"ALERT at {shown(alert.tick, unit)}: {item!r} {way}: {alert.value:,.0f}{share}; most at {most or 'none'}"
        )
    if alert.previous is None:
        return f"watching from {shown(alert.tick, unit)}: value {alert.value:,.0f}, region {alert.region}"
    way = "up" if alert.region > alert.previous else "down"
    return f"ALERT at {shown(alert.tick, unit)}: {way} to region {alert.region}, value {alert.value:,.0f}"


def alert_facts(alert: Alert) -> dict[str, Any]:
    """An alert for JSON."""
    sites = [site._asdict() for site in alert.sites]
    facts = alert._asdict() | {"item": None if alert.item is None else json_item(alert.item), "sites": sites}
    return finite(facts)


def finite(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts for JSON, which knows no infinite numbers: None instead."""
    return {name: None if isinstance(value, float) and not isfinite(value) else value for name, value in facts.items()}
