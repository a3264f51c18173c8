"""The `ecmsketch` command with all its subcommands."""

from __future__ import annotations

from typing import Annotated

import typer

from ecmsketch.cli.build import build
from ecmsketch.cli.coordinator import coordinator
from ecmsketch.cli.generate import generate
from ecmsketch.cli.inspect import inspect
from ecmsketch.cli.merge import merge
from ecmsketch.cli.monitor import monitor
from ecmsketch.cli.option_groups import with_groups
from ecmsketch.cli.plan import plan
from ecmsketch.cli.quantile import quantile
from ecmsketch.cli.query import query
from ecmsketch.cli.reproduce import reproduce
from ecmsketch.cli.serve import serve
from ecmsketch.cli.site import site
from ecmsketch.cli.stream import stream
from ecmsketch.cli.top import top

app = typer.Typer(
    help="How often, in the last hour? Sliding-window sketches of logs from many sites.",
    epilog="A day from end to end: ecmsketch generate worldcup98 log; ecmsketch build log --store sketches "
    "--item object --tick timestamp --site server --window 1d --heavy-hitters; ecmsketch top sketches --last 1h",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


@app.callback(invoke_without_command=True)
def about(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Say which version this is.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="With --version: Python, numpy and the processor.")
    ] = False,
) -> None:
    """How often, in the last hour? Sliding-window sketches of logs from many sites."""
    if version:
        for line in versions(verbose):
            typer.echo(line)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


def versions(verbose: bool) -> list[str]:
    """The version of ecmsketch; with `verbose` also what it runs on, and for which processor its loops are compiled."""
    from ecmsketch import __version__

    lines = [f"ecmsketch {__version__}"]
    if verbose:
        import platform

        import numpy as np

        from ecmsketch.kernels import hashing, processor

        level = processor.chosen_level()
        lines += [
            f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}",
            f"compiled for x86-64-{level} (ECMSKETCH_CPU chooses another level)"
            if level
            else "one build for all processors",
            f"hashing from {hashing.__file__}",
        ]
    return lines


app.command()(with_groups(plan))
app.add_typer(generate, name="generate")
for command in (build, stream, merge, query, top, quantile, inspect, monitor, coordinator, site, serve, reproduce):
    app.command()(with_groups(command))
