"""The figures, drawn from the CSV alone. Axes are logarithmic where values span orders of magnitude."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ecmsketch.experiments.report.beyond_figures import BEYOND_FIGURES, OWN_WINDOWS
from ecmsketch.experiments.report.paper_figures import PAPER_FIGURES, shared_legend
from ecmsketch.experiments.results import StoredResult

STYLES = {"eh": ("#08519c", "P"), "dw": ("#e6550d", "s"), "rw": ("#31a354", "o")}
matplotlib.rcParams["svg.hashsalt"] = "ecmsketch"  # equal numbers give equal files
matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text: small files that can be searched
matplotlib.rcParams["font.sans-serif"] = ["DejaVu Sans", "Verdana", "Arial", "sans-serif"]


def draw_figures(result: StoredResult, folder: Path) -> list[Path]:
    """Draw the figures of one result as SVG; none if its experiment has no figure."""
    drawn = [
        (stem, title, draw)
        for stem, (title, draw) in PAPER_FIGURES.get(result.experiment, {}).items()
    ]  # fmt: skip
    if result.experiment in _DRAWN:
        drawn.append((result.experiment, result.manifest["title"], _DRAWN[result.experiment]))
    return [_save(result, folder, stem, title, draw(result)) for stem, title, draw in drawn]


def _save(result: StoredResult, folder: Path, stem: str, title: str, figure: Figure) -> Path:
    if result.experiment in PAPER_FIGURES:
        shared_legend(figure)
    figure.suptitle(f"{title}\n{_about(result)}", fontsize=10)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}-{result.data}.svg"
    figure.savefig(path, metadata={"Date": None, "Creator": None})
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


_DRAWN: dict[str, Callable[[StoredResult], Figure]] = {"levels": _levels, "estimators": _estimators, **BEYOND_FIGURES}
