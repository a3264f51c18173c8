"""How sure? What epsilon, delta, resolution, merging and memory mean for the answers on the page, in words."""

from __future__ import annotations

from ecmsketch.config.describe import promise_of
from ecmsketch.serve.page.choice import Range
from ecmsketch.serve.page.wording import bytes_words, cut, length_words, share_words
from ecmsketch.serve.store_view import StoreView
from ecmsketch.sketch.loading import AnySketch
from ecmsketch.sketch.prefix import PrefixSketch
from ecmsketch.store import Rejected

REASONS = 5
"""Reasons to reject rows that are named."""

Fact = dict[str, str]


def sure(view: StoreView, sketch: AnySketch, asked: Range) -> list[Fact]:
    """The facts behind the answers, one sentence or two each."""
    config, count = view.config, len(view.chosen(asked.sites))
    promise = promise_of(config)
    facts = {
        "The promise": f"{promise[0].upper()}{promise[1:]} (epsilon {config.epsilon:g}, delta {config.delta:g}).",
        "Now": f"As merged here, epsilon is {sketch.epsilon:.2g}: {_levels(sketch)}.",
        "The bounds": (
            "The thin line over a bar, or the band of a history, shows where the exact count lies. "
            "The upper bound always holds; "
            f"the lower one holds with probability {1 - config.delta:.6g} or more. "
            "In a history this is meant for an item that you had in mind, not for one that a list made you pick."
            if config.delta_sw == 0
            else f"The thin line over a bar shows where the count lies, with probability {1 - config.delta:.6g}."
        ),
        "Start of a range": _resolution(sketch),
        "Names": _names(sketch),
        "Memory": (
            f"{bytes_words(sketch.nbytes)} for {_sites(count)} and a window of "
            f"{length_words(config.window, config.unit, config.model)}, however many arrivals come."
        ),
        "Late events": _late(sketch),
        "Not counted": _rejected(view.rejected),
    }
    return [{"term": term, "words": words} for term, words in facts.items() if words]


def _sites(count: int) -> str:
    return "one site" if count == 1 else f"{count:,} sites merged"


def _levels(sketch: AnySketch) -> str:
    levels, depth = sketch.merge_levels, sketch.config.merge_depth
    if levels == 0:
        return "joining what was written added no error"
    times = "once" if levels == 1 else f"{levels} times over"
    if levels <= depth:
        return f"sketches were merged {times}, which the promise allows for"
    return f"sketches were merged {times}, and the promise allows for {depth}, so it holds less sharply"


def _resolution(sketch: AnySketch) -> str:
    resolution = sketch.config.resolution
    if resolution is None:
        return ""
    return f"The resolution is {resolution:g}: a range may begin earlier or later by {share_words(resolution)} of it."


def _names(sketch: AnySketch) -> str:
    if isinstance(sketch, PrefixSketch):
        return f"Numbers with less than {share_words(sketch.epsilon)} of the arrivals are not listed."
    if not sketch.config.heavy_hitters:
        return "This store keeps no names (build it with --heavy-hitters to list the busiest items)."
    return f"Items with less than {share_words(sketch.epsilon)} of the arrivals may be missing from the lists."


def _late(sketch: AnySketch) -> str:
    counted, dropped = sketch.late_counted, sketch.late_dropped
    if not counted and not dropped:
        return ""
    return f"{counted:,} came late and were counted at their own time; {dropped:,} came too late and were not counted."


def _rejected(rejected: Rejected) -> str:
    """Rows that no sketch knows, and why."""
    if not rejected.rows and not rejected.late_dropped:
        return ""
    most = sorted(rejected.reasons.items(), key=lambda reason: -reason[1])
    named = [f"{cut(reason, 60)} ({rows:,})" for reason, rows in most[:REASONS]]
    more = [f"{len(most) - REASONS:,} more reasons"] if len(most) > REASONS else []
    rows = f"{rejected.rows:,} row{'' if rejected.rows == 1 else 's'} of the writers' input"
    why = f"{rows}: {', '.join(named + more)}." if most else ""
    late = f"{rejected.late_dropped:,} came too late." if rejected.late_dropped else ""
    return " ".join(part for part in (why, late) if part)
