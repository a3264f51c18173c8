"""The history of all arrivals, of an item or of two, with bands; and of one item at each site."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ecmsketch.errors import EcmError
from ecmsketch.estimate import Estimate
from ecmsketch.inputs.item_text import parse_item
from ecmsketch.serve.page.choice import Range
from ecmsketch.serve.page.page_times import step_labels
from ecmsketch.serve.page.totals import steps_of, totals
from ecmsketch.serve.page.wording import bounds_words, count_words, cut, key_of, last_words, length_words
from ecmsketch.serve.store_view import StoreView
from ecmsketch.sketch.loading import AnySketch

STEPS, SITE_STEPS = 60, 24
"""Steps of a history, and of the small one of a site."""
SHOWN_SITES, ASKED_SITES = 12, 300
"""Sites whose histories are shown, and that are asked how often an item came."""
EVERYTHING = "All arrivals"


@dataclass(frozen=True)
class Histories:
    """What the page says about some items over time."""

    subjects: list[dict[str, Any]] = field(default_factory=list)
    chart: dict[str, Any] | None = None
    sites: list[dict[str, Any]] = field(default_factory=list)
    note: str = ""
    problem: str | None = None


def histories(view: StoreView, asked: Range, texts: tuple[str, ...]) -> Histories:
    """The history of up to two items, or of all arrivals if none is given."""
    try:
        return _histories(view, asked, texts)
    except EcmError as error:  # such as a text where the store counts numbers
        return Histories([_unknown(text) for text in texts], problem=cut(str(error), 300))


def _histories(view: StoreView, asked: Range, texts: tuple[str, ...]) -> Histories:
    sketch = view.sketch(asked.sites)
    questions = [_Question(text, parse_item(text, sketch.kinds)) for text in texts] or [_Question(None, [])]
    steps = steps_of(sketch, asked.last, STEPS)
    lines = [question.steps(sketch, asked.last, STEPS) for question in questions]
    length = length_words(steps[0][1] - steps[0][0], view.config.unit, view.config.model)
    chart = {
        "labels": step_labels([end for _, end in steps], view.config.unit),
        "lines": [_line(line) for line in lines],
        "say": f"Arrivals in every {length} of the {last_words(asked.last, view.config.unit)}, with bounds",
    }
    sites, note = _by_site(view, asked, questions[0])
    return Histories([question.subject(sketch, asked.last) for question in questions], chart, sites, note)


class _Question:
    """Asks sketches about one item, or about all arrivals."""

    def __init__(self, text: str | None, meanings: list[Any]) -> None:
        """A text may mean several items, such as 7 and "7"; their counts are added up."""
        self.text, self.meanings = text, meanings
        self.name = EVERYTHING if text is None else text

    def count(self, sketch: AnySketch, last: int) -> Estimate:
        """How often it came in a range."""
        if self.text is None:
            return sketch.total(last=last)
        return _sum([sketch.estimate(item, last=last) for item in self.meanings])

    def steps(self, sketch: AnySketch, last: int, steps: int) -> list[Estimate]:
        """How often it came in each step of a range."""
        if self.text is None:
            return totals(sketch, last, steps)
        step = max(1, last // steps)
        series = [list(sketch.history(item, step, last).estimates) for item in self.meanings]
        return [_sum(list(counts)) for counts in zip(*series, strict=True)]

    def subject(self, sketch: AnySketch, last: int) -> dict[str, Any]:
        """What stands above the chart."""
        found = self.count(sketch, last)
        return _unknown(self.text) | {
            "text": cut(self.name),
            "value": count_words(found.value),
            "bounds": bounds_words(found),
        }


def _unknown(text: str | None) -> dict[str, Any]:
    if text is None:
        return {"key": "", "cut": False}
    return {"key": key_of(text), "text": cut(text), "cut": cut(text) != text, "value": "", "bounds": ""}


def _line(line: list[Estimate]) -> dict[str, list[float]]:
    parts: dict[str, Callable[[Estimate], float]] = {
        "value": lambda step: step.value, "low": lambda step: step.lower, "high": lambda step: step.upper,
    }  # fmt: skip
    return {name: [round(part(step), 2) for step in line] for name, part in parts.items()}


def _by_site(view: StoreView, asked: Range, question: _Question) -> tuple[list[dict[str, Any]], str]:
    """Small histories of the sites where the item came most often, and what is not shown."""
    chosen = view.chosen(asked.sites)
    counts = {site: question.count(view.sketch([site]), asked.last) for site in chosen[:ASKED_SITES]}
    most = sorted((site for site in counts if counts[site].upper > 0), key=lambda site: -counts[site].value)
    shown = most[:SHOWN_SITES]
    lines = {site: question.steps(view.sketch([site]), asked.last, SITE_STEPS) for site in shown}
    scale = max((step.upper for line in lines.values() for step in line), default=1.0) or 1.0
    cells = [_cell(site, counts[site], lines[site], scale) for site in shown]
    what, rest = cut(question.name, 40), len(chosen) - len(shown)
    if len(chosen) > ASKED_SITES:
        return cells, f"{what}, on one scale: the busiest {len(shown)} of the first {ASKED_SITES:,} sites by name."
    less = f" {rest:,} more sites with less or nothing are not shown." if rest > 0 else ""
    return cells, f"{what}, on one scale.{less}"


def _cell(site: str, count: Estimate, line: list[Estimate], scale: float) -> dict[str, Any]:
    parts = {name: [round(part / scale, 4) for part in parts] for name, parts in _line(line).items()}
    text, value = cut(site, 60), count_words(count.value)
    return {
        "text": text, "value": value, "say": f"{text}: {value}, {bounds_words(count)}",
        "points": parts["value"], "low": parts["low"], "high": parts["high"],
    }  # fmt: skip


def _sum(counts: list[Estimate]) -> Estimate:
    if len(counts) == 1:
        return counts[0]
    value, lower, upper = (sum(count[part] for count in counts) for part in range(3))
    return Estimate(value, lower, upper, max(0.0, 1 - sum(1 - count.confidence for count in counts)))
