"""The `ecmsketch` command with all its subcommands."""

from __future__ import annotations

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
app.command()(with_groups(plan))
app.add_typer(generate, name="generate")
for command in (build, stream, merge, query, top, quantile, inspect, monitor, coordinator, site, serve, reproduce):
    app.command()(with_groups(command))
