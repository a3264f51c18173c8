"""Draws docs/pictures/guide-*.png: every question of docs/guide.md, asked of real streams, beside the exact answer."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.dates as mdates
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, NullLocator
from PIL import Image

import ecmsketch as ecm

DATA = Path(__file__).parents[3] / "shared" / "data"
HERE = Path(__file__).parent
HOUR, DAY = 60, 1440
"""In minutes, the ticks of flights."""
SKETCH, BOUNDS, BAR, EXACT, QUIET = "#08519c", "#c6dbef", "#9ecae1", "#de2d26", "#636363"
THOUSANDS = FuncFormatter(lambda number, _: f"{number:,.0f}")


class Flights(NamedTuple):
    """US departures, first half of 2001, in order of time."""

    minute: np.ndarray
    delay: np.ndarray
    origin: np.ndarray
    destination: np.ndarray


class Answers(NamedTuple):
    """Of a sketch, to many questions."""

    value: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, found: Iterable[ecm.Estimate]) -> Answers:
        return cls(*(np.array(part, float) for part in list(zip(*found, strict=True))[:3]))

    def scaled(self, factor: Any) -> Answers:
        return Answers(*(part * factor for part in self))


def read_flights() -> Flights:
    """Of the shared data folder."""
    table = pd.read_parquet(DATA / "flights" / "flights-3m.parquet", columns=["date", *Flights._fields[1:]])
    columns = (table[name].to_numpy() for name in Flights._fields[1:])
    flights = Flights(table["date"].to_numpy().astype("datetime64[m]").astype(np.int64), *columns)
    assert (np.diff(flights.minute) >= 0).all()
    return flights


def minute_of(moment: str) -> int:
    """A tick of flights."""
    return int(np.datetime64(moment, "m").astype(np.int64))


def check(found: Answers, exact: Any, confidence: float = 1.0) -> None:
    """Upper bounds always hold; lower bounds at least as often as promised."""
    assert (np.asarray(exact) <= found.upper + 1e-9).all()
    assert (found.lower <= np.asarray(exact) + 1e-9).mean() >= confidence


def size_of(sketch: Any) -> str:
    """As bytes, for a title."""
    size = len(sketch.serialize())
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} KB"


def style(axes: Any, question: str = "", about: str = "", within: bool = True) -> None:
    """One look for every picture: the question as a title, of what it was asked below it, no boxes.

    A title not `within` its axes goes on above their neighbours.
    """
    if question:
        title = axes.set_title(question, loc="left", fontsize=11, fontweight="bold", pad=22)
        title.set_in_layout(within)
        below = axes.annotate(
            about, (0, 1), (0, 6), xycoords="axes fraction", textcoords="offset points", fontsize=8.5, color=QUIET
        )
        below.set_in_layout(within)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8.5)
    axes.xaxis.label.set_size(9)
    axes.yaxis.label.set_size(9)


def draw(axes: Any, x: Any, found: Answers, exact: Any, bounds: str = "bounds") -> None:
    """Bounds as a band, the sketch's answers, and the exact ones on top."""
    axes.fill_between(x, found.lower, found.upper, color=BOUNDS, linewidth=0, label=bounds)
    axes.plot(x, found.value, color=SKETCH, linewidth=1.6, label="sketch")
    axes.plot(x, exact, "--", color=EXACT, linewidth=1.2, label="exact")


def draw_bars(axes: Any, places: Any, found: Answers, exact: Any, bounds: str = "bounds", across: bool = True) -> None:
    """The sketch's answers as bars, their bounds, and the exact ones as dots; `across` from left to right."""
    reach = np.array([found.value - found.lower, found.upper - found.value])
    look = {"fmt": "none", "ecolor": SKETCH, "elinewidth": 1.2, "capsize": 3, "label": bounds}
    if across:
        axes.barh(places, found.value, color=BAR, height=0.66, label="sketch")
        axes.errorbar(found.value, places, xerr=reach, **look)
        axes.plot(exact, places, "o", color=EXACT, markersize=3.5, label="exact")
    else:
        axes.bar(places, found.value, color=BAR, width=0.7, label="sketch")
        axes.errorbar(places, found.value, yerr=reach, **look)
        axes.plot(places, exact, "o", color=EXACT, markersize=3.5, label="exact")


def legend(axes: Any, **where: Any) -> None:
    """Without a box; every label once, the sketch first and the truth last."""
    handles, labels = axes.get_legend_handles_labels()
    known = dict(zip(labels, handles, strict=True))
    order = sorted(known, key=lambda label: (label == "exact", label != "sketch", label[0] != "b"))
    where.pop("figure", axes).legend([known[label] for label in order], order, frameon=False, fontsize=8.5, **where)


def save(figure: Any, name: str) -> None:
    """Beside this script, in few colours: a quarter of the bytes."""
    drawn = BytesIO()
    figure.savefig(drawn, dpi=110, metadata={"Software": None})
    plt.close(figure)
    Image.open(drawn).convert("RGB").quantize(64).save(HERE / f"guide-{name}.png", optimize=True)


def draw_estimate(flights: Flights) -> None:
    """How often, for ranges of any length."""
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
    draw(counts, hours, found, exact, f"bounds, probability {sketch.config.confidence:.3f}")
    counts.set_yscale("log")
    counts.yaxis.set_major_formatter(THOUSANDS)
    counts.set_ylabel("flights")
    about = f"one sketch of US departures, {size_of(sketch)} as bytes, asked at 18:00 on 29 June 2001"
    style(counts, "How many flights left for Atlanta in the last hour, day, month?", about)
    legend(counts, loc="upper left")
    draw(errors, hours, found.scaled(100 / exact), np.full(len(hours), 100))
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
    """An item over time: Boston by the day, and a web page by the hour."""
    figure, (daily, hourly) = plt.subplots(2, 1, layout="constrained", figsize=(8, 6))
    figure.get_layout_engine().set(h_pad=0.1)

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
    draw(daily, days, found, exact, f"bounds, probability {boston.config.confidence:.3f}")
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
    draw(hourly, hours, found, exact)
    hourly.set_ylim(0)
    hourly.set_xlim(0, 24)
    hourly.set_xticks(range(0, 25, 3), [f"{hour}:00" for hour in range(0, 25, 3)])
    hourly.set_ylabel("requests per half hour")
    hourly.set_xlabel("time in Paris")
    about = f"World Cup 1998 web log, sample of 1 May; one sketch, {size_of(web)} as bytes, asked at the end of the day"
    style(hourly, "How often was the home page asked for, every half hour?", about)
    save(figure, "history")


def draw_heavy_hitters(flights: Flights) -> None:
    """What came most often, by name."""
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
    panels[1].set_title(" ", fontsize=11, pad=22)  # room above all of them for the title of the first
    about = f"one sketch that keeps names, {size_of(sketch)} as bytes, asked at the end of 6 March 2001"
    style(panels[0], "Which destinations had at least 2% of the flights?", about, within=False)
    legend(panels[0], figure=figure, loc="outside lower center", ncols=4)
    save(figure, "heavy-hitters")


def draw_quantiles(flights: Flights) -> None:
    """Percentiles of the last day, asked every day."""
    offset, shares = 2048, (0.5, 0.95)
    sketch = ecm.PrefixSketch(ecm.SketchConfig(epsilon=0.03, delta=0.05, window=7 * DAY), bits=12)
    begin, end = minute_of("2001-04-01"), minute_of("2001-07-01")
    asked, answers, exact = np.arange(begin + DAY, end + 1, DAY), [], []
    for now in asked:
        today = slice(*np.searchsorted(flights.minute, (now - DAY, now), side="right"))
        sketch.update_many(flights.delay[today] + offset, flights.minute[today])
        sketch.advance(now)
        answers.append(sketch.quantiles(shares, last=DAY))
        exact.append(np.quantile(flights.delay[today], shares, method="inverted_cdf"))

    figure, axes = plt.subplots(layout="constrained", figsize=(8, 3.8))
    days = (asked - DAY).astype("datetime64[m]")
    for i, name in enumerate(("median", "95th percentile")):
        found = Answers.of(daily[i] for daily in answers)
        found = Answers(*(part - offset for part in found))
        truth = np.array([daily[i] for daily in exact])
        check(found, truth)
        draw(axes, days, found, truth, "bounds, always")
        axes.text(days[-1] + np.timedelta64(2, "D"), truth[-8:].mean(), name, fontsize=9, color=SKETCH, va="center")
    axes.set_xlim(days[0], days[-1])
    axes.xaxis.set_major_locator(mdates.MonthLocator(bymonthday=(1, 15)))
    axes.xaxis.set_major_formatter(mdates.DateFormatter("%-d %b"))
    axes.set_ylabel("minutes late (below 0: early)")
    about = f"one sketch of the last 7 days, {size_of(sketch)} as bytes, asked at midnight, US departures 2001"
    style(axes, "How late were flights in the last day: the median and the 95th percentile?", about)
    legend(axes, loc="upper center", ncols=3)
    save(figure, "quantiles")


def draw_range_sum(flights: Flights) -> None:
    """How many numbers in a range, interval by interval."""
    offset = 2048
    sketch = ecm.PrefixSketch(ecm.SketchConfig(epsilon=0.002, delta=0.05, window=30 * DAY), bits=12)
    now = minute_of("2001-03-19")
    known = flights.minute <= now
    sketch.update_many(flights.delay[known] + offset, flights.minute[known])
    sketch.advance(now)
    ends = np.arange(now - 29 * DAY, now + 1, DAY)
    found = Answers.of(sketch.range_sum(15 + offset, 60 + offset, between=(end - DAY, end)) for end in ends)
    late = flights.minute[(flights.delay >= 15) & (flights.delay <= 60)]
    exact = np.array([((late > end - DAY) & (late <= end)).sum() for end in ends])
    check(found, exact)

    figure, axes = plt.subplots(layout="constrained", figsize=(8, 3.6))
    days = (ends - DAY).astype("datetime64[m]")
    draw_bars(axes, days, found, exact, "bounds, always", across=False)
    axes.set_ylim(0, 5700)
    axes.xaxis.set_major_locator(mdates.WeekdayLocator(mdates.MO))
    axes.xaxis.set_major_formatter(mdates.DateFormatter("%-d %b"))
    axes.yaxis.set_major_formatter(THOUSANDS)
    axes.set_ylabel("flights a day")
    about = f"one sketch, {size_of(sketch)} as bytes, asked once, at the end of 18 March 2001; older days, wider bounds"
    style(axes, "How many flights were 15 to 60 minutes late, on each of 30 days?", about)
    legend(axes, loc="upper right", ncols=3)
    save(figure, "range-sum")


def draw_self_join(flights: Flights) -> None:
    """How skewed one stream is, and how much two share."""
    figure, (skew, joins) = plt.subplots(1, 2, layout="constrained", figsize=(9, 3.8), width_ratios=(4, 3))
    figure.get_layout_engine().set(w_pad=0.1)

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
    draw(skew, asked, found.scaled(1e-6), truth / 1e6, f"bounds, probability {sketch.config.confidence:.3f}")
    skew.set_ylim(0)
    skew.set_xlim(60, asked[-1])
    skew.set_xlabel("seconds since the stream began")
    skew.set_ylabel("sum of squared counts, millions")
    style(skew, "How skewed was the last minute?", f"Twitter cache requests; one sketch, {size_of(sketch)} as bytes")
    legend(skew, loc="lower left")

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
    save(figure, "self-join")


def draw_last_arrivals(flights: Flights) -> None:
    """A share of the newest n arrivals of several sites."""
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
    draw(axes, numbers, found.scaled(100 / numbers), 100 * exact / numbers,
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


def main() -> None:
    """Fill, ask, check, draw."""
    if not DATA.is_dir():
        sys.exit("the real streams are not here: expected them in shared/data, beside the project's folder")
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
