"""ecmsketch generate: write a made-up log to try things on."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ecmsketch.cli.options import AsJson, Master
from ecmsketch.cli.output import show_one

generate = typer.Typer(help="Write a generated log: worldcup98 or snmp.", no_args_is_help=True)
Path = Annotated[str, typer.Argument(help="Folder to write; it must not exist yet.", show_default=False)]
Events = Annotated[int, typer.Option(help="Number of events.", min=1, max=2**40)]
Seed = Annotated[int, typer.Option(help="The same seed gives the same log.", min=0, max=2**63 - 1)]


@generate.command("worldcup98")
def worldcup98(
    path: Path,
    events: Events = 2_000_000,
    day: Annotated[int, typer.Option(help="Day of the real log whose counts to follow, 5 to 92.", min=5, max=92)] = 50,
    days: Annotated[int, typer.Option(help="Number of days, from that day on.", min=1, max=88)] = 1,
    seed: Seed = 0,
    all_servers: Annotated[
        bool, typer.Option("--all-servers", help="Use all 33 servers. No real day used more than 30.")
    ] = False,
    format: Annotated[
        str, typer.Option(help="parquet, or worldcup98 for the binary files of the real log.")
    ] = "parquet",
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Write web requests like those of the World Cup 98 log.

    The counts by day, time and server are those of the real log; everything else is made up.

    Example: ecmsketch generate worldcup98 log --events 2000000 --day 66
    """
    from ecmsketch.generate import WorldCupLog

    _write(WorldCupLog(events, seed=seed, day=day, days=days, all_servers=all_servers), path, format, master, as_json)


@generate.command("snmp")
def snmp(
    path: Path,
    events: Events = 2_000_000,
    sites: Annotated[int, typer.Option(help="Number of access points.", min=1, max=2**31)] = 535,
    seed: Seed = 0,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Write devices seen by the access points of a campus: a made-up stand-in for the second trace of the paper.

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
