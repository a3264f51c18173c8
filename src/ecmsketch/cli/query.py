"""ecmsketch query: how often items came."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ecmsketch.cli.options import AsJson, Follow, Last, Seconds, Site, to_ticks
from ecmsketch.cli.output import follow, show
from ecmsketch.cli.sketches import Source, item_of, load_sketch


def query(
    source: Source,
    items: Annotated[list[str], typer.Argument(help="Items; what looks like a number is one.", show_default=False)],
    last: Last = None,
    site: Site = None,
    text: Annotated[bool, typer.Option("--text", help="Items are texts, also those that look like numbers.")] = False,
    again: Follow = False,
    seconds: Seconds = 2.0,
    as_json: AsJson = False,
) -> None:
    """How often items came, with bounds.

    Example: ecmsketch query sketches /index.html /logo.png --last 1h --site paris-1
    """

    def ask() -> tuple[list[dict[str, Any]], str]:
        sketch = load_sketch(source, site)
        ticks = to_ticks(last, sketch.config.unit, "--last")
        rows = []
        for name in items:
            answer = sketch.estimate(name if text else item_of(name), last=ticks)
            rows.append({"item": name, **answer._asdict()})
        return rows, f"of {sketch.total(last=ticks).value:,.0f} arrivals up to {sketch.now}"

    if again:
        follow(ask, as_json, seconds)
    rows, note = ask()
    show(rows, as_json, note=note)
