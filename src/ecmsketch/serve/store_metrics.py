"""Metrics about a store, read when Prometheus asks. What they cost is bounded: few sites, few items each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ecmsketch.inputs.item_text import show_item
from ecmsketch.serve.label_text import labels
from ecmsketch.serve.live_store import LiveStore
from ecmsketch.serve.store_view import StoreView
from ecmsketch.sketch import EcmSketch
from ecmsketch.store import Rejected

MAX_SITES = 100
"""Sites with metrics of their own."""
TOP = 5
"""Items of a site with metrics of their own."""


class StoreMetrics(Collector):
    """The metrics of a followed store."""

    def __init__(self, live: LiveStore) -> None:
        self._live = live

    def describe(self) -> list[Metric]:
        """Nothing: so that registering does not read the store."""
        return []

    def collect(self) -> Iterator[Metric]:
        """All metrics, as they are now."""
        live, view = self._live, self._live.view()
        up = 0 if live.problem else 1
        yield GaugeMetricFamily("ecmsketch_store_up", "1 if the newest version of the store could be read.", up)
        errors = "How often the store or its alerts could not be read."
        yield CounterMetricFamily("ecmsketch_store_read_errors", errors, live.read_errors)
        if view is None:
            return
        age = (datetime.now(UTC) - view.written).total_seconds()
        yield GaugeMetricFamily("ecmsketch_store_version", "Version of the store that is served.", view.version)
        yield GaugeMetricFamily("ecmsketch_store_age_seconds", "Seconds since the newest row was written.", age)
        yield GaugeMetricFamily("ecmsketch_sites", "Sites in the store.", len(view.sites))
        hidden = max(len(view.sites) - MAX_SITES, 0)
        yield GaugeMetricFamily("ecmsketch_sites_hidden", "Sites without metrics of their own: too many.", hidden)
        yield GaugeMetricFamily("ecmsketch_alerts", "Alerts in the table of alerts.", len(view.alerts()))
        yield from _about_rejected(view.rejected)
        yield from view.shared(("metrics",), lambda: _about_sites(view), lambda found: 1000 * len(view.sites))


def _about_rejected(rejected: Rejected) -> list[Metric]:
    """What writers did not count. A writer that begins anew counts from 0, which Prometheus takes for a restart."""
    rows = CounterMetricFamily("ecmsketch_rejected_rows", "Rows that were rejected.", labels=["reason"])
    for name, count in zip(labels(list(rejected.reasons)), rejected.reasons.values(), strict=True):
        rows.add_metric([name], count)
    late = CounterMetricFamily("ecmsketch_late_rows", "Late rows that writers noted.", labels=["fate"])
    late.add_metric(["counted"], rejected.late_counted)
    late.add_metric(["dropped"], rejected.late_dropped)
    return [rows, late]


def _about_sites(view: StoreView) -> list[Metric]:
    """What depends on the version of the store only."""
    sites = view.sites[:MAX_SITES]
    arrivals = GaugeMetricFamily("ecmsketch_arrivals", "Arrivals in the window, estimated.", labels=["site"])
    counted = GaugeMetricFamily("ecmsketch_late_counted", "Late events counted in their place.", labels=["site"])
    dropped = GaugeMetricFamily("ecmsketch_late_dropped", "Late events not counted.", labels=["site"])
    top = GaugeMetricFamily(
        "ecmsketch_top_arrivals", "Arrivals of frequent items in the window, estimated.", labels=["site", "item"]
    )
    rest = GaugeMetricFamily(
        "ecmsketch_top_hidden_arrivals", "Arrivals of all other items in the window, estimated.", labels=["site"]
    )
    for site, name in zip(sites, labels(sites), strict=True):
        sketch = view.sketch([site])
        total = sketch.total().value
        arrivals.add_metric([name], total)
        counted.add_metric([name], sketch.late_counted)
        dropped.add_metric([name], sketch.late_dropped)
        if isinstance(sketch, EcmSketch) and view.config.heavy_hitters:
            found = sketch.top(TOP)
            items = labels([show_item(hitter.item, view.items) for hitter in found])
            for item, hitter in zip(items, found, strict=True):
                top.add_metric([name, item], hitter.estimate.value)
            rest.add_metric([name], max(total - sum(hitter.estimate.value for hitter in found), 0))
    return [arrivals, counted, dropped, top, rest]
