"""ecmsketch inspect: show what a store or a file holds."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from ecmsketch.cli.options import AsJson
from ecmsketch.cli.output import show, show_one
from ecmsketch.cli.sketches import Source, each_site, is_file, load_sketch
from ecmsketch.cli.times import with_times

Site = Annotated[str | None, typer.Option(help="Show the sketches of one site. Default: all of them.")]


def inspect(source: Source, site: Site = None, as_json: AsJson = False) -> None:
    """Show the facts about one sketch, or about every sketch in a store.

    Example: ecmsketch inspect sketches
    """
    if site is not None or is_file(source):
        sketch = load_sketch(source, site)
        show_one(with_times(_facts(sketch), ("now",), sketch.config.unit, as_json), as_json)
        return
    rows = []
    for name, sketch in each_site(source):
        total = sketch.total()
        facts = {
            "site": name, "kind": type(sketch).__name__, "now": sketch.now, "in_window": total.value,
            "bytes": len(sketch.serialize()), "epsilon": sketch.epsilon, "merge_levels": sketch.merge_levels,
        }  # fmt: skip
        rows.append(with_times(facts, ("now",), sketch.config.unit, as_json))
    show(rows, as_json)


def _facts(sketch: Any) -> dict[str, Any]:
    config = {name: value for name, value in asdict(sketch.config).items() if value is not None}
    return {
        "kind": type(sketch).__name__,
        "now": sketch.now,
        "in_window": sketch.total().value,
        "memory": sketch.nbytes,
        "bytes": len(sketch.serialize()),
        "epsilon_now": sketch.epsilon,
        "merge_levels": sketch.merge_levels,
        "late_counted": sketch.late_counted,
        "late_dropped": sketch.late_dropped,
        **config,
    }
