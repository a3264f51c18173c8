"""Small multiples: panels in a grid with one legend, and lines with intervals over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import nan
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from ecmsketch.experiments.report.intervals import Interval
from ecmsketch.experiments.report.markdown import byte_size
from ecmsketch.experiments.spec import Row

LOOKS = {
    "eh": ("#08519c", "P"),
    "eh, resolution 0.1": ("#6baed6", "X"),
    "slices": ("#cb181d", "o"),
    "slices, resolution 0.1": ("#e7798f", "v"),
}
"""The colour and the marker of each engine, the same in all figures."""
LEAST_ARRIVALS = 1000
"""Ranges with fewer arrivals are left out of figures and averages: sliced sketches still hold them exactly."""


def enough(rows: Iterable[Row], *columns: str) -> list[Row]:
    """The rows of ranges with enough arrivals; all rows if there are none."""
    found = list(rows)
    return [row for row in found if min(row[name] for name in columns) >= LEAST_ARRIVALS] or found


def grid(rows: int, columns: int, width: float = 3.3, height: float = 2.7) -> tuple[Figure, list[Axes]]:
    """Panels from left to right and from top to bottom."""
    size = (max(width * columns, 6.6), height * rows + 1.0)
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    panels = list(axes.ravel())
    for panel in panels:
        panel.grid(True, which="major", color="#dddddd", linewidth=0.6)
        panel.set_axisbelow(True)
        panel.tick_params(which="both", labelsize=8)
    return figure, panels


def share_legend(figure: Figure, panels: Sequence[Axes], columns: int = 4) -> None:
    """One legend below all panels, with every label once."""
    found = {label: line for panel in panels for line, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    figure.legend(
        list(found.values()), list(found), loc="outside lower center", ncols=columns, fontsize=8, frameon=False,
        handlelength=3,
    )  # fmt: skip


def line(panel: Axes, points: dict[Any, Interval], look: tuple[str, str], label: str, style: str = "-") -> None:
    """A line through the means; bars show the intervals. Zeros are left out where the axis is logarithmic."""
    places = list(points)
    means = np.array([point.mean if point.mean > 0 else nan for point in points.values()])
    reach = [
        [point.mean - max(point.low, point.mean / 20) if point.low == point.low else 0 for point in points.values()],
        [point.high - point.mean if point.high == point.high else 0 for point in points.values()],
    ]
    colour, marker = look
    panel.errorbar(
        places, means, yerr=np.maximum(reach, 0), color=colour, marker=marker, markersize=4.5, linewidth=1.2,
        linestyle=style, capsize=2, elinewidth=0.9, label=label, markerfacecolor=colour if style == "-" else "white",
    )  # fmt: skip


def same_height(panels: Sequence[Axes]) -> None:
    """Give all panels one range of values, that of the lines; bars that reach below it are cut."""
    lines = [line for panel in panels for line in panel.get_lines() if line.get_linestyle() != "None"]  # no caps
    drawn = [np.asarray(line.get_ydata(), float) for line in lines]
    values = np.concatenate([part[np.isfinite(part) & (part > 0)] for part in drawn])
    for panel in panels:
        panel.set_ylim(values.min() / 2, values.max() * 2)


def log_axes(panel: Axes, xlabel: str, ylabel: str, title: str) -> None:
    """Two logarithmic axes with names."""
    panel.set(xscale="log", yscale="log")
    panel.set_xlabel(xlabel, fontsize=8)
    panel.set_ylabel(ylabel, fontsize=8)
    panel.set_title(title, fontsize=9)


def bytes_on(axis: Any) -> None:
    """Ticks as kB and MB."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: byte_size(value)))
    axis.set_minor_locator(NullLocator())
