"""The figures of the paper's experiments, drawn from the CSV alone: one picture for each message."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from ecmsketch.experiments.paper import published
from ecmsketch.experiments.paper.table3 import WHOLE
from ecmsketch.experiments.report.intervals import Interval, by_seed
from ecmsketch.experiments.report.looks import LOOKS, PAPER, label_of
from ecmsketch.experiments.report.markdown import byte_size
from ecmsketch.experiments.report.paper_sections import FIGURE6_COLUMNS
from ecmsketch.experiments.results import StoredResult
from ecmsketch.experiments.spec import Row

QUERIES = {"point": "point queries", "self-join": "self-joins"}
AVERAGE, SENT = "average error (share of arrivals)", "bytes sent in all"


def small_multiples(rows: int, columns: int) -> tuple[Figure, list[list[Axes]]]:
    """Panels of one size with a light grid; the legend is drawn once, by `shared_legend`."""
    size = (1 + 3.9 * columns, 1.4 + 2.6 * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for panel in axes.flat:
        panel.grid(True, which="major", color="#dddddd", linewidth=0.6)
        panel.set_axisbelow(True)
        panel.tick_params(labelsize=8)
        panel.xaxis.label.set_fontsize(8.5)
        panel.yaxis.label.set_fontsize(8.5)
    return figure, [list(line) for line in axes]


def shared_legend(figure: Figure) -> None:
    """One legend for all panels, below them."""
    found = dict[str, Any]()
    for panel in figure.axes:
        panel.title.set_fontsize(9.5)
        found |= {label: handle for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=3, fontsize=8, frameon=False)


def _curve(panel: Axes, variant: str, xs: list[float], found: list[Interval]) -> None:
    look = LOOKS[variant]
    means = np.array([point.mean for point in found])
    below = np.array(
        [point.mean - max(point.low, 0.2 * point.mean) if point.low == point.low else 0 for point in found]
    )
    above = np.array([point.high - point.mean if point.high == point.high else 0 for point in found])
    size, face = (7, "none") if look.marker == "s" else (5, look.colour)  # ECM-DW and ECM-EH may coincide
    panel.errorbar(
        xs, means, [np.maximum(below, 0), above], color=look.colour, marker=look.marker, markersize=size,
        markerfacecolor=face, linewidth=1.3, linestyle=look.line, elinewidth=0.8, capsize=2, label=look.label,
    )  # fmt: skip


def _star(panel: Axes, x: float, y: float) -> None:
    panel.plot([x], [y], PAPER.marker, color=PAPER.colour, markersize=9, linestyle="", label=PAPER.label, zorder=5)


def _curves(panel: Axes, rows: list[Row], x: str, y: str, variants: Iterable[str]) -> None:
    """A curve over epsilon for every variant."""
    keys = ("variant", "epsilon")
    xs, ys = by_seed(rows, keys, x), by_seed(rows, keys, y)
    for variant in variants:
        mine = sorted((case for case in ys if case[0] == variant), key=lambda case: float(str(case[1])))
        if mine:
            _curve(panel, variant, [xs[case].mean for case in mine], [ys[case] for case in mine])


def _log(axis: Any, text: Callable[[float], str]) -> None:
    """Ticks at 1, 2 and 5 times powers of ten if there are few powers, at powers alone if there are many."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0) if high / max(low, 1e-12) < 60 else (1.0,)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))


def _plain(value: float) -> str:
    return f"{value:g}"


def _measured(result: StoredResult, query: str) -> list[Row]:
    return [row for row in result.rows if row["query"] == query and row["estimator"] != "computed"]


_SHOWN = ("dw reserved", "eh", "rw", "eh sharper", "slices", "slices 0.1")


def _error_at_memory(result: StoredResult) -> Figure:
    figure, (panels,) = small_multiples(1, 2)
    for panel, (query, name) in zip(panels, QUERIES.items(), strict=True):
        _curves(panel, _measured(result, query), "memory_bytes", "avg_error", _SHOWN)
        loss = published.loss(result.data, 0.1, "rw", query)
        size = published.megabytes(result.data, 0.1, "rw")
        if loss is not None and size is not None:
            _star(panel, size * 1e6, loss.centralised)
            panel.annotate("ε = 0.1", (size * 1e6, loss.centralised), (0, 8), textcoords="offset points",
                           ha="center", fontsize=8)  # fmt: skip
        panel.set(xscale="log", yscale="log", title=name, ylabel=AVERAGE)
        panel.set_xlabel("memory, with ε from 0.25 (left) to 0.05 (right)")
        panel.margins(x=0.12, y=0.15)
        _log(panel.xaxis, byte_size)
        _log(panel.yaxis, _plain)
    return figure


def _error_at_epsilon(result: StoredResult) -> Figure:
    figure, panels = small_multiples(2, 2)
    measures = {"avg_error": AVERAGE, "max_error": "maximum error (share of arrivals)"}
    for line, (measure, text) in zip(panels, measures.items(), strict=True):
        for panel, (query, name) in zip(line, QUERIES.items(), strict=True):
            rows = _measured(result, query)
            _curves(panel, rows, "epsilon", measure, _SHOWN)
            epsilons = sorted({float(row["epsilon"]) for row in rows})
            panel.plot(epsilons, epsilons, color="#000000", linewidth=1, label="y = ε, what is allowed")
            for epsilon in epsilons if measure == "avg_error" else ():
                for counter in ("eh", "rw"):
                    loss = published.loss(result.data, epsilon, counter, query)
                    if loss is not None:
                        _star(panel, epsilon, loss.centralised)
            panel.set(yscale="log", title=name, ylabel=text, xlabel="ε")
            panel.xaxis.set_major_locator(FixedLocator(epsilons))
            _log(panel.yaxis, _plain)
    return figure


def _memory_at_epsilon(result: StoredResult) -> Figure:
    figure, (panels,) = small_multiples(1, 2)
    for panel, (query, name) in zip(panels, QUERIES.items(), strict=True):
        rows = result.where(query=query)
        _curves(panel, rows, "epsilon", "memory_bytes", LOOKS)
        size = published.megabytes(result.data, 0.1, "rw") if query == "point" else None
        if size is not None:
            _star(panel, 0.1, size * 1e6)
        panel.set(yscale="log", title=f"sized for {name}", ylabel="memory", xlabel="ε")
        panel.xaxis.set_major_locator(FixedLocator(sorted({float(row["epsilon"]) for row in rows})))
        _log(panel.yaxis, byte_size)
    return figure


def _figure5(result: StoredResult) -> Figure:
    figure, (panels,) = small_multiples(1, 2)
    for panel, (query, name) in zip(panels, QUERIES.items(), strict=True):
        for variant, how in FIGURE6_COLUMNS:
            rows = result.where(variant=variant, how=how, query=query)
            _curves(panel, rows, "network_bytes", "avg_error", [variant] if rows else [])
        panel.set(xscale="log", yscale="log", title=name, ylabel=AVERAGE)
        panel.set_xlabel(f"{SENT}, with ε from 0.25 (left) to 0.05 (right)")
        panel.margins(x=0.12, y=0.15)
        for epsilon in (0.1, 0.2):
            loss = published.loss(result.data, epsilon, "eh", query)
            if loss is not None and loss.distributed is not None:
                panel.axhline(loss.distributed, color="#000000", linestyle=":", linewidth=0.9,
                              label="ECM-EH, printed in the paper for ε = 0.1 and 0.2")  # fmt: skip
        _log(panel.xaxis, byte_size)
        _log(panel.yaxis, _plain)
    return figure


def _figure6(result: StoredResult) -> Figure:
    figure, panels = small_multiples(2, 2)
    for column, (query, name) in enumerate(QUERIES.items()):
        error, network = panels[0][column], panels[1][column]
        for variant, how in FIGURE6_COLUMNS:
            rows = result.where(variant=variant, how=how, query=query)
            for panel, measure in ((error, "avg_error"), (network, "network_bytes")):
                found = by_seed([row for row in rows if row[measure] > 0], ("sites",), measure)
                if found:
                    _curve(panel, variant, [float(str(case[0])) for case in found], list(found.values()))
        for counter in ("eh", "rw"):
            loss = published.loss(result.data, 0.1, counter, query)
            if loss is not None:
                _star(error, 1, loss.centralised)
        error.set(title=name, ylabel=AVERAGE)
        network.set_ylabel(SENT)
        for panel, text in ((error, _plain), (network, byte_size)):
            panel.set_xscale("log", base=2)
            panel.set_yscale("log")
            panel.set_xlabel("sites")
            panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))
            _log(panel.yaxis, text)
        network.set_xlim(error.get_xlim())
    return figure


def _table3(result: StoredResult) -> Figure:
    figure, ((panel,),) = small_multiples(1, 1)
    figure.set_size_inches(8.9, 4.2)
    hows = list(dict.fromkeys(row["how"] for row in result.rows))
    for variant in dict.fromkeys(row["variant"] for row in result.rows):
        look = LOOKS[variant]
        rows = result.where(variant=variant)
        panel.plot(range(len(rows)), [row["updates_per_s"] for row in rows], color=look.colour, marker=look.marker,
                   linestyle=look.line, linewidth=1.3, markersize=6, label=label_of(variant))  # fmt: skip
        if variant in ("eh", "dw", "rw") and rows[0]["paper_updates_per_s"] != "":
            _star(panel, 0, rows[0]["paper_updates_per_s"])
            va = {"eh": "bottom", "dw": "top"}.get(variant, "center")  # these two are close to each other
            panel.annotate(f"ECM-{variant.upper()}", (0, rows[0]["paper_updates_per_s"]), (-9, 0), va=va,
                           textcoords="offset points", ha="right", fontsize=7.5)  # fmt: skip
    panel.set(yscale="log", ylabel="updates per second on one core", xlim=(-0.7, len(hows) - 0.7))
    panel.set_xticks(range(len(hows)), ["as the stream comes" if how == WHOLE else how for how in hows])
    _log(panel.yaxis, lambda value: f"{value / 1e6:g} M")
    return figure


PAPER_FIGURES: dict[str, dict[str, tuple[str, Callable[[StoredResult], Figure]]]] = {
    "table3": {"table3": ("Table 3: speed by size of batch, ε = 0.1", _table3)},
    "figure4": {
        "figure4": ("Figure 4: error against memory", _error_at_memory),
        "figure4-epsilon": ("Figure 4: observed errors are below ε", _error_at_epsilon),
        "figure4-memory": ("Figure 4: memory for the same ε", _memory_at_epsilon),
    },
    "table4": {
        "figure5": (
            "Figure 5: error of all sites together against bytes sent; the paper's up a binary tree, ours in one step",
            _figure5,
        )
    },
    "figure6": {
        "figure6": (
            "Figure 6: error and bytes as the network grows, ε = 0.1; the paper's up a binary tree, ours in one step",
            _figure6,
        )
    },
}
"""For each experiment, its pictures: the name of the file, what it says, and how it is drawn."""
