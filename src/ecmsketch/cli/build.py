"""ecmsketch build: read files and write one sketch per site."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import typer

from ecmsketch.cli.lengths import ahead_ticks
from ecmsketch.cli.options import Ahead, AsJson, HeavyHitters, Master, SiteColumn, SketchOptions, Store, WeightColumn
from ecmsketch.cli.output import say, show_one
from ecmsketch.cli.sketches import check_store
from ecmsketch.errors import InputError

Files = Annotated[list[str], typer.Argument(help="Files, folders or Delta tables.", show_default=False)]
ItemColumns = Annotated[
    list[str],
    typer.Option(help="Column to count. Give it several times to count rows of columns.", show_default=False),
]
TickColumn = Annotated[str, typer.Option(help="Column of the time: integers, timestamps or dates.", show_default=False)]


def build(
    paths: Files,
    store: Store,
    item: ItemColumns,
    tick: TickColumn,
    options: SketchOptions,
    site: SiteColumn = None,
    weight: WeightColumn = None,
    heavy_hitters: HeavyHitters = False,
    bits: Annotated[
        int | None, typer.Option(help="Build PrefixSketches of numbers below 2^bits, for `quantile`.")
    ] = None,
    radix: Annotated[int, typer.Option(help="Radix of the PrefixSketches.")] = 16,
    format: Annotated[
        str | None, typer.Option(help="parquet, csv, json, orc, arrow, delta or worldcup98. Default: by name.")
    ] = None,
    until: Annotated[int | None, typer.Option(help="Reject events after this tick.")] = None,
    ahead: Ahead = "1d",
    again: Annotated[bool, typer.Option("--again", help="Count events a second time if the store has them.")] = False,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Build one sketch per site from files, on Spark, and write them into a store.

    Example: ecmsketch build log --store sketches --item object --tick timestamp --site server --heavy-hitters
    """
    config = options.config(heavy_hitters=heavy_hitters)
    from ecmsketch.cli.session import needs_spark, spark_progress, spark_session

    columns = item if len(item) > 1 else item[0]
    with needs_spark():
        from ecmsketch.spark import build_sketches_from_files
    check_store(store)
    _check(paths, config, (columns, tick, site, weight), format, bits, radix, until)
    with spark_session(master) as spark, spark_progress(spark, "building sketches"):
        rows = build_sketches_from_files(
            spark, paths, config, columns, tick, site, weight, format=format, until=until,
            ahead=ahead_ticks(ahead, config.unit), bits=bits, radix=radix,
        ).collect()  # fmt: skip
    _store(rows, store, again, as_json)


def _check(
    paths: list[str],
    config: Any,
    columns: tuple[Any, ...],
    format: str | None,
    bits: int | None,
    radix: int,
    until: int | None,
) -> None:
    """Raise an error, before Spark starts, if the options, the files or their columns are wrong."""
    from ecmsketch.spark.file_checks import check_files
    from ecmsketch.spark.recipe import make_recipe

    make_recipe(config, bits, radix, until)
    check_files(paths, config, *columns, format=format, bits=bits)


def _store(rows: list[Any], store: str, again: bool, as_json: bool) -> None:
    """Write the sketches that were built into a store, and say what was counted and what was rejected."""
    from ecmsketch.store import Rejected, SketchRow, SketchStore

    built = [row for row in rows if row["sketch"] is not None]
    events = sum(row["events"] for row in rows)
    reasons: Counter[str] = Counter()
    for row in rows:
        reasons.update(row["reasons"])
    if reasons and not events:
        raise InputError(_all_rejected(reasons))
    made = [SketchRow(str(row["site"]), bytes(row["sketch"]), row["events"]) for row in built]
    SketchStore(store).append(made, again=again, rejected=Rejected(dict(reasons)))
    facts = {
        "store": store,
        "sites": len(built),
        "events": events,
        "bytes": sum(len(row["sketch"]) for row in built),
        "rejected": sum(reasons.values()),
    }
    show_one(facts | ({"reasons": reasons} if as_json else {}), as_json)
    for reason, count in sorted(reasons.items()):
        say(f"rejected: {count:,} rows, {reason}")
    if not rows:
        say("there are no rows in the files: nothing was stored")


def _all_rejected(reasons: Counter[str]) -> str:
    why = ", ".join(f"{count:,} with {reason}" for reason, count in sorted(reasons.items()))
    return f"nothing could be counted: all rows were rejected, {why}; nothing was stored. Check the columns and --unit"
