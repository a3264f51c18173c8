"""From a thousand to a hundred thousand sites, for real: build, merge, store, ask and stream; and a model of more.

Each step is run with 10^3, 10^4 and 10^5 sites of 50 events, on two cores, and its time is fitted as
`fixed + each * sites`. What a *busy* site costs, with a million events a day, is measured on single sketches. The model
then adds up what 10^6 sites and 10^12 events a day would take.
"""

from __future__ import annotations

import csv
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ecmsketch as ecm
from benchmarks import many_sites, many_sites_store, streaming
from benchmarks.events import zipf
from benchmarks.sessions import start_spark
from benchmarks.table import Row, best_seconds, show

SITES = (1000, 10_000, 100_000)
EVENTS_A_SITE, ROWS_A_TRIGGER = 5, 500_000
"""Streams: events of a site in a trigger, and the most rows of a trigger."""
FULL = 1_000_000
"""Events of a busy site."""
FAN_IN = 64
WANTED_SITES, WANTED_EVENTS = 10**6, 10**12
RESULTS = Path("results")


class Step(NamedTuple):
    """One step, measured with each number of sites."""

    name: str
    seconds: tuple[float, ...]
    costs: tuple[many_sites.Cost, ...] = ()
    """Memory and bytes, of builds."""

    def fit(self) -> tuple[float, float]:
        """(Fixed seconds, seconds for each site): relative errors are least, and neither is negative."""
        sites, seconds = np.array(SITES, float), np.array(self.seconds)
        best = (float("inf"), 0.0, 0.0)
        for fixed in np.linspace(0, seconds.min(), 1001):
            each = float(((seconds - fixed) * sites / seconds**2).sum() / (sites**2 / seconds**2).sum())
            error = float((((fixed + each * sites) / seconds - 1) ** 2).sum())
            best = min(best, (error, float(fixed), max(each, 0.0)))
        return best[1], best[2]

    def growth(self) -> float:
        """The time of the most sites against that of a tenth of them, times ten: 1 is linear."""
        return self.seconds[-1] / self.seconds[-2] / (SITES[-1] / SITES[-2])


class Busy(NamedTuple):
    """What a site with a million events costs."""

    name: str
    bytes: int
    count_seconds: float
    merge_seconds: float
    """To read its bytes and merge it with others, 64 at a time."""


def run() -> None:
    """Measure all steps, draw them, fit a model, and say what more would cost."""
    spark = start_spark(partitions=4)
    folder = Path(tempfile.mkdtemp(prefix="ecmsketch-scale-"))
    try:
        steps = [*_batch(spark, folder), *_stores(), _stream(spark, folder)]
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    busy = [_busy("epsilon 0.1", epsilon=0.1), _busy("epsilon 0.01, resolution 0.1", epsilon=0.01, resolution=0.1)]
    _tell(steps, busy)
    _keep(steps)
    _draw(steps)


def _batch(spark: Any, folder: Path) -> list[Step]:
    """Build from a DataFrame and from files, and merge what was built."""
    from ecmsketch import spark as ecm_spark

    many_sites.write_events(folder / "warm", 100)
    merged: list[float] = []
    found: dict[str, list[many_sites.Cost]] = {"build_sketches": [], "build_sketches_from_files": []}
    for way in ("build_sketches", "build_sketches_from_files"):
        many_sites.build(spark, folder / "warm", way)
    warm = ecm_spark.build_sketches_from_files(spark, str(folder / "warm"), many_sites.CONFIG, *many_sites.COLUMNS)
    _timed(lambda: ecm_spark.merge_sketches(warm, FAN_IN))
    for sites in SITES:
        many_sites.write_events(folder / str(sites), sites)
        for way in ("build_sketches", "build_sketches_from_files"):
            found[way].append(many_sites.build(spark, folder / str(sites), way))
        built = ecm_spark.build_sketches_from_files(
            spark, str(folder / str(sites)), many_sites.CONFIG, *many_sites.COLUMNS
        )
        built.write.parquet(str(folder / f"built-{sites}"))
        kept = spark.read.parquet(str(folder / f"built-{sites}"))
        merged.append(_timed(lambda kept=kept: ecm_spark.merge_sketches(kept, FAN_IN)))
    built_steps = [Step(way, tuple(cost.seconds for cost in costs), tuple(costs)) for way, costs in found.items()]
    return [*built_steps, Step("merge_sketches", tuple(merged))]


def _stores() -> list[Step]:
    many_sites_store.measure(100)  # loads modules
    measured = [many_sites_store.measure(sites) for sites in SITES]
    names = {
        "store: write a snapshot of each site": ("write_seconds", 1),
        "store: read one site": ("one_site_ms", 1000),
        "store: read each site": ("each_seconds", 1),
        "store: all sites, first time": ("all_first_seconds", 1),
        "store: all sites, kept": ("all_kept_seconds", 1),
    }
    return [Step(name, tuple(found[key] / unit for found in measured)) for name, (key, unit) in names.items()]


def _stream(spark: Any, folder: Path) -> Step:
    from ecmsketch import spark as ecm_spark

    ecm_spark.use_rocksdb(spark)
    spark.conf.set("spark.sql.shuffle.partitions", 2)
    seconds = []
    for sites in SITES:
        rows = min(EVENTS_A_SITE * sites, ROWS_A_TRIGGER)
        seconds.append(streaming.many_sites(spark, folder / f"stream-{sites}", sites, rows, 5).seconds)
    return Step("stream: a trigger with events of most sites", tuple(seconds))


def _busy(name: str, **settings: Any) -> Busy:
    config = ecm.SketchConfig(delta=0.1, window=86_400, merge_depth=4, **settings)
    items, ticks = zipf(FULL), np.arange(FULL) * 86_400 // FULL

    def fill() -> ecm.EcmSketch:
        sketch = ecm.EcmSketch(config)
        sketch.update_many(items, ticks)
        assert sketch.now == ticks[-1]
        return sketch

    blobs = [fill().serialize()] * FAN_IN
    count, merged = best_seconds(fill, lambda: ecm.merge(map(ecm.EcmSketch.deserialize, blobs)).serialize(), rounds=3)
    return Busy(name, len(blobs[0]), count, merged / FAN_IN)


def _tell(steps: list[Step], busy: list[Busy]) -> None:
    rows = []
    for step in steps:
        fixed, each = step.fit()
        told = "  ".join(f"{seconds:9.3f}" for seconds in step.seconds)
        model = f"{fixed:.2f} s + {each * 1e6:.1f} us a site"
        rows.append(Row(step.name, f"{told} s   {model}   {step.growth():.2f} x linear"))
    show(f"Seconds with {', '.join(f'{sites:,}' for sites in SITES)} sites of {many_sites.EVENTS_A_SITE} events", rows)
    show(
        "Memory of the workers, and bytes of a sketch",
        [
            Row(step.name, "  ".join(f"{cost.worker_bytes / 2**20:5.0f} MB, {cost.sketch_bytes / cost.sites:.0f} bytes"
                                     for cost in step.costs))
            for step in steps if step.costs
        ],
    )  # fmt: skip
    show(
        f"A site with {FULL:,} events",
        [
            Row(
                site.name,
                f"{site.bytes:,} bytes; counted in {site.count_seconds * 1e3:.1f} ms, merged in "
                f"{site.merge_seconds * 1e3:.2f} ms of one core",
            )
            for site in busy
        ],
    )
    _tell_more({step.name: step.fit()[1] for step in steps}, busy)


def _tell_more(each: dict[str, float], busy: list[Busy]) -> None:
    """What a million sites would take: from the fit for small ones, from single sketches for busy ones."""
    rows = [
        Row(name, f"{2 * seconds * WANTED_SITES / 3600:.2f} core-hours")
        for name, seconds in each.items()
        if name.startswith(("build", "merge", "stream"))
    ]
    show(f"{WANTED_SITES:,} sites of {many_sites.EVENTS_A_SITE} events, on the fitted lines (two cores)", rows)
    rows = []
    for site in busy:
        counting = site.count_seconds * WANTED_EVENTS / FULL / 3600
        merging = site.merge_seconds * WANTED_SITES * FAN_IN / (FAN_IN - 1) / 3600
        size = site.bytes * WANTED_SITES / 1e9
        value = (
            f"{counting:.1f} core-hours to count, {merging:.1f} to merge; {size:,.0f} GB of sketches to send and keep"
        )
        rows.append(Row(site.name, value))
    show(f"{WANTED_EVENTS:.0e} events a day over {WANTED_SITES:,} sites, without reading the logs", rows)


def _timed(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _keep(steps: list[Step]) -> None:
    RESULTS.mkdir(exist_ok=True)
    with open(RESULTS / "scale.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["step", *SITES])
        table.writerows([f"{step.name}, seconds", *step.seconds] for step in steps)
        for step in (step for step in steps if step.costs):
            table.writerow([f"{step.name}, bytes of the workers' memory", *(cost.worker_bytes for cost in step.costs)])
            table.writerow([f"{step.name}, bytes of all sketches", *(cost.sketch_bytes for cost in step.costs)])
    print(f"\n  numbers: {RESULTS / 'scale.csv'}")


def _draw(steps: list[Step]) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("  no picture: matplotlib is not installed")
        return
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.subplots()
    for step in steps:
        fixed, each = step.fit()
        (line,) = axes.loglog(SITES, step.seconds, "o", markersize=5)
        more = np.geomspace(SITES[0], WANTED_SITES, 50)
        axes.loglog(more, fixed + each * more, "-", color=line.get_color(), linewidth=1.2, label=step.name)
    axes.axvspan(SITES[-1], WANTED_SITES, color="0.93", zorder=0)
    axes.text(0.98, 0.35, "not run:\nthe fitted lines", transform=axes.transAxes, ha="right", va="top", fontsize=8)
    axes.set(xlabel="sites, 50 events each", ylabel="seconds, two cores", xlim=(SITES[0] * 0.8, WANTED_SITES))
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right center", fontsize=8, frameon=False)
    figure.savefig(RESULTS / "scale.png", dpi=150)
    print(f"  picture: {RESULTS / 'scale.png'}")
