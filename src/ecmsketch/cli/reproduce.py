"""ecmsketch reproduce: run the paper's experiments on your machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ecmsketch.cli.options import AsJson, Master
from ecmsketch.cli.output import say, show, working

Experiments = Annotated[
    list[str] | None,
    typer.Argument(help="table3, table4, figure4, figure5, figure6, beyond, peers or all.", show_default="all"),
]
Data = Annotated[
    list[str] | None,
    typer.Option(
        help="worldcup98, snmp, flights, twitter, or Parquet files ordered by time. May be given several times.",
        show_default="worldcup98 and snmp",
    ),
]
Out = Annotated[Path, typer.Option(help="Folder for results. Experiments whose results are there are not run again.")]
Docs = Annotated[
    Path | None, typer.Option(help="Also write results.md and its pictures into this folder.", show_default=False)
]


def reproduce(
    experiments: Experiments = None,
    data: Data = None,
    events: Annotated[int, typer.Option(help="Maximum number of events of each stream.", min=1000)] = 5_000_000,
    out: Out = Path("results"),
    item: Annotated[str, typer.Option(help="Column of the items to count, in your own files.")] = "item",
    tick: Annotated[str, typer.Option(help="Column of the times: seconds or timestamps.")] = "tick",
    site: Annotated[str | None, typer.Option(help="Column of the sites. Default: one site.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of hash functions and generated data.", min=0)] = 0,
    again: Annotated[bool, typer.Option("--again", help="Run experiments even if their results are there.")] = False,
    no_spark: Annotated[bool, typer.Option("--no-spark", help="Merge sites in this process.")] = False,
    docs: Docs = None,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Run the paper's experiments and write a report that shows its numbers beside ours.

    Example: ecmsketch reproduce figure4 --data flights; ecmsketch reproduce all --events 5000000 --out results
    """
    from ecmsketch.experiments.data.named_streams import expand_names, open_event_stream
    from ecmsketch.experiments.data.parquet_stream import ColumnNames
    from ecmsketch.experiments.registry import select_experiments
    from ecmsketch.experiments.runner import run_all

    specs = select_experiments(experiments or ["all"])
    names = expand_names(data or ["worldcup98", "snmp"])
    with working("opening the data") as change:
        streams = [open_event_stream(name, events, seed, ColumnNames(item, tick, site)) for name in names]
        session = None if no_spark else partial(_session, master)
        done = run_all(specs, streams, out, session=session, seed=seed, again=again, say=change)
        change("drawing and writing")
        written = _write(out, docs)
    show([vars(part) for part in done], as_json)
    if not as_json:
        for path in written:
            say(f"wrote {path}")


def _write(out: Path, docs: Path | None) -> list[Path]:
    """Write the report, and the page for the documentation if a folder for it was given."""
    from ecmsketch.experiments.report.document import write_docs_page, write_report

    return [*write_report(out), *([] if docs is None else write_docs_page(out, docs))]


@contextmanager
def _session(master: str | None) -> Iterator[Any]:
    from ecmsketch.cli.session import spark_session

    with spark_session(master) as spark:
        # A tree of 33 leaves needs neither 200 tasks at every level nor adaptive planning.
        spark.conf.set("spark.sql.shuffle.partitions", spark.sparkContext.defaultParallelism)
        spark.conf.set("spark.sql.adaptive.enabled", "false")
        yield spark
