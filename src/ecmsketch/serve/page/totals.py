"""The large numbers at the top: arrivals of the chosen range and of a day, sites that speak, alarms."""

from __future__ import annotations

from typing import Any

from ecmsketch.estimate import Estimate
from ecmsketch.serve.page.alarms import Alarms
from ecmsketch.serve.page.choice import Range
from ecmsketch.serve.page.wording import bounds_words, count_words, last_words, seconds_in
from ecmsketch.serve.store_view import StoreView
from ecmsketch.sketch.loading import AnySketch

STEPS = 48
"""Points of a sparkline."""
MOST_ASKED = 2000
"""Sites that are asked one by one whether they speak."""
_DAY = 86_400

Tile = dict[str, Any]


def tiles(view: StoreView, sketch: AnySketch, asked: Range, alarms: Alarms) -> list[Tile]:
    """The four tiles."""
    unit, model = view.config.unit, view.config.model
    second = None if model == "count" else seconds_in(unit)
    day = view.config.window if second is None else max(1, min(view.config.window, round(_DAY / second)))
    now = _amount(sketch, asked.last, last_words(asked.last, unit, model).capitalize(), second)
    whole = _amount(sketch, day, last_words(day, unit, model).capitalize(), second)
    return [now, whole, _speaking(view, asked), _alarmed(alarms)]


def steps_of(sketch: AnySketch, last: int, steps: int) -> list[tuple[int, int]]:
    """A range cut into steps of equal length, oldest first."""
    now, step = sketch.now or 0, max(1, last // steps)
    count = max(1, last // step)
    first = now - step * count
    return [(first + step * place, first + step * (place + 1)) for place in range(count)]


def totals(sketch: AnySketch, last: int, steps: int) -> list[Estimate]:
    """Arrivals of all items in each step of a range."""
    return [sketch.total(between=step) for step in steps_of(sketch, last, steps)]


def _amount(sketch: AnySketch, last: int, label: str, second: float | None) -> Tile:
    total = sketch.total(last=last)
    rate = "" if second is None else f" · {_rate_words(total.value / (last * second))}"
    points = [round(step.value, 2) for step in totals(sketch, last, STEPS)]
    return {"label": label, "value": count_words(total.value), "note": bounds_words(total) + rate, "points": points}


def _rate_words(rate: float) -> str:
    return f"{count_words(rate)}/s" if rate >= 10 else f"{rate:.2g}/s"


def _speaking(view: StoreView, asked: Range) -> Tile:
    """How many sites sent something in the range."""
    chosen = view.chosen(asked.sites)
    tile: Tile = {"label": "Sites that speak", "value": f"{len(chosen):,}", "tone": ""}
    if len(chosen) > MOST_ASKED:
        return tile | {"note": f"known; over {MOST_ASKED:,} are not asked one by one"}
    silent = [site for site in chosen if view.sketch([site]).total(last=asked.last).upper == 0]
    spoke = len(chosen) - len(silent)
    note = "all sent something" if not silent else f"of {len(chosen):,}; {len(silent):,} silent"
    return tile | {"value": f"{spoke:,}", "note": f"{note} in the range", "tone": "warn" if silent else ""}


def _alarmed(alarms: Alarms) -> Tile:
    if not alarms.watched:
        return {"label": "Alarms", "value": "–", "note": "no monitor has reported yet", "tone": ""}
    if alarms.raised:
        return {"label": "Alarms", "value": f"{alarms.raised:,} raised", "note": alarms.newest, "tone": "alarm"}
    return {"label": "Alarms", "value": "None", "note": alarms.newest, "tone": ""}
