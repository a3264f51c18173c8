"""Draw docs/pictures/monitoring-*.png: a threshold watched over many sites, beside the true value."""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter

import ecmsketch as ecm
from ecmsketch.monitor import Above, Events, SelfJoin, Simulation, Watch, simulate

HERE = Path(__file__).parent
DATA = Path(__file__).parents[3] / "shared" / "data"
FLOOD = HERE.parents[1] / "examples" / "flood.py"
TRUTH, SKETCH, KNOWN, ALARM, QUIET = "#de2d26", "#08519c", "#6baed6", "#fdd0a2", "#636363"
HOUR, DAY = 60, 1440
"""In minutes: flights have ticks of a minute."""


def watch_flood() -> None:
    """Draw the flood of examples/flood.py."""
    example = runpy.run_path(str(FLOOD))
    servers, pages, ticks = example["requests"]()
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=example["LAST"])
    watch = Watch(SelfJoin(), Above(50_000_000), example["LAST"], config)
    run = simulate(watch, Events(servers, pages, ticks), every=example["EVERY"], until=int(ticks[-1]), truth=True)
    shipped = 16 * len(ticks)
    title = (
        f"A flood against one page over {run.sites} generated servers: self-join size of the last 10 minutes\n"
        f"{run.messages.total()} messages, {run.bytes.total() / 1e3:.0f} KB; "
        f"the {len(ticks):,} requests themselves {shipped / 1e6:.1f} MB"
    )
    draw(run, run.column("tick") / 3600, "hour of the day", title, "monitoring-flood.png")


def watch_flights() -> None:
    """Draw the pairs of origin and destination of US departures in the last day; every airport is a site."""
    table = pd.read_parquet(DATA / "flights" / "flights-3m.parquet", columns=["date", "origin", "destination"])
    ticks = table["date"].to_numpy().astype("datetime64[m]").astype(np.int64)
    first = ticks[0]
    some = ticks < first + 28 * DAY
    ticks = ticks[some]
    pairs = (table["origin"] + "-" + table["destination"]).to_numpy()[some].astype(str)
    config = ecm.SketchConfig(epsilon=0.01, delta=0.1, window=DAY)
    watch = Watch(SelfJoin(), Above(150_000), DAY, config)
    sites = table["origin"].to_numpy()[some].astype(str)
    run = simulate(watch, Events(sites, pairs, ticks), every=HOUR, until=int(ticks[-1]), truth=True)
    title = (
        f"US departures from {run.sites} airports (real, 2001): self-join size of origin and destination, last day\n"
        f"{run.messages.total():,} messages, {run.bytes.total() / 1e6:.2f} MB; "
        f"the {len(ticks):,} departures themselves {16 * len(ticks) / 1e6:.1f} MB"
    )
    draw(run, (run.column("tick") - first) / DAY, "days since 1 January 2001", title, "monitoring-flights.png")


def draw(run: Simulation, time: np.ndarray, unit: str, title: str, name: str) -> None:
    """Draw the true value, that of the sites' sketches, that of the coordinator, its synchronisations and alarms."""
    assert run.missed == 0
    figure, axes = plt.subplots(figsize=(10, 4.6), layout="constrained")
    above = run.column("known_region") == 1
    top = 1.08 * max(run.column("value").max(), run.watch.threshold.tau)
    axes.fill_between(time, 0, top, where=above, step="post", color=ALARM, lw=0, label="coordinator says: above")
    axes.plot(time, run.column("truth"), color=TRUTH, lw=5, alpha=0.45, label="true value")
    axes.plot(time, run.column("value"), color=SKETCH, lw=1.2, ls="--", label="value of the sites' sketches")
    axes.step(time, run.column("known_value"), color=KNOWN, lw=1, where="post", label="value the coordinator has")
    synced = np.flatnonzero(np.diff(run.column("syncs"), prepend=0))
    axes.plot(time[synced], run.column("known_value")[synced], "o", color=SKETCH, ms=4, label="synchronisations")
    axes.axhline(run.watch.threshold.tau, color=QUIET, lw=1, ls="--", label="threshold")
    axes.set(xlabel=unit, ylabel="self-join size", xlim=(time[0], time[-1]), ylim=(0, top))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}"))
    axes.set_title(title, loc="left", fontsize=10)
    figure.legend(fontsize=8, frameon=False, ncols=3, loc="outside lower center")
    figure.savefig(HERE / name, dpi=90)
    plt.close(figure)


if __name__ == "__main__":
    watch_flood()
    if DATA.exists():
        watch_flights()
