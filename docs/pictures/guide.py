"""Draw docs/pictures/guide-*.png: every question of docs/guide.md, asked of real streams, beside the exact answer."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

import matplotlib.dates as mdates
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from guide_joins import draw_last_arrivals, draw_self_join
from guide_prefix import draw_quantiles, draw_range_sum
from guide_shared import (
    DATA,
    DAY,
    HOUR,
    QUIET,
    THOUSANDS,
    Answers,
    Flights,
    check,
    draw_bars,
    draw_line,
    legend,
    minute_of,
    read_flights,
    save,
    size_of,
    style,
)
from matplotlib.ticker import NullLocator

import ecmsketch as ecm


def draw_estimate(flights: Flights) -> None:
    """How often an item arrived, in ranges of any length."""
    sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.005, delta=0.01, window=30 * DAY))
    known = flights.minute <= minute_of("2001-06-29T18:00")
    sketch.update_many(flights.destination[known], flights.minute[known])
    hours = np.unique(np.geomspace(1, 30 * 24, 60).round().astype(int))
    found = Answers.of(sketch.estimate("ATL", last=int(length) * HOUR) for length in hours)
    came = flights.minute[known & (flights.destination == "ATL")]
    exact = np.array([(came > sketch.now - length * HOUR).sum() for length in hours])
    check(found, exact, sketch.config.confidence)

    figure, (counts, errors) = plt.subplots(
        2, 1, layout="constrained", figsize=(8, 4.8), sharex=True, height_ratios=(3, 2)
    )
    draw_line(counts, hours, found, exact, f"bounds, probability {sketch.config.confidence:.3f}")
    counts.set_yscale("log")
    counts.yaxis.set_major_formatter(THOUSANDS)
    counts.set_ylabel("flights")
    about = f"one sketch of US departures, {size_of(sketch)} as bytes, asked at 18:00 on 29 June 2001"
    style(counts, "How many flights left for Atlanta in the last hour, day, month?", about)
    legend(counts, loc="upper left")
    draw_line(errors, hours, found.scaled(100 / exact), np.full(len(hours), 100))
    errors.set_ylabel("% of exact")
    errors.set_xlabel("length of the range")
    errors.set_xscale("log")
    errors.set_xlim(1, 720)
    marks = {1: "1 hour", 3: "3 hours", 6: "6 hours", 24: "1 day", 72: "3 days", 168: "7 days", 720: "30 days"}
    errors.set_xticks(list(marks), list(marks.values()))
    errors.xaxis.set_minor_locator(NullLocator())
    style(errors)
    save(figure, "estimate")


def draw_history(flights: Flights) -> None:
    """An item over time: Boston by the day, and a web page by the half hour."""
    figure, (daily, hourly) = plt.subplots(2, 1, layout="constrained", figsize=(8, 6))
    figure.get_layout_engine().set(h_pad=0.1)
    draw_boston(daily, flights)
    draw_home_page(hourly)
    save(figure, "history")


def draw_boston(daily: Any, flights: Flights) -> None:
    """The flights to Boston on each of 59 days."""
    boston = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.002, delta=0.01, window=59 * DAY, unit="m"))
    known = flights.minute <= minute_of("2001-04-01")
    boston.update_many(flights.destination[known], flights.minute[known])
    boston.advance(minute_of("2001-04-01"))
    series = boston.history("BOS", step=timedelta(days=1))
    came = flights.minute[flights.destination == "BOS"]
    exact = np.array([((came > end - series.step) & (came <= end)).sum() for end in series.tick])
    found = Answers.of(series.estimates)
    check(found, exact, boston.config.confidence)
    days = (series.tick - series.step).astype("datetime64[m]")
    draw_line(daily, days, found, exact, f"bounds, probability {boston.config.confidence:.3f}")
    daily.annotate(
        "snow storm,\n5 and 6 March", (np.datetime64("2001-03-05T06:00"), 60), (np.datetime64("2001-03-09"), 55),
        fontsize=8.5, color=QUIET, arrowprops={"arrowstyle": "-", "color": QUIET},
    )  # fmt: skip
    daily.set_ylim(0)
    daily.set_xlim(days[0], days[-1])
    daily.xaxis.set_major_locator(mdates.WeekdayLocator(mdates.MO))
    daily.xaxis.set_major_formatter(mdates.DateFormatter("%-d %b"))
    daily.set_ylabel("flights a day")
    about = f"one sketch, {size_of(boston)} as bytes, asked once, on 1 April 2001; the older, the wider the bounds"
    style(daily, "How many flights left for Boston, day by day?", about)
    legend(daily, loc="lower left")


def draw_home_page(hourly: Any) -> None:
    """The requests for a home page in every half hour of a day."""
    log = pd.read_csv(DATA / "wc98" / "day6_sample.csv.gz", usecols=["epoch", "url"])
    epoch, midnight = log["epoch"].to_numpy(), int(pd.Timestamp("1998-05-01", tz="Europe/Paris").timestamp())
    web = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.005, delta=0.01, window=86_400))
    web.update_many(log["url"].to_numpy(), epoch)
    web.advance(midnight + 86_400)
    series = web.history("/", step=1800)
    came = epoch[log["url"] == "/"]
    exact = np.array([((came > end - series.step) & (came <= end)).sum() for end in series.tick])
    found = Answers.of(series.estimates)
    check(found, exact, web.config.confidence)
    hours = (series.tick - midnight) / 3600
    draw_line(hourly, hours, found, exact)
    hourly.set_ylim(0)
    hourly.set_xlim(0, 24)
    hourly.set_xticks(range(0, 25, 3), [f"{hour}:00" for hour in range(0, 25, 3)])
    hourly.set_ylabel("requests per half hour")
    hourly.set_xlabel("time in Paris")
    about = f"World Cup 1998 web log, sample of 1 May; one sketch, {size_of(web)} as bytes, asked at the end of the day"
    style(hourly, "How often was the home page asked for, every half hour?", about)


def draw_heavy_hitters(flights: Flights) -> None:
    """The most frequent items, by name."""
    phi = 0.02
    sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.005, delta=0.01, window=30 * DAY, heavy_hitters=True))
    known = flights.minute <= minute_of("2001-03-07")
    sketch.update_many(flights.destination[known], flights.minute[known])
    sketch.advance(minute_of("2001-03-07"))

    figure, panels = plt.subplots(1, 3, layout="constrained", figsize=(8.6, 4.2))
    for axes, (length, name) in zip(panels, ((1, "last day"), (7, "last 7 days"), (30, "last 30 days")), strict=True):
        hitters = sketch.heavy_hitters(phi, last=length * DAY)
        inside = known & (flights.minute > sketch.now - length * DAY)
        counts = pd.Series(flights.destination[inside]).value_counts()
        assert set(counts.index[counts >= phi / (1 - sketch.config.epsilon_sw) * inside.sum()]) <= {
            hitter.item for hitter in hitters
        }
        found = Answers.of(hitter.estimate for hitter in hitters)
        exact = np.array([counts[hitter.item] for hitter in hitters])
        check(found, exact, sketch.config.confidence)
        places = np.arange(len(hitters))
        draw_bars(axes, places, found, exact)
        axes.axvline(phi * inside.sum(), color=QUIET, linewidth=0.9, linestyle=":", label="2% of all")
        axes.set_yticks(places, [hitter.item for hitter in hitters])
        axes.set_ylim(13.6, -0.6)
        axes.set_xlim(0)
        axes.xaxis.set_major_formatter(THOUSANDS)
        axes.locator_params(axis="x", nbins=4)
        axes.set_xlabel(f"flights, {name}")
        style(axes)
    panels[1].set_title(" ", fontsize=11, pad=22)  # leaves room for the title of the first panel
    about = f"one sketch that keeps names, {size_of(sketch)} as bytes, asked at the end of 6 March 2001"
    style(panels[0], "Which destinations had at least 2% of the flights?", about, within=False)
    legend(panels[0], figure=figure, loc="outside lower center", ncols=4)
    save(figure, "heavy-hitters")


def main() -> None:
    """Draw all pictures; every script fills sketches, asks them and checks the answers."""
    if not DATA.is_dir():
        sys.exit("the real streams are missing: put them into shared/data beside the project's folder")
    flights = read_flights()
    for picture in (
        draw_estimate,
        draw_history,
        draw_heavy_hitters,
        draw_quantiles,
        draw_range_sum,
        draw_self_join,
        draw_last_arrivals,
    ):
        picture(flights)


if __name__ == "__main__":
    main()
