"""The figures, drawn from the CSV alone. Axes are logarithmic where values span orders of magnitude."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from ecmsketch.experiments.report.all_ranges import over_ranges
from ecmsketch.experiments.report.beyond_figures import BEYOND_FIGURES, OWN_WINDOWS
from ecmsketch.experiments.report.markdown import byte_size
from ecmsketch.experiments.results import StoredResult
from ecmsketch.experiments.spec import Row

STYLES = {"eh": ("#08519c", "P"), "dw": ("#e6550d", "s"), "rw": ("#31a354", "o")}
VARIANT_NAMES = {"eh": "ECM-EH", "dw": "ECM-DW", "rw": "ECM-RW"}
LINES = {"point": "-", "self-join": "--"}
DPI = 100


def draw_figure(result: StoredResult, folder: Path) -> Path | None:
    """Draw the figure of one result as a small PNG. Returns None if its experiment has no figure."""
    if result.experiment not in _DRAWN:
        return None
    figure = _DRAWN[result.experiment](result)
    figure.suptitle(f"{result.manifest['title']}\n{_about(result)}", fontsize=10)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{_FILES.get(result.experiment, result.experiment)}-{result.data}.png"
    figure.savefig(path, dpi=DPI, metadata={"Software": None})
    plt.close(figure)
    return path


def _about(result: StoredResult) -> str:
    data = result.manifest["data"]
    if result.experiment in ("batch_sizes", "peers"):  # of many lengths
        return f"{result.data} ({result.label})"
    window = "" if result.experiment in OWN_WINDOWS else ", window 1,000,000 s"
    return f"{result.data} ({result.label}), {data['events']:,} events{window}"


def _panels(count: int) -> tuple[Figure, list[Axes]]:
    figure, axes = plt.subplots(1, count, figsize=(4.6 * count, 3.9), layout="constrained", squeeze=False)
    for panel in axes[0]:
        panel.grid(True, which="major", color="#dddddd", linewidth=0.6)
        panel.set_axisbelow(True)
    return figure, list(axes[0])


def _as_the_paper(result: StoredResult) -> list[Row]:
    """The rows that match the paper: half of the oldest bucket, and waves with the paper's capacity."""
    return [
        row
        for row in result.rows
        if row["estimator"] in ("half", "sample") and (row["counter"] != "dw" or row.get("reserved", True))
    ]


def _line(panel: Axes, rows: list[Row], x: str, y: str, counter: str, query: str, label: str = "") -> None:
    colour, marker = STYLES[counter]
    panel.plot(
        [row[x] for row in rows], [row[y] for row in rows], color=colour, marker=marker, markersize=6,
        linestyle=LINES[query], linewidth=1.2, markerfacecolor=colour if query == "point" else "white",
        label=label or f"{VARIANT_NAMES[counter]}, {'point queries' if query == 'point' else 'self-join'}",
    )  # fmt: skip


def _from_zero(panel: Axes, rows: list[Row], measure: str) -> None:
    panel.set_ylim(0, 1.12 * max(row[measure] for row in rows))


def _note_epsilons(panel: Axes, rows: list[Row], x: str, y: str) -> None:
    """Label the points with their epsilons, on lines that have room for labels."""
    if rows[0]["query"] != "point" or rows[0]["counter"] == "dw":
        return
    place, side = ((-6, -8), "right") if rows[0]["counter"] == "eh" else ((6, 3), "left")
    for row in rows:
        panel.annotate(
            f"ε={row['epsilon']:g}", (row[x], row[y]), textcoords="offset points", xytext=place, ha=side,
            fontsize=6.5, color="#555555",
        )  # fmt: skip


def _series(rows: list[Row]) -> list[tuple[str, str, list[Row]]]:
    keys = dict.fromkeys((row["counter"], row["query"]) for row in rows)
    return [(*key, [row for row in rows if (row["counter"], row["query"]) == key]) for key in keys]


def _bytes_axis(axis: Any) -> None:
    axis.set_major_formatter(FuncFormatter(lambda value, _: byte_size(value)))
    axis.set_minor_locator(NullLocator())


def _figure4(result: StoredResult) -> Figure:
    figure, panels = _panels(2)
    rows = over_ranges(_as_the_paper(result))
    for panel, measure, name in zip(panels, ("avg_error", "max_error"), ("Average", "Maximum"), strict=True):
        for counter, query, line in _series(rows):
            _line(panel, line, "memory_bytes", measure, counter, query)
            _note_epsilons(panel, line, "memory_bytes", measure)
        panel.margins(x=0.18)
        panel.set(xscale="log", xlabel="memory (bytes, log scale)", ylabel=f"{name} observed error (share of arrivals)")
        _from_zero(panel, rows, measure)
        _bytes_axis(panel.xaxis)
    panels[0].legend(fontsize=7)
    return figure


def _figure5(result: StoredResult) -> Figure:
    figure, panels = _panels(2)
    rows = _as_the_paper(result)
    for panel, how, title in zip(
        panels, ("binary tree", "n-way"), ("as in the paper: binary tree", "ours: one n-way merge"), strict=True
    ):
        for counter, query, line in _series([row for row in rows if row["how"] == how]):
            _line(panel, line, "network_bytes", "avg_error", counter, query)
            _note_epsilons(panel, line, "network_bytes", "avg_error")
        panel.set(xscale="log", xlabel="network (bytes sent in all, log scale)", title=title)
        panel.set_ylabel("Average observed error (share of arrivals)")
        _bytes_axis(panel.xaxis)
        panel.title.set_fontsize(9)
    sizes = [row["network_bytes"] for row in rows if row["how"] != "centralised"]
    for panel in panels:
        panel.set(xlim=(min(sizes) / 2, max(sizes) * 3))
        _from_zero(panel, rows, "avg_error")
    panels[0].legend(fontsize=7)
    return figure


def _figure6(result: StoredResult) -> Figure:
    figure, panels = _panels(2)
    rows = [row for row in _as_the_paper(result) if row["how"] == "binary tree"]
    for counter, query, line in _series(rows):
        _line(panels[0], line, "sites", "avg_error", counter, query)
        _line(panels[1], [row for row in line if row["sites"] > 1], "sites", "network_bytes", counter, query)
    ours = [
        row
        for row in result.where(how="n-way", counter="eh", query="point", estimator="interpolate")
        if row["sites"] > 1
    ]
    for panel, measure in zip(panels, ("avg_error", "network_bytes"), strict=True):
        panel.plot(
            [row["sites"] for row in ours], [row[measure] for row in ours], color="#7f7f7f", linestyle=":", marker="x",
            label="ours: ECM-EH, point queries, n-way, interpolated",
        )  # fmt: skip
        panel.set_xscale("log", base=2)
        panel.set_xlabel("sites (log scale)")
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panels[0].set_ylabel("Average observed error (share of arrivals)")
    _from_zero(panels[0], rows, "avg_error")
    panels[1].set(yscale="log", ylabel="network (bytes sent in all, log scale)")
    _bytes_axis(panels[1].yaxis)
    panels[0].legend(fontsize=7, loc="lower left")
    return figure


def _table3(result: StoredResult) -> Figure:
    figure, (panel,) = _panels(1)
    figure.set_size_inches(6.2, 3.9)
    rows = result.where(how="batches")
    for offset, (name, column, colour) in enumerate(
        (("paper, 2012", "paper_updates_per_s", "#bdbdbd"), ("ours", "updates_per_s", "#08519c"))
    ):
        places = [place + 0.4 * offset for place in range(len(rows))]
        bars = panel.bar(places, [row[column] for row in rows], 0.38, color=colour, label=name)
        panel.bar_label(bars, [f"{row[column] / 1e6:.3g} M" for row in rows], fontsize=7)
    panel.set(yscale="log", ylabel="updates per second on one core (log scale)")
    panel.set_xticks([place + 0.2 for place in range(len(rows))], [VARIANT_NAMES[row["counter"]] for row in rows])
    panel.margins(y=0.15)
    panel.legend(fontsize=7)
    return figure


def _levels(result: StoredResult) -> Figure:
    figure, panels = _panels(2)
    rows = result.where(budget="none")
    levels = [row["levels"] for row in rows]
    for name, label, style, colour in (
        ("corrected_bound", "bound, compounding: (1+ε)^(h+1) − 1", "-", "#636363"),
        ("paper_bound", "the paper's: hε(1+ε) + ε", "--", "#636363"),
        ("max_relative", "worst observed", "-", "#de2d26"),
        ("avg_relative", "average observed", "-", "#08519c"),
    ):
        marker = "o" if "observed" in label else ""
        panels[0].plot(levels, [row[name] for row in rows], style, color=colour, label=label, marker=marker, ms=4)
    panels[0].set(title="sites cut for no merging", ylabel="relative error of one counter")
    target = rows[0]["target_epsilon_sw"]
    panels[1].axhline(target, color="#636363", label="target: ε of one counter")
    for budget, colour in (("paper", "#e6550d"), ("corrected", "#08519c")):
        cut = result.where(budget=budget)
        label = (
            f"worst observed, cut by the {budget} formula" if budget == "corrected" else "worst, the paper's formula"
        )
        style = "-" if budget == "corrected" else "--"
        panels[1].plot(levels, [row["max_relative"] for row in cut], style, color=colour, label=label, marker="o", ms=4)
    panels[1].set(title="sites cut for all levels of merging", ylabel="relative error of one counter")
    for panel in panels:
        panel.set(xlabel="levels of binary merging (2^h sites)", ylim=(0, None))
        panel.title.set_fontsize(9)
        panel.legend(fontsize=7)
    return figure


def _estimators(result: StoredResult) -> Figure:
    figure, panels = _panels(2)
    for panel, measure, name in zip(panels, ("avg_relative", "max_relative"), ("Average", "Worst"), strict=True):
        for counter in dict.fromkeys(row["counter"] for row in result.rows):
            colour, marker = STYLES[counter]
            for estimator, style in (("half", "--"), ("interpolate", "-")):
                rows = result.where(counter=counter, estimator=estimator)
                panel.plot(
                    [row["epsilon"] for row in rows], [row[measure] for row in rows], style, color=colour,
                    marker=marker, markersize=5, label=f"{counter.upper()}, {estimator}",
                )  # fmt: skip
        bounds = result.where(counter="eh", estimator="half")
        if measure == "max_relative":
            panel.plot(
                [row["epsilon"] for row in bounds], [row["epsilon_sw"] for row in bounds], ":", color="#636363",
                label="promised for one counter",
            )  # fmt: skip
        panel.set(xlabel="epsilon of the sketch", ylabel=f"{name} relative error of one counter", ylim=(0, None))
        panel.set_xticks([row["epsilon"] for row in bounds])
    panels[1].legend(fontsize=7, handlelength=4)
    return figure


_DRAWN: dict[str, Callable[[StoredResult], Figure]] = {
    "table3": _table3,
    "figure4": _figure4,
    "table4": _figure5,
    "figure6": _figure6,
    "levels": _levels,
    "estimators": _estimators,
    **BEYOND_FIGURES,
}
_FILES = {"table4": "figure5"}
