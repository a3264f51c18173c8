"""ecmsketch reproduce: the paper's tables and figures, run again on your machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ecmsketch.cli.options import AsJson, Master
from ecmsketch.cli.output import say, show, working


def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(help="table3, table4, figure4, figure5, figure6, beyond, peers or all.", show_default="all"),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="worldcup98, snmp, flights, twitter, or Parquet files in order of time; several times for several.",
            show_default="worldcup98 and snmp",
        ),
    ] = None,
    events: Annotated[int, typer.Option(help="Events of each stream, at most.", min=1000)] = 5_000_000,
    out: Annotated[Path, typer.Option(help="Folder for results; what is there already is not run again.")] = Path(
        "results"
    ),
    item: Annotated[str, typer.Option(help="Column to count, of your own files.")] = "item",
    tick: Annotated[str, typer.Option(help="Column of the time, in seconds or timestamps.")] = "tick",
    site: Annotated[str | None, typer.Option(help="Column of the place. Default: one place.")] = None,
    seed: Annotated[int, typer.Option(help="Of hash functions and generated data.", min=0)] = 0,
    again: Annotated[bool, typer.Option("--again", help="Run also what has been run already.")] = False,
    no_spark: Annotated[bool, typer.Option("--no-spark", help="Merge sites in this process.")] = False,
    docs: Annotated[
        Path | None, typer.Option(help="Also write results.md and its pictures into this folder.", show_default=False)
    ] = None,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Run the paper's experiments, and write a report that sets its numbers beside ours.

    Example: ecmsketch reproduce figure4 --data flights; ecmsketch reproduce all --events 5000000 --out results
    """
    from ecmsketch.experiments.data import expand, open_stream
    from ecmsketch.experiments.parquet import Columns
    from ecmsketch.experiments.registry import chosen
    from ecmsketch.experiments.report import write, write_docs
    from ecmsketch.experiments.runner import run_all

    specs = chosen(experiments or ["all"])
    names = expand(data or ["worldcup98", "snmp"])
    with working("opening the data") as change:
        streams = [open_stream(name, events, seed, Columns(item, tick, site)) for name in names]
        session = None if no_spark else partial(_session, master)
        done = run_all(specs, streams, out, session=session, seed=seed, again=again, say=change)
        change("drawing and writing")
        written = write(out)
        if docs is not None:
            written = [*written, *write_docs(out, docs)]
    show([vars(part) for part in done], as_json)
    if not as_json:
        for path in written:
            say(f"wrote {path}")


@contextmanager
def _session(master: str | None) -> Iterator[Any]:
    from ecmsketch.cli.session import spark_session

    with spark_session(master) as spark:
        # A tree of 33 leaves needs no 200 tasks at every level, and no plan that is made anew there.
        spark.conf.set("spark.sql.shuffle.partitions", spark.sparkContext.defaultParallelism)
        spark.conf.set("spark.sql.adaptive.enabled", "false")
        yield spark
