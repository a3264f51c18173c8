"""Ticks as times on the page, short where the rest is known."""

from __future__ import annotations

from ecmsketch.inputs.moments import moment

_DAY = {"ns": 86_400 * 10**9, "us": 86_400 * 10**6, "ms": 86_400_000, "s": 86_400, "m": 1440, "h": 24, "D": 1}


def moment_words(tick: int | None, unit: str | None) -> str:
    """A tick as date and time in UTC, or as a number where ticks are not times."""
    time = moment(tick, unit)
    if time is None:
        return "no tick yet" if tick is None else f"tick {tick:,}"
    return time.replace("T", " ").removesuffix("Z").partition(".")[0] + ("" if unit == "D" else " UTC")


def step_labels(ticks: list[int], unit: str | None) -> list[str]:
    """Labels of the steps of a history: times of the day, with the date if there is more than one day."""
    times = [moment(tick, unit) for tick in ticks]
    if unit is None or any(time is None for time in times):
        return [f"{tick:,}" for tick in ticks]
    texts = [str(time).partition(".")[0].removesuffix("Z") for time in times]
    if unit == "D" or ticks[-1] - ticks[0] > 2 * _DAY[unit]:
        return [text.replace("T", " ")[5:16] for text in texts]
    minutes = all(text.endswith((":00", ":59")) for text in texts) or ticks[-1] - ticks[0] > _DAY[unit] // 12
    return [text[11:16] if minutes else text[11:] for text in texts]
