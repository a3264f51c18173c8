"""Pictures of ordered numbers: quantiles and sums of ranges."""

from __future__ import annotations

import matplotlib.dates as mdates
import matplotlib.pyplot as plt
import numpy as np
from guide_shared import (
    DAY,
    SKETCH,
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


def draw_quantiles(flights: Flights) -> None:
    """Percentiles of the last day, for every day."""
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
        draw_line(axes, days, found, truth, "bounds, always")
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
    """How many numbers were in a range, on every day."""
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
