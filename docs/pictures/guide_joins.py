"""Pictures of joins and of the newest arrivals."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from guide_shared import (
    DATA,
    DAY,
    THOUSANDS,
    Answers,
    Flights,
    check,
    draw_bars,
    draw_line,
    legend,
    minute_of,
    save,
    size_of,
    style,
)

import ecmsketch as ecm


def draw_self_join(flights: Flights) -> None:
    """How skewed one stream is, and how much two streams share."""
    figure, (skew, joins) = plt.subplots(1, 2, layout="constrained", figsize=(9, 3.8), width_ratios=(4, 3))
    figure.get_layout_engine().set(w_pad=0.1)
    draw_skew(skew)
    draw_shared(joins, flights)
    save(figure, "self-join")


def draw_skew(skew: Any) -> None:
    """The self-join size of the last minute of a cache's requests, every five seconds."""
    requests = pd.read_parquet(DATA / "twitter" / "cluster52-1m.parquet")
    items, names = pd.factorize(requests["item"])
    ticks = requests["ts"].to_numpy().astype(np.int64)
    sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.002, delta=0.01, window=60, optimize_for="inner"))
    asked, answers, exact, fed = np.arange(60, ticks[-1] + 1, 5), [], [], 0
    for now in asked:
        new = slice(fed, int(np.searchsorted(ticks, now, side="right")))
        sketch.update_many(names.to_numpy()[items[new]], ticks[new])
        sketch.advance(int(now))
        fed = new.stop
        answers.append(sketch.self_join(last=60))
        counts = np.bincount(items[(ticks > now - 60) & (ticks <= now)]).astype(float)
        exact.append((counts**2).sum())
    found, truth = Answers.of(answers), np.array(exact)
    check(found, truth, sketch.config.confidence)
    draw_line(skew, asked, found.scaled(1e-6), truth / 1e6, f"bounds, probability {sketch.config.confidence:.3f}")
    skew.set_ylim(0)
    skew.set_xlim(60, asked[-1])
    skew.set_xlabel("seconds since the stream began")
    skew.set_ylabel("sum of squared counts, millions")
    style(skew, "How skewed was the last minute?", f"Twitter cache requests; one sketch, {size_of(sketch)} as bytes")
    legend(skew, loc="lower left")


def draw_shared(joins: Any, flights: Flights) -> None:
    """The inner products of pairs of airports, by the destinations of their flights."""
    pairs = (("ATL", "CLT"), ("LGA", "EWR"), ("SFO", "OAK"), ("ORD", "MDW"), ("DFW", "DAL"), ("LGA", "JFK"))
    config = ecm.SketchConfig(epsilon=0.005, delta=0.01, window=7 * DAY, optimize_for="inner")
    week = flights.minute > minute_of("2001-06-24")
    sites, destinations = {}, {}
    for airport in sorted({airport for pair in pairs for airport in pair}):
        here = flights.origin == airport
        sites[airport] = ecm.EcmSketch(config)
        sites[airport].update_many(flights.destination[here], flights.minute[here])
        sites[airport].advance(minute_of("2001-07-01"))
        destinations[airport] = pd.Series(flights.destination[here & week]).value_counts()
    found = Answers.of(sites[a].inner_product(sites[b], last=7 * DAY) for a, b in pairs)
    truth = np.array([destinations[a].mul(destinations[b], fill_value=0).sum() for a, b in pairs])
    check(found, truth, config.confidence)
    places = np.arange(len(pairs))
    draw_bars(joins, places, found.scaled(1e-3), truth / 1e3)
    joins.set_yticks(places, [f"{a}, {b}" for a, b in pairs])
    joins.invert_yaxis()
    joins.set_xlabel("pairs of flights to the same place, thousands")
    style(joins, "What do two airports share?", "one sketch per airport, the last week of June 2001")
    legend(joins, loc="lower right")


def draw_last_arrivals(flights: Flights) -> None:
    """The share of an item in the newest n arrivals of several sites."""
    airports, item = ("BOS", "DCA", "EWR", "LGA", "PHL"), "ORD"
    config = ecm.SketchConfig(epsilon=0.005, delta=0.01, window=70 * DAY, merge_depth=1)
    known = flights.minute <= minute_of("2001-06-29T21:00")
    sites = []
    for airport in airports:
        here = known & (flights.origin == airport)
        sites.append(ecm.EcmSketch(config))
        sites[-1].update_many(flights.destination[here], flights.minute[here])
    merged = ecm.merge(sites)
    newest = flights.destination[known & np.isin(flights.origin, airports)][::-1]
    numbers = np.unique(np.geomspace(100, 100_000, 50).round().astype(int))
    found = Answers.of(merged.estimate(item, last_arrivals=int(n)) for n in numbers)
    exact = np.array([(newest[:n] == item).sum() for n in numbers])
    check(found, exact, config.confidence)

    figure, axes = plt.subplots(layout="constrained", figsize=(8, 3.6))
    draw_line(axes, numbers, found.scaled(100 / numbers), 100 * exact / numbers,
         f"bounds, probability {config.confidence:.3f}")  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlim(100, 100_000)
    axes.set_ylim(0)
    axes.xaxis.set_major_formatter(THOUSANDS)
    axes.set_xlabel("n, the number of newest departures")
    axes.set_ylabel("% of them for Chicago (ORD)")
    about = f"{len(airports)} airports, one sketch each, merged into {size_of(merged)}; at 21:00 on 29 June 2001"
    style(axes, "Of the last n departures, what share was for Chicago?", about)
    legend(axes, loc="lower right")
    save(figure, "last-arrivals")
