"""What the scripts of the guide's pictures share: the flights, the answers, and one look for every picture."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter
from PIL import Image

import ecmsketch as ecm

DATA = Path(__file__).parents[3] / "shared" / "data"
HERE = Path(__file__).parent
HOUR, DAY = 60, 1440
"""In minutes: flights have ticks of a minute."""
SKETCH, BOUNDS, BAR, EXACT, QUIET = "#08519c", "#c6dbef", "#9ecae1", "#de2d26", "#636363"
THOUSANDS = FuncFormatter(lambda number, _: f"{number:,.0f}")


class Flights(NamedTuple):
    """US departures in the first half of 2001, in order of time."""

    minute: np.ndarray
    delay: np.ndarray
    origin: np.ndarray
    destination: np.ndarray


class Answers(NamedTuple):
    """The answers of a sketch to many questions."""

    value: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, found: Iterable[ecm.Estimate]) -> Answers:
        return cls(*(np.array(part, float) for part in list(zip(*found, strict=True))[:3]))

    def scaled(self, factor: Any) -> Answers:
        return Answers(*(part * factor for part in self))


def read_flights() -> Flights:
    """Read the departures from the shared data folder."""
    table = pd.read_parquet(DATA / "flights" / "flights-3m.parquet", columns=["date", *Flights._fields[1:]])
    columns = (table[name].to_numpy() for name in Flights._fields[1:])
    flights = Flights(table["date"].to_numpy().astype("datetime64[m]").astype(np.int64), *columns)
    assert (np.diff(flights.minute) >= 0).all()
    return flights


def minute_of(moment: str) -> int:
    """The tick of a moment."""
    return int(np.datetime64(moment, "m").astype(np.int64))


def check(found: Answers, exact: Any, confidence: float = 1.0) -> None:
    """Check that all upper bounds hold, and lower bounds at least as often as promised."""
    assert (np.asarray(exact) <= found.upper + 1e-9).all()
    assert (found.lower <= np.asarray(exact) + 1e-9).mean() >= confidence


def size_of(sketch: Any) -> str:
    """The size of the serialised sketch, for a title."""
    size = len(sketch.serialize())
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} KB"


def style(axes: Any, question: str = "", about: str = "", within: bool = True) -> None:
    """Give a picture its look: the question as title, a line about the sketch below it, no boxes.

    A title that is not `within` its axes may extend over their neighbours.
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


def draw_line(axes: Any, x: Any, found: Answers, exact: Any, bounds: str = "bounds") -> None:
    """Draw the bounds as a band, then the sketch's answers, then the exact ones."""
    axes.fill_between(x, found.lower, found.upper, color=BOUNDS, linewidth=0, label=bounds)
    axes.plot(x, found.value, color=SKETCH, linewidth=1.6, label="sketch")
    axes.plot(x, exact, "--", color=EXACT, linewidth=1.2, label="exact")


def draw_bars(axes: Any, places: Any, found: Answers, exact: Any, bounds: str = "bounds", across: bool = True) -> None:
    """Draw the sketch's answers as bars with bounds, and the exact ones as dots; horizontally if `across`."""
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
    """Add a legend without a box: every label once, the sketch first and the exact answers last."""
    handles, labels = axes.get_legend_handles_labels()
    known = dict(zip(labels, handles, strict=True))
    order = sorted(known, key=lambda label: (label == "exact", label != "sketch", label[0] != "b"))
    where.pop("figure", axes).legend([known[label] for label in order], order, frameon=False, fontsize=8.5, **where)


def save(figure: Any, name: str) -> None:
    """Save a figure beside this script, with 64 colours: a quarter of the bytes."""
    drawn = BytesIO()
    figure.savefig(drawn, dpi=110, metadata={"Software": None})
    plt.close(figure)
    Image.open(drawn).convert("RGB").quantize(64).save(HERE / f"guide-{name}.png", optimize=True)
