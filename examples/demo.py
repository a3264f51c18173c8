"""A World Cup day on 33 servers: generate the log, sketch it on Spark, merge, ask, and compare with exact counts."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ecmsketch as ecm
from ecmsketch.cli.session import spark_progress, spark_session
from ecmsketch.generate import WorldCupLog

LOG = WorldCupLog(2_000_000, day=66, all_servers=True)
CONFIG = ecm.SketchConfig(
    epsilon=0.0005, resolution=0.1, delta=0.05, window=86_400, unit="s", merge_depth=1, heavy_hitters=True
)
"""Collisions are what makes bounds wide here, so memory goes into a small epsilon and not into the starts of ranges."""
RECORD_BYTES = 20
RANGES = {"5 minutes": 300, "hour": 3600, "day": 86_400}
PICTURE = Path("demo.png")


def main() -> None:
    print(f"The log is {LOG.describe()}.")
    print(f"Sketches have epsilon {CONFIG.epsilon} and resolution {CONFIG.resolution}. That is, with {CONFIG.counter}:")
    print(f"{CONFIG.describe().splitlines()[1].removeprefix('promise: ')}.\n")
    with spark_session("local[2]") as spark, tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/log"
        sketches = build(spark, path)
        merged = merge(spark, sketches)
        truth = count_exactly(spark, path)
        widest = busiest_pages(merged, truth)
        print(f"The widest of these bounds span {widest:.0%} of their estimate.\n")
        worst = self_joins(merged, truth)
        print(f"The worst of these answers is off by {worst:.1%}.")
        draw(merged, truth)


def build(spark: Any, path: str) -> Any:
    """Build one sketch per server; Spark's workers read the files of the log."""
    from ecmsketch import spark as ecm_spark

    with spark_progress(spark, "generating the log"):
        ecm_spark.write_generated(spark, LOG, path, "worldcup98")
    began = time.perf_counter()
    with spark_progress(spark, "building sketches"):
        sketches = ecm_spark.build_sketches_from_files(spark, path, CONFIG, "object", "timestamp", "server").cache()
        rows = sketches.collect()
    seconds = time.perf_counter() - began
    moved = sum(len(row["sketch"]) for row in rows)
    print(f"{len(rows)} servers, one sketch each, in {seconds:.0f} s (mostly starting workers).")
    print(f"Bytes to send: {moved:,} as sketches, {RECORD_BYTES * LOG.events:,} as the log itself.\n")
    return sketches


def merge(spark: Any, sketches: Any) -> ecm.EcmSketch:
    """Merge the sketches of all servers in one step."""
    from ecmsketch import spark as ecm_spark

    levels: list[ecm_spark.MergeLevel] = []
    with spark_progress(spark, "merging"):
        merged = ecm_spark.merge_sketches(sketches, report=levels.append)
    assert isinstance(merged, ecm.EcmSketch)
    print(f"Merged {levels[0].inputs} sketches in {len(levels)} level, into {merged.nbytes:,} bytes of memory.\n")
    return merged


def count_exactly(spark: Any, path: str) -> Truth:
    """Count the requests for each page in each second, for which Spark reads the whole log again."""
    from ecmsketch import spark as ecm_spark

    ecm_spark.register_sources(spark)
    events = spark.read.format("worldcup98").load(path)
    with spark_progress(spark, "counting exactly, to compare"):
        rows = events.groupBy("object", "timestamp").count().collect()
    return Truth([(row["object"], row["timestamp"], row["count"]) for row in rows])


@dataclass(frozen=True)
class Truth:
    """Exact answers, from the number of requests for each page in each second."""

    counts: list[tuple[int, int, int]]

    def frequencies(self, since: int, until: int) -> dict[int, int]:
        """The number of requests for each page in (since, until]."""
        found: dict[int, int] = {}
        for page, tick, count in self.counts:
            if since < tick <= until:
                found[page] = found.get(page, 0) + count
        return found


def busiest_pages(merged: ecm.EcmSketch, truth: Truth) -> float:
    """Print the busiest pages of each range. Return the width of the widest bounds, relative to their estimate."""
    assert merged.now is not None
    widest = 0.0
    for name, last in RANGES.items():
        exact = truth.frequencies(merged.now - last, merged.now)
        ranks = {page: i + 1 for i, (page, _) in enumerate(sorted(exact.items(), key=lambda row: -row[1]))}
        total = merged.total(last=last)
        print(f"Busiest pages of the last {name}, of {total.value:,.0f} requests (exactly {sum(exact.values()):,}):")
        print(f"  {'page':>6}  {'estimate':>9}  {'exact':>7}  {'rank':>4}  bounds")
        for hitter in merged.top(5, last=last):
            estimate, count = hitter.estimate, exact.get(hitter.item, 0)
            bounds = f"[{estimate.lower:,.0f}, {estimate.upper:,.0f}] {'' if estimate.covers(count) else '  OUTSIDE'}"
            print(f"  {hitter.item:>6}  {estimate.value:>9,.0f}  {count:>7,}  {ranks[hitter.item]:>4}  {bounds}")
            widest = max(widest, (estimate.upper - estimate.lower) / estimate.value)
        print()
    return widest


def self_joins(merged: ecm.EcmSketch, truth: Truth) -> float:
    """Print the self-join of each range. Return the largest error, relative to the exact answer."""
    assert merged.now is not None
    worst = 0.0
    print("Self-join size, a measure of how skewed the requests are:")
    for name, last in RANGES.items():
        exact = sum(count**2 for count in truth.frequencies(merged.now - last, merged.now).values())
        answer = merged.self_join(last=last)
        inside = "" if answer.covers(exact) else "  OUTSIDE"
        print(f"  last {name:<10} {answer.value:>16,.0f}, exactly {exact:>14,}{inside}")
        worst = max(worst, abs(answer.value / exact - 1))
    return worst


def draw(merged: ecm.EcmSketch, truth: Truth) -> None:
    """Draw the requests for the busiest page over the day, exact and from the sketch."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    assert merged.now is not None
    page = merged.top(1)[0].item
    series = merged.history(page, 1800)
    exact = [truth.frequencies(int(tick) - series.step, int(tick)).get(page, 0) for tick in series.tick]
    hours = (series.tick - series.tick[0] + series.step) / 3600
    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    axes.fill_between(hours, series.estimates.lower, series.estimates.upper, alpha=0.25, label="bounds")
    axes.plot(hours, series.estimates.value, label="sketch of 33 servers, merged")
    axes.plot(hours, exact, "r--", linewidth=1, label="exact")
    axes.set(xlabel="hour of the day", ylabel="requests in half an hour", xlim=(0, 24))
    axes.set_title(
        f"Requests for page {page} (generated log): the older, the wider the bounds", loc="left", fontsize=11
    )
    axes.set_ylim(0, 1.03 * series.estimates.upper.max())
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(PICTURE, dpi=110, metadata={"Software": None})
    print(f"\nA picture of page {page} over the day is in {PICTURE}.")


if __name__ == "__main__":
    main()
