"""Answers to the questions of the API, from one view of the store."""

from __future__ import annotations

from typing import Any

from ecmsketch.errors import QueryError
from ecmsketch.estimate import HeavyHitter
from ecmsketch.inputs.moments import moment
from ecmsketch.serve.api.answers import (
    Alarm,
    Alarms,
    AsOf,
    Bounded,
    Changed,
    Changes,
    Counted,
    Counts,
    History,
    Quantile,
    Quantiles,
    Range,
    Reason,
    Rejections,
    Sites,
    Step,
    Total,
    bounded,
    named,
)
from ecmsketch.serve.api.asking import Asked, duration, items_meant, named_items, ordered_items, sure
from ecmsketch.serve.api.limits import MAX_STEPS
from ecmsketch.serve.store_view import StoreView


def list_sites(view: StoreView) -> Sites:
    """The sites of the store."""
    config = view.config
    return Sites(
        sites=list(view.sites), kind=view.kind, items=sorted(view.items), epsilon=config.epsilon, delta=config.delta,
        window=config.window, unit=config.unit, model=config.model,
        names=bool(config.heavy_hitters) and view.kind == "EcmSketch", as_of=AsOf.of(view, view.now),
    )  # fmt: skip


def total(asked: Asked) -> Total:
    """All arrivals in a range."""
    return Total(**bounded(asked.sketch.total(**asked.ticks)), **asked.about)


def self_join(asked: Asked, confidence: float | None) -> Total:
    """The sum over all items of their squared count."""
    sketch = named_items(asked.sketch, "self_join")
    return Total(**bounded(sketch.self_join(**asked.ticks, **sure(sketch, confidence))), **asked.about)


def estimate(asked: Asked, texts: list[str], confidence: float | None) -> Counts:
    """How often some items came."""
    more = sure(asked.sketch, confidence)
    found = [
        HeavyHitter(item, asked.sketch.estimate(item, **asked.ticks, **more)) for item in items_meant(texts, asked.view)
    ]
    return _counts(asked, found)


def top(asked: Asked, k: int, confidence: float | None) -> Counts:
    """The most frequent items."""
    sketch = named_items(asked.sketch, "top")
    return _counts(asked, sketch.top(k, **asked.ticks, **sure(sketch, confidence)))


def heavy_hitters(asked: Asked, phi: float, k: int, confidence: float | None) -> Counts:
    """The items with a share of the arrivals, `k` of them at most."""
    found = asked.sketch.heavy_hitters(phi, **asked.ticks, **sure(asked.sketch, confidence))
    return _counts(asked, found[:k])


def heavy_changes(asked: Asked, k: int, before: str | None, by: str, confidence: float | None) -> Changes:
    """The items whose counts changed most."""
    sketch = named_items(asked.sketch, "heavy_changes")
    last = asked.until - asked.since
    length = last if before is None else duration("before", before, asked.view)
    found = sketch.heavy_changes(k, last, length, by=by, **sure(sketch, confidence))
    items = [
        Changed(**named(each.item, asked.view), **bounded(each.change),
                newer=Bounded(**bounded(each.newer)), older=Bounded(**bounded(each.older)))
        for each in found
    ]  # fmt: skip
    older = Range.of(asked.since - length, asked.since, asked.view.unit)
    return Changes(
        items=items, before=older, missed_rise=found.missed_rise, missed_fall=found.missed_fall, **asked.about
    )


def history(asked: Asked, text: str, steps: int, step: str | None, confidence: float | None) -> History:
    """How often an item came, step by step."""
    range_length = asked.until - asked.since
    length = max(range_length // steps, 1) if step is None else duration("step", step, asked.view)
    if length >= 1 and range_length // length > MAX_STEPS:
        raise QueryError(f"step: expected at most {MAX_STEPS} steps, got {range_length // length}; give a longer step")
    meant = items_meant([text], asked.view)
    if len(meant) > 1:
        raise QueryError(f"item: {text!r} may be a number or a text, and the store counts both; ask for estimate")
    series = asked.sketch.history(meant[0], length, range_length, **sure(asked.sketch, confidence))
    found = [
        Step(since=end - length, until=end, until_time=moment(end, asked.view.unit), **bounded(answer))
        for end, answer in zip(series.tick.tolist(), series.estimates, strict=True)
    ]
    return History(**named(meant[0], asked.view), step=length, steps=found, **asked.about)


def quantiles(asked: Asked, shares: list[float]) -> Quantiles:
    """Numbers that shares of the arrivals do not exceed."""
    found = ordered_items(asked.sketch).quantiles(shares, **asked.ticks)
    return Quantiles(
        quantiles=[Quantile(share=share, **bounded(each)) for share, each in zip(shares, found, strict=True)],
        **asked.about,
    )


def alarms(view: StoreView, monitor: str | None, limit: int, problem: str | None) -> Alarms:
    """The newest alerts."""
    mine = [alert for alert in view.alerts() if monitor in (None, alert["monitor"])]
    found = [Alarm(**alert, time=moment(alert["tick"], view.unit)) for alert in mine[-limit:]]
    return Alarms(alerts=found, hidden=max(len(mine) - limit, 0), problem=problem, as_of=AsOf.of(view, view.now))


def rejections(view: StoreView, problem: str | None) -> Rejections:
    """What was not counted."""
    found = view.rejected
    reasons = [Reason(reason=reason, rows=rows) for reason, rows in found.reasons.items()]
    return Rejections(
        rows=found.rows, reasons=reasons, late_counted=found.late_counted, late_dropped=found.late_dropped,
        problem=problem, as_of=AsOf.of(view, view.now),
    )  # fmt: skip


def _counts(asked: Asked, found: list[Any]) -> Counts:
    everything = Bounded(**bounded(asked.sketch.total(**asked.ticks)))
    items = [Counted(**named(each.item, asked.view), **bounded(each.estimate)) for each in found]
    return Counts(items=items, total=everything, **asked.about)
