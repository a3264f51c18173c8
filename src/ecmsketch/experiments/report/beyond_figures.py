"""The figures of the experiments beyond the paper: small multiples with intervals over seeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.figure import Figure

from ecmsketch.experiments.report.intervals import Interval, by_seed
from ecmsketch.experiments.report.multiples import (
    LOOKS,
    bytes_on,
    enough,
    grid,
    line,
    log_axes,
    same_height,
    share_legend,
)
from ecmsketch.experiments.results import StoredResult
from ecmsketch.experiments.spec import Row

OTHER_LOOKS = {
    "Sliding Sketch CM (KDD 2020)": ("#636363", "s"),
    "MicroscopeSketch CU (KDD 2023)": ("#238b45", "D"),
    "ECM of the Sliding Sketch authors": ("#bdbdbd", "^"),
    "ecmsketch eh": LOOKS["eh"],
    "ecmsketch slices": LOOKS["slices"],
    "ecmsketch slices, resolution 0.1": LOOKS["slices, resolution 0.1"],
    "ecmsketch slices, one call per event": ("#7a0177", "*"),
    "probstructs ECM": ("#8c6d31", "^"),
    "datasketches Count-Min panes": ("#636363", "s"),
    "DuckDB, exact": ("#238b45", "D"),
    "Spark windows, exact": ("#fd8d3c", "h"),
}


def means(rows: list[Row], by: str, column: str) -> dict[Any, Interval]:
    """The mean of a column over seeds for each value of `by`, from the least to the greatest."""
    found = {case[0]: value for case, value in by_seed(rows, (by,), column).items()}
    return dict(sorted(found.items(), key=lambda point: float(str(point[0]))))


def _worst(rows: list[Row], by: str, column: str) -> dict[Any, Interval]:
    """The maximum of a column over seeds for each value of `by`."""
    places = sorted({row[by] for row in rows})
    most = {place: max(float(row[column]) for row in rows if row[by] == place) for place in places}
    return {place: Interval(value, value, value) for place, value in most.items()}


def _errors(by: str, xlabel: str, ylabel: str, arrivals: tuple[str, ...], average: str, worst: str) -> Any:
    """A figure with a panel for each epsilon: the average and the worst error of each engine, and epsilon."""

    def draw(result: StoredResult) -> Figure:
        rows = enough(result.rows, *arrivals)
        epsilons = sorted({row["epsilon"] for row in rows})
        figure, panels = grid(1, len(epsilons))
        for panel, epsilon in zip(panels, epsilons, strict=True):
            for engine in dict.fromkeys(row["engine"] for row in rows):
                mine = [row for row in rows if row["engine"] == engine and row["epsilon"] == epsilon]
                line(panel, means(mine, by, average), LOOKS[engine], engine)
                line(panel, _worst(mine, by, worst), LOOKS[engine], "_worst", "--")
            panel.plot([], [], "--", color="#555555", label="dashed: the worst")
            panel.axhline(epsilon, color="black", linewidth=1, label="ε")
            log_axes(panel, xlabel, ylabel if panel is panels[0] else "", f"ε = {epsilon:g}")
        same_height(panels)
        share_legend(figure, panels, 3 if len(panels) < 3 else 5)
        return figure

    return draw


def _heavy_hitters(result: StoredResult) -> Figure:
    rows = enough(result.rows, "arrivals")
    phis = sorted({row["phi"] for row in rows}, reverse=True)
    figure, panels = grid(2, len(phis), width=4.2, height=2.2)
    for number, panel in enumerate(panels):
        measure, phi = ("precision", "recall")[number // len(phis)], phis[number % len(phis)]
        for engine in dict.fromkeys(row["engine"] for row in rows):
            mine = [row for row in rows if row["engine"] == engine and row["phi"] == phi]
            line(panel, means(mine, "range_s", measure), LOOKS[engine], engine)
        panel.set(xscale="log", ylim=(0, 1.05))
        panel.set_title(f"{measure}, phi = {phi:g}", fontsize=9)
        panel.set_ylabel(measure if number % len(phis) == 0 else "", fontsize=8)
        panel.set_xlabel("range (s)" if number >= len(phis) else "", fontsize=8)
    share_legend(figure, panels)
    return figure


def _equal_memory(result: StoredResult) -> Figure:
    figure, panels = grid(1, 2, width=4.4, height=3.2)
    looks = LOOKS | OTHER_LOOKS
    titles = ("all items in the window", "the heaviest 100 items")
    for panel, measure, title in zip(panels, ("all_items", "heaviest"), titles, strict=True):
        for sketch in dict.fromkeys(row["sketch"] for row in result.rows):
            mine = result.where(sketch=sketch)
            sizes = {case[0]: value.mean for case, value in by_seed(mine, ("setting",), "memory_bytes").items()}
            errors = by_seed(mine, ("setting",), measure)
            points = {sizes[case[0]]: value for case, value in errors.items()}
            if mine[0]["setting"] == "":
                points = {row["memory_bytes"]: Interval(row[measure], row[measure], row[measure]) for row in mine}
            given = mine[0]["source"] != "measured here"
            line(panel, dict(sorted(points.items())), looks[sketch], sketch, "--" if given else "-")
        log_axes(panel, "memory", "mean absolute error" if panel is panels[0] else "", title)
        bytes_on(panel.xaxis)
    share_legend(figure, panels, 3)
    return figure


def _batch_sizes(result: StoredResult) -> Figure:
    epsilons = sorted({row["epsilon"] for row in result.rows}, reverse=True)
    figure, panels = grid(1, len(epsilons))
    for panel, epsilon in zip(panels, epsilons, strict=True):
        for engine in dict.fromkeys(row["engine"] for row in result.rows):
            mine = result.where(engine=engine, epsilon=epsilon)
            line(panel, means(mine, "batch", "updates_per_s"), LOOKS[engine], engine)
        log_axes(panel, "events in a batch", "updates per second" if panel is panels[0] else "", f"ε = {epsilon:g}")
    same_height(panels)
    share_legend(figure, panels)
    return figure


def _peers(result: StoredResult) -> Figure:
    figure, panels = grid(3, 2, width=4.4, height=2.3)
    names = {"memory_bytes": "memory", "ns_per_event": "ns per event", "ask_us": "µs per question"}
    sweeps = {"events": "events, all of them in the window", "window": "events in the window, the others expire"}
    rows = [row for row in result.rows if row["state"] == "measured"]
    for number, panel in enumerate(panels):
        measure, sweep = list(names)[number // 2], list(sweeps)[number % 2]
        for peer in dict.fromkeys(row["peer"] for row in rows):
            mine = [row for row in rows if row["peer"] == peer and row["sweep"] == sweep and row[measure] != ""]
            if mine:
                line(panel, means(mine, "window", measure), OTHER_LOOKS[peer], peer)
        log_axes(panel, sweeps[sweep] if number >= 4 else "", names[measure] if number % 2 == 0 else "", "")
        if measure == "memory_bytes":
            bytes_on(panel.yaxis)
        if number % 2:
            same_height(panels[number - 1 : number + 1])
    panels[0].set_title("a stream that grows", fontsize=9)
    panels[1].set_title("a window that grows", fontsize=9)
    share_legend(figure, panels, 3)
    return figure


BEYOND_FIGURES: dict[str, Callable[[StoredResult], Figure]] = {
    "inner_product": _errors(
        "range_s", "range (s)", "error / (arrivals × arrivals)", ("arrivals_a", "arrivals_b"), "error", "error"
    ),
    "count_windows": _errors(
        "arrivals", "the last arrivals", "error / arrivals", ("arrivals",), "avg_error", "max_error"
    ),
    "heavy_hitters": _heavy_hitters,
    "quantiles": _errors("range_s", "range (s)", "error of the rank", ("arrivals",), "avg_error", "max_error"),
    "range_sums": _errors("range_s", "range (s)", "error / arrivals", ("arrivals",), "avg_error", "max_error"),
    "equal_memory": _equal_memory,
    "batch_sizes": _batch_sizes,
    "peers": _peers,
}
"""By experiment."""
OWN_WINDOWS = ("count_windows", "equal_memory", "batch_sizes", "peers")
"""Experiments whose window is not the paper's."""
