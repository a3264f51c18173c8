"""ecmsketch top: what came most often."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ecmsketch.cli.options import AsJson, Follow, Last, Seconds, Site, to_ticks
from ecmsketch.cli.output import follow, show
from ecmsketch.cli.sketches import Source, load_sketch


def top(
    source: Source,
    k: Annotated[int, typer.Option("-k", help="How many.", min=1)] = 10,
    phi: Annotated[float | None, typer.Option(help="Instead: all that came at least this share.")] = None,
    last: Last = None,
    site: Site = None,
    again: Follow = False,
    seconds: Seconds = 2.0,
    as_json: AsJson = False,
) -> None:
    """What came most often, by name, with bounds. Needs sketches built with --heavy-hitters, or with --bits and --phi.

    Example: ecmsketch top sketches -k 5 --last 5m
    """

    def ask() -> tuple[list[dict[str, Any]], str]:
        sketch = load_sketch(source, site)
        ticks = to_ticks(last, sketch.config.unit, "--last")
        if phi is None and not hasattr(sketch, "top"):
            raise typer.BadParameter("these are PrefixSketches: give a share with --phi", param_hint="--phi")
        found = sketch.top(k, last=ticks) if phi is None else sketch.heavy_hitters(phi, last=ticks)
        total = sketch.total(last=ticks)
        rows = [
            {
                "item": str(hitter.item),
                **hitter.estimate._asdict(),
                "share": hitter.estimate.value / max(total.value, 1),
            }
            for hitter in found
        ]
        return rows, f"of {total.value:,.0f} arrivals up to {sketch.now}"

    if again:
        follow(ask, as_json, seconds)
    rows, note = ask()
    show(rows, as_json, note=note)
