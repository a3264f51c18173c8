"""ecmsketch site: one of the sites of a coordinator, fed by lines."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ecmsketch.cli.net_options import SecurityOptions, needs_net, run_until_stopped
from ecmsketch.cli.output import say

if TYPE_CHECKING:
    from ecmsketch.net import Lines, Reaching


@dataclass(frozen=True)
class LineOptions:
    """Options that say where lines come from and how they are read."""

    file: Annotated[str | None, typer.Option("--input", help="File that grows. Default: standard input.")] = None
    udp: Annotated[str | None, typer.Option(help="Instead: lines of UDP datagrams to this address and port.")] = None
    format: Annotated[
        str, typer.Option(help="line: item[,tick[,weight[,stream]]]; text: the whole line is the item; csv; json.")
    ] = "line"
    item: Annotated[str | None, typer.Option(help="Column (csv: from 1) or key (json) of the item.")] = None
    tick: Annotated[str | None, typer.Option(help="The same of the tick. Default: the clock.")] = None
    weight: Annotated[str | None, typer.Option(help="The same of the weight. Default: 1.")] = None
    stream: Annotated[str | None, typer.Option(help="The same of the stream, for inner:A,B.")] = None

    def lines(self) -> Lines:
        """Where lines come from."""
        from ecmsketch.net import Address, GrowingFile, PipedLines, UdpLines

        if self.file is not None and self.udp is not None:
            raise typer.BadParameter("give one of --input and --udp")
        if self.udp is not None:
            found = UdpLines(Address.parse(self.udp, "--udp"))
            say(f"lines are taken at {found.address} (UDP)")
            return found
        return PipedLines(sys.stdin.buffer) if self.file is None else GrowingFile(self.file)


def site(
    name: Annotated[str, typer.Argument(help="Name of this site, its own among all sites.", show_default=False)],
    coordinator: Annotated[
        str, typer.Option(help="Address of the coordinator; port 8610 if none is given.", show_default=False)
    ],
    security: SecurityOptions,
    lines: LineOptions,
    tls: Annotated[bool, typer.Option("--tls", help="Use TLS with the authorities that this machine trusts.")] = False,
    every: Annotated[str, typer.Option(help="How often to check: 1s, 500ms, or a number of ticks.")] = "1s",
    ahead: Annotated[str, typer.Option(help="Reject ticks that are further ahead of the clock than this.")] = "1m",
    state: Annotated[str | None, typer.Option(help="Folder for the state, so that it may be killed and go on.")] = None,
) -> None:
    """Count events at one site, and tell its coordinator only what may matter. Ctrl-C stops.

    Example: ecmsketch site paris --coordinator 10.0.0.5:8610 --input access.csv --format csv --item 1 --state paris
    --token-file secret --tls-ca authority.pem
    """
    needs_net()
    from ecmsketch.net import Address, LineFormat, Reaching, SiteSettings, run_site

    reaching: Reaching = Reaching(
        Address.parse(coordinator, "--coordinator"), security.token_file, tls, security.tls_ca, security.tls_cert,
        security.tls_key, security.insecure,
    )  # fmt: skip
    format = LineFormat(lines.format, lines.item, lines.tick, lines.weight, lines.stream)
    settings = SiteSettings(every, ahead, format, state)
    source = lines.lines()
    run_until_stopped(lambda stop: run_site(name, reaching, source, settings, stop=stop, say=say))
