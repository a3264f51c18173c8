"""ecmsketch top: list the most frequent items."""

from __future__ import annotations

from typing import Annotated

import typer

from ecmsketch.cli.following import Answer, AnswerOptions
from ecmsketch.cli.lengths import to_ticks
from ecmsketch.cli.options import Last, Site
from ecmsketch.cli.sketches import Source, load_sketch
from ecmsketch.cli.times import shown
from ecmsketch.inputs.item_text import json_item, show_item


def top(
    source: Source,
    answer: AnswerOptions,
    k: Annotated[int, typer.Option("-k", help="Number of items to list.", min=1)] = 10,
    phi: Annotated[
        float | None, typer.Option(help="Instead of -k: list all items with at least this share of the arrivals.")
    ] = None,
    last: Last = None,
    site: Site = None,
) -> None:
    """List the most frequent items by name, with bounds.

    This needs sketches built with --heavy-hitters, or with --bits and then --phi.

    Example: ecmsketch top sketches -k 5 --last 5m
    """

    def ask() -> Answer:
        sketch = load_sketch(source, site)
        ticks = to_ticks(last, sketch.config.unit, "--last")
        if phi is None and not hasattr(sketch, "top"):
            raise typer.BadParameter("these are PrefixSketches: give a share with --phi", param_hint="--phi")
        found = sketch.top(k, last=ticks) if phi is None else sketch.heavy_hitters(phi, last=ticks)
        total = sketch.total(last=ticks)
        rows = [
            {
                "item": json_item(hitter.item) if answer.as_json else show_item(hitter.item, sketch.kinds),
                **hitter.estimate._asdict(),
                "share": hitter.estimate.value / max(total.value, 1),
            }
            for hitter in found
        ]
        return rows, f"of {total.value:,.0f} arrivals up to {shown(sketch.now, sketch.config.unit)}"

    answer.show(ask)
