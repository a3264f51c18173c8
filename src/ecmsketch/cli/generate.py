"""ecmsketch generate: logs to try things on. They are made up, and say so."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ecmsketch.cli.options import AsJson, Master
from ecmsketch.cli.output import show_one

generate = typer.Typer(help="Write a generated log: worldcup98 or snmp.", no_args_is_help=True)
Path = Annotated[str, typer.Argument(help="A new folder.", show_default=False)]
Events = Annotated[int, typer.Option(help="How many.", min=1)]
Seed = Annotated[int, typer.Option(help="The same seed gives the same log.", min=0)]


@generate.command("worldcup98")
def worldcup98(
    path: Path,
    events: Events = 2_000_000,
    day: Annotated[int, typer.Option(help="Day of the real log whose counts are followed, 5 to 92.")] = 50,
    days: Annotated[int, typer.Option(help="How many days from then on.", min=1)] = 1,
    seed: Seed = 0,
    all_servers: Annotated[
        bool, typer.Option("--all-servers", help="On all 33 servers; no real day had over 30.")
    ] = False,
    format: Annotated[str, typer.Option(help="parquet, or worldcup98: the log's own binary files.")] = "parquet",
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Web requests after the World Cup 98 log: its real counts by day, time and server; the rest made up.

    Example: ecmsketch generate worldcup98 log --events 2000000 --day 66
    """
    from ecmsketch.generate import WorldCupLog

    _write(WorldCupLog(events, seed=seed, day=day, days=days, all_servers=all_servers), path, format, master, as_json)


@generate.command("snmp")
def snmp(
    path: Path,
    events: Events = 2_000_000,
    sites: Annotated[int, typer.Option(help="Access points.", min=1)] = 535,
    seed: Seed = 0,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Devices seen by access points of a campus: a stand-in for the paper's second trace, all of it made up.

    Example: ecmsketch generate snmp wireless --events 5000000
    """
    from ecmsketch.generate import SnmpLog

    _write(SnmpLog(events, seed=seed, sites=sites), path, "parquet", master, as_json)


def _write(log: Any, path: str, format: str, master: str | None, as_json: bool) -> None:
    from ecmsketch.cli.session import spark_progress, spark_session

    with spark_session(master) as spark:
        from ecmsketch.spark import write_generated

        with spark_progress(spark, f"generating {log.events:,} events"):
            written = write_generated(spark, log, path, format)
    show_one({"path": path, "format": format, "events": written, "what": log.describe()}, as_json)
