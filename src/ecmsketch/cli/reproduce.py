"""ecmsketch reproduce: run the paper's experiments on your machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ecmsketch.cli.options import AsJson, Master
from ecmsketch.cli.output import say, show, working

if TYPE_CHECKING:
    from ecmsketch.experiments.data.event_stream import Stream
    from ecmsketch.experiments.scales import Opening, Plan

KEPT = Path("docs/results")
"""The results that the repository keeps, if the command runs in a clone of it."""
MOST_SHOWN = 20

Experiments = Annotated[
    list[str] | None,
    typer.Argument(help="table3, table4, figure4, figure5, figure6, beyond, peers or all.", show_default="all"),
]
Data = Annotated[
    list[str] | None,
    typer.Option(
        help="worldcup98, snmp, flights, twitter, Parquet files ordered by time, or files of the World Cup log "
        "('logs/wc_day*.gz', or their folder). May be given several times.",
        show_default="worldcup98 and snmp",
    ),
]
Scale = Annotated[
    str, typer.Option(help="small (minutes), default (5 M events) or paper (up to 1.09 G events).", metavar="SCALE")
]
Events = Annotated[
    int | None, typer.Option(help="Most events of each stream, whatever the scale.", min=1000, show_default=False)
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder for results. Experiments whose results are there are not run again.", show_default="results/SCALE"
    ),
]
Docs = Annotated[
    Path | None, typer.Option(help="Also write results.md and its pictures into this folder.", show_default=False)
]
Keep = Annotated[Path | None, typer.Option(help="Also copy tables and manifests into this folder.", show_default=False)]
Compare = Annotated[
    Path | None,
    typer.Option(
        help="Folder of kept results: say which numbers differ from them, and fail if any does.", show_default=False
    ),
]
OnlyReport = Annotated[bool, typer.Option("--only-report", help="Run nothing; report on the results that are there.")]


def reproduce(
    experiments: Experiments = None,
    data: Data = None,
    scale: Scale = "default",
    events: Events = None,
    out: Out = None,
    item: Annotated[str, typer.Option(help="Column of the items to count, in your own files.")] = "item",
    tick: Annotated[str, typer.Option(help="Column of the times: seconds or timestamps.")] = "tick",
    site: Annotated[str | None, typer.Option(help="Column of the sites. Default: one site.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of hash functions and generated data.", min=0)] = 0,
    again: Annotated[bool, typer.Option("--again", help="Run experiments even if their results are there.")] = False,
    no_spark: Annotated[bool, typer.Option("--no-spark", help="Merge sites in this process.")] = False,
    only_report: OnlyReport = False,
    docs: Docs = None,
    keep: Keep = None,
    compare: Compare = None,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Run the paper's experiments and write a report that shows its numbers beside ours.

    Example: ecmsketch reproduce figure4 --data flights; ecmsketch reproduce all --scale small
    """
    from ecmsketch.experiments.runner import missing_runs

    folder = out or Path("results") / scale
    if not only_report:
        plan = _plan(experiments or ["all"], data, partial(_open, (item, tick, site), seed), scale, events)
        options = {"session": None if no_spark else partial(_session, master), "seed": seed, "scale": scale}
        _say_costs(plan if again else missing_runs(plan, folder, **options), scale, folder)
        done = _run(plan, folder, again=again, **options)
        show([vars(part) for part in done], as_json)
    for path in _write(folder, docs, keep, only_report):
        say(f"wrote {path}")
    if compare is not None and _differences(folder, compare):
        raise typer.Exit(1)


def _open(columns: tuple[str, str, str | None], seed: int, name: str, events: int) -> Stream:
    from ecmsketch.experiments.data.named_streams import open_event_stream
    from ecmsketch.experiments.data.parquet_stream import ColumnNames

    return open_event_stream(name, events, seed, ColumnNames(*columns))


def _plan(experiments: list[str], data: list[str] | None, opening: Opening, scale: str, events: int | None) -> Plan:
    from ecmsketch.experiments.data.named_streams import expand_names
    from ecmsketch.experiments.registry import select_experiments
    from ecmsketch.experiments.scales import plan_runs

    specs = select_experiments(experiments)
    with working("opening the data"):
        return plan_runs(specs, expand_names(data or ["worldcup98", "snmp"]), opening, scale, events)


def _say_costs(plan: Plan, scale: str, out: Path) -> None:
    """Say what is to be run, and how long it took before: here, or in the run that the repository keeps."""
    from ecmsketch.experiments.results import read_results
    from ecmsketch.experiments.scales import expected_costs

    folders = (out, KEPT / "small" if scale == "small" else KEPT)
    known = [result for folder in folders if any(folder.glob("*/*.manifest.json")) for result in read_results(folder)]
    say(f"scale {scale}, results in {out}: {expected_costs(plan, known)}")


def _run(plan: Plan, out: Path, **options: Any) -> list[Any]:
    from ecmsketch.experiments.runner import run_plan

    with working("starting") as change:
        return list(run_plan(plan, out, say=change, **options))


def _write(out: Path, docs: Path | None, keep: Path | None, only_report: bool) -> list[Path]:
    """Write the report, and what else was asked for. Kept results make the documentation's page and nothing else."""
    from ecmsketch.experiments.report.document import write_report
    from ecmsketch.experiments.report.kept import keep_results, renew_docs_page

    with working("drawing and writing"):
        written = [] if only_report and docs is not None else write_report(out)
        written += [] if keep is None else keep_results(out, keep)
        return written + ([] if docs is None else renew_docs_page(out, docs))


def _differences(out: Path, kept: Path) -> int:
    """Say which numbers differ from the kept ones, and return how many."""
    from ecmsketch.experiments.report.compare import TOLERANCE, compare_results
    from ecmsketch.experiments.results import read_results

    theirs = read_results(kept)
    found = compare_results(read_results(out), theirs)
    for one in found[:MOST_SHOWN]:
        where = f"{one.experiment} on {one.data}, {one.row}"
        say(f"differs: {where}: {one.column} was {one.kept}, is {one.fresh}".replace(":  was", ": was"))
    if len(found) > MOST_SHOWN:
        say(f"... and {len(found) - MOST_SHOWN} more")
    rule = f"beyond a relative {TOLERANCE:g}; speeds and times are not compared"
    say(f"{len(found)} numbers of {len(theirs)} kept results differ {rule}")
    return len(found)


@contextmanager
def _session(master: str | None) -> Iterator[Any]:
    from ecmsketch.cli.session import spark_session

    with spark_session(master) as spark:
        # A tree of 33 leaves needs neither 200 tasks at every level nor adaptive planning.
        spark.conf.set("spark.sql.shuffle.partitions", spark.sparkContext.defaultParallelism)
        spark.conf.set("spark.sql.adaptive.enabled", "false")
        yield spark
