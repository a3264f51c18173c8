"""ecmsketch build: files in, one sketch per site out."""

from __future__ import annotations

from typing import Annotated

import typer

from ecmsketch.cli.options import (
    AsJson,
    Counter,
    Delta,
    Epsilon,
    HeavyHitters,
    Master,
    MergeDepth,
    SiteColumn,
    Unit,
    WeightColumn,
    Window,
    make_config,
)  # fmt: skip
from ecmsketch.cli.output import say, show_one


def build(
    paths: Annotated[list[str], typer.Argument(help="Files or folders: Parquet, CSV, worldcup98.", show_default=False)],
    store: Annotated[str, typer.Option(help="Where the sketches go: a Delta table.", show_default=False)],
    item: Annotated[list[str], typer.Option(help="Column to count; several times: rows of them.", show_default=False)],
    tick: Annotated[str, typer.Option(help="Column of the time: integers, timestamps or dates.", show_default=False)],
    site: SiteColumn = None,
    weight: WeightColumn = None,
    epsilon: Epsilon = 0.01,
    delta: Delta = 0.01,
    window: Window = "1d",
    unit: Unit = "s",
    counter: Counter = "eh",
    merge_depth: MergeDepth = 1,
    heavy_hitters: HeavyHitters = False,
    bits: Annotated[int | None, typer.Option(help="Numbers of so many bits, for `quantile`: a PrefixSketch.")] = None,
    radix: Annotated[int, typer.Option(help="Of the PrefixSketch.")] = 16,
    format: Annotated[str | None, typer.Option(help="parquet, csv or worldcup98. Default: by file name.")] = None,
    until: Annotated[int | None, typer.Option(help="Reject events after this tick.")] = None,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Build one sketch per site from files, on Spark, into a store.

    Example: ecmsketch build log --store sketches --item object --tick timestamp --site server --heavy-hitters
    """
    config = make_config(
        epsilon=epsilon, delta=delta, window=window, unit=unit, counter=counter, merge_depth=merge_depth,
        heavy_hitters=heavy_hitters,
    )  # fmt: skip
    from ecmsketch.cli.session import spark_progress, spark_session
    from ecmsketch.store import SketchRow, SketchStore

    with spark_session(master) as spark:
        from ecmsketch.spark import build_sketches_from_files

        with spark_progress(spark, "building sketches"):
            rows = build_sketches_from_files(
                spark, paths, config, item if len(item) > 1 else item[0], tick, site, weight,
                format=format, until=until, bits=bits, radix=radix,
            ).collect()  # fmt: skip
    built = [row for row in rows if row["sketch"] is not None]
    SketchStore(store).append(SketchRow(str(row["site"]), bytes(row["sketch"]), row["events"]) for row in built)
    reasons: dict[str, int] = {}
    for row in rows:
        for reason, count in row["reasons"].items():
            reasons[reason] = reasons.get(reason, 0) + count
    facts = {
        "store": store,
        "sites": len(built),
        "events": sum(row["events"] for row in rows),
        "bytes": sum(len(row["sketch"]) for row in built),
        "rejected": sum(reasons.values()),
    }
    show_one(facts | ({"reasons": reasons} if as_json else {}), as_json)
    for reason, count in sorted(reasons.items()):
        say(f"rejected: {count:,} rows, {reason}")
