"""ecmsketch inspect: what a store or a file holds."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ecmsketch.cli.options import AsJson, Site
from ecmsketch.cli.output import show, show_one
from ecmsketch.cli.sketches import Source, load_sites, load_sketch


def inspect(source: Source, site: Site = None, as_json: AsJson = False) -> None:
    """What is known of a sketch, or of all sketches of a store.

    Example: ecmsketch inspect sketches
    """
    if site is not None or Path(source).is_file():
        show_one(_facts(load_sketch(source, site)), as_json)
        return
    rows = []
    for name, sketch in sorted(load_sites(source).items()):
        total = sketch.total()
        rows.append(
            {
                "site": name, "kind": type(sketch).__name__, "now": sketch.now, "in_window": total.value,
                "bytes": len(sketch.serialize()), "epsilon": sketch.epsilon, "merge_levels": sketch.merge_levels,
            }
        )  # fmt: skip
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
