"""Ticks shown as times."""

from __future__ import annotations

from typing import Any

from ecmsketch.inputs.moments import moment


def shown(tick: int | None, unit: str | None) -> str:
    """A tick as it appears in a sentence: as a time if it is one, else as a number."""
    return moment(tick, unit) or ("no tick" if tick is None else f"tick {tick}")


def with_times(facts: dict[str, Any], names: tuple[str, ...], unit: str | None, as_json: bool) -> dict[str, Any]:
    """Show the facts in `names` as times: instead of the ticks for people, beside them as `..._time` in JSON."""
    timed: dict[str, Any] = {}
    for name, value in facts.items():
        time = moment(value, unit) if name in names else None
        if time is None or as_json:
            timed[name] = value
        else:
            timed[name] = time
        if time is not None and as_json:
            timed[f"{name}_time"] = time
    return timed
