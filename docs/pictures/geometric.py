"""Draw docs/pictures/monitoring-geometric.png: the paper's Figure 3 anew, balls that cover what nobody knows."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle, Patch, Polygon

HERE = Path(__file__).parent
REFERENCE = np.array([2.0, 1.6])
DRIFTS = np.array([[3.3, 1.0], [2.75, 2.3], [1.6, 3.0], [1.0, 1.8], [2.6, 0.4]])
LENGTH = 3.75
"""The function is the square of the length; from here on it is above its threshold."""
BALL, HULL, ZONE, ABOVE, INK = "#6baed6", "#e6550d", "#31a354", "#fdd0a2", "#252525"


def draw() -> None:
    """Two tests of the same sites, side by side: balls, and a zone."""
    figure, (balls, zone) = plt.subplots(1, 2, figsize=(10, 5.4), layout="constrained", sharey=True)
    for axes in (balls, zone):
        _draw_space(axes)
    for drift in DRIFTS:
        center, radius = (REFERENCE + drift) / 2, np.linalg.norm(drift - REFERENCE) / 2
        assert np.linalg.norm(center) + radius < LENGTH
        balls.add_patch(Circle(center, radius, fc=BALL, ec="#2171b5", lw=1, alpha=0.35))
    zone.add_patch(Circle((0, 0), LENGTH - 0.04, fc=ZONE, ec=ZONE, lw=2.5, alpha=0.25))
    balls.set_title("ball: each site's ball is on one side\nof the threshold, so the average is too", fontsize=10)
    zone.set_title("zone: each drift is in one convex set,\nso the average is too", fontsize=10)
    for axes in (balls, zone):
        _draw_points(axes)
    handles, labels = balls.get_legend_handles_labels()
    handles += [Patch(fc=BALL, ec="#2171b5", alpha=0.5), Patch(fc=ZONE, ec=ZONE, alpha=0.3)]
    labels += ["ball of a site, from e to its u", "zone"]
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    figure.savefig(HERE / "monitoring-geometric.png", dpi=90)
    plt.close(figure)


def _draw_space(axes: plt.Axes) -> None:
    x, y = np.meshgrid(np.linspace(0, 4.6, 300), np.linspace(0, 3.6, 300))
    axes.contourf(x, y, np.hypot(x, y), levels=[LENGTH, 99], colors=[ABOVE])
    axes.contour(x, y, np.hypot(x, y), levels=[LENGTH], colors=[INK], linewidths=1)
    axes.text(3.55, 3.2, "above the\nthreshold", fontsize=9, ha="center")
    axes.set(xlim=(0, 4.6), ylim=(0, 3.6), aspect="equal", xlabel="entry 1 of the vector", ylabel="entry 2")


def _draw_points(axes: plt.Axes) -> None:
    around = DRIFTS[np.argsort(np.arctan2(*(DRIFTS - DRIFTS.mean(axis=0)).T))]
    axes.add_patch(Polygon(around, fc="none", ec=HULL, lw=2, label="the average is in here"))
    axes.plot(*REFERENCE, "s", color=INK, ms=7, label="reference e")
    axes.plot(*DRIFTS.T, "o", color="#08519c", ms=7, label="drifts u of five sites")
    axes.plot(*DRIFTS.mean(axis=0), "*", color="#de2d26", ms=13, label="their average, which nobody knows")


if __name__ == "__main__":
    draw()
