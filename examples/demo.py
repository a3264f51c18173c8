"""A World Cup day on 33 servers: generate the log, sketch it on Spark, merge, ask, and compare with exact counts."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import ecmsketch as ecm
from ecmsketch.cli.session import spark_progress, spark_session
from ecmsketch.generate import WorldCupLog

EVENTS = 2_000_000
RECORD_BYTES = 20
RANGES = {"5 minutes": 300, "hour": 3600, "day": 86_400}
PICTURE = Path("demo.png")


def main() -> None:
    log = WorldCupLog(EVENTS, day=66, all_servers=True)
    config = ecm.SketchConfig(
        epsilon=0.01, delta=0.05, window=86_400, unit="s", merge_depth=1, heavy_hitters=True
    )  # fmt: skip
    print(f"The log is {log.describe()}.\n")
    with spark_session("local[2]") as spark, tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/log"
        sketches = build(spark, log, path, config)
        merged = merge(spark, sketches)
        truth = Truth(spark, path)
        busiest_pages(merged, truth)
        self_joins(merged, truth)
        draw(merged, truth)


def build(spark: Any, log: WorldCupLog, path: str, config: ecm.SketchConfig) -> Any:
    """Build one sketch per server; Spark's workers read the files of the log."""
    from ecmsketch import spark as ecm_spark

    with spark_progress(spark, "generating the log"):
        ecm_spark.write_generated(spark, log, path, "worldcup98")
    began = time.perf_counter()
    with spark_progress(spark, "building sketches"):
        sketches = ecm_spark.build_sketches_from_files(spark, path, config, "object", "timestamp", "server").cache()
        rows = sketches.collect()
    seconds = time.perf_counter() - began
    moved = sum(len(row["sketch"]) for row in rows)
    print(f"{len(rows)} servers, one sketch each, in {seconds:.0f} s (mostly starting workers).")
    print(f"Bytes to send: {moved:,} as sketches, {RECORD_BYTES * EVENTS:,} as the log itself.\n")
    return sketches


def merge(spark: Any, sketches: Any) -> ecm.EcmSketch:
    """Merge the sketches of all servers in one step."""
    from ecmsketch import spark as ecm_spark

    levels: list[ecm_spark.MergeLevel] = []
    with spark_progress(spark, "merging"):
        merged = ecm_spark.merge_sketches(sketches, report=levels.append)
    assert isinstance(merged, ecm.EcmSketch)
    print(f"Merged {levels[0].inputs} sketches in {len(levels)} level: the error of a point query is now at most")
    print(f"{merged.epsilon:.4f} of the arrivals; {merged.config.epsilon} was promised.\n")
    return merged


class Truth:
    """Exact answers, for which Spark reads the whole log again."""

    def __init__(self, spark: Any, path: str) -> None:
        from ecmsketch import spark as ecm_spark

        ecm_spark.register_sources(spark)
        events = spark.read.format("worldcup98").load(path)
        with spark_progress(spark, "counting exactly, to compare"):
            rows = events.groupBy("object", "timestamp").count().collect()
        self.counts = [(row["object"], row["timestamp"], row["count"]) for row in rows]

    def frequencies(self, since: int, until: int) -> dict[int, int]:
        """The number of requests for each page in (since, until]."""
        found: dict[int, int] = {}
        for page, tick, count in self.counts:
            if since < tick <= until:
                found[page] = found.get(page, 0) + count
        return found


def busiest_pages(merged: ecm.EcmSketch, truth: Truth) -> None:
    assert merged.now is not None
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
        print()


def self_joins(merged: ecm.EcmSketch, truth: Truth) -> None:
    assert merged.now is not None
    print("Self-join size, a measure of how skewed the requests are:")
    for name, last in RANGES.items():
        exact = sum(count**2 for count in truth.frequencies(merged.now - last, merged.now).values())
        answer = merged.self_join(last=last)
        inside = "" if answer.covers(exact) else "  OUTSIDE"
        print(f"  last {name:<10} {answer.value:>16,.0f}, exactly {exact:>14,}{inside}")


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
    axes.set_title(f"Requests for page {page} (generated log)", loc="left")
    axes.set_ylim(0, 1.5 * max(*exact, *series.estimates.value))
    axes.legend(loc="upper left", frameon=False)
    figure.savefig(PICTURE, dpi=110, metadata={"Software": None})
    print(f"\nA picture of page {page} over the day is in {PICTURE}.")


if __name__ == "__main__":
    main()
