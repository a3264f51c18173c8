"""ecmsketch query: ask how often items occurred."""

from __future__ import annotations

from typing import Annotated

import typer

from ecmsketch.cli.following import Answer, AnswerOptions
from ecmsketch.cli.lengths import to_ticks
from ecmsketch.cli.options import Last, Site
from ecmsketch.cli.sketches import Source, load_sketch
from ecmsketch.cli.times import shown
from ecmsketch.inputs.item_text import json_item, parse_item, show_item


def query(
    source: Source,
    items: Annotated[
        list[str],
        typer.Argument(help="Items. Write a row of several columns as CSV or as a JSON list.", show_default=False),
    ],
    answer: AnswerOptions,
    last: Last = None,
    site: Site = None,
) -> None:
    """Show how often items occurred, with bounds. The sketch knows whether it counts 28487 as a number or as text.

    Example: ecmsketch query sketches /index.html /logo.png --last 1h --site paris-1. If rows of two columns were
    counted: ecmsketch query flows 10.0.0.1,443 --last 5m
    """

    def ask() -> Answer:
        sketch = load_sketch(source, site)
        ticks = to_ticks(last, sketch.config.unit, "--last")
        rows = []
        for item in (item for text in items for item in parse_item(text, sketch.kinds)):
            name = json_item(item) if answer.as_json else show_item(item, sketch.kinds)
            rows.append({"item": name, **sketch.estimate(item, last=ticks)._asdict()})
        return rows, f"of {sketch.total(last=ticks).value:,.0f} arrivals up to {shown(sketch.now, sketch.config.unit)}"

    answer.show(ask)
