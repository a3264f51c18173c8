"""ecmsketch plan: see what sketches will cost before you build them."""

from __future__ import annotations

from typing import Annotated

import typer

from ecmsketch.cli.options import AsJson, SketchOptions
from ecmsketch.cli.output import show_one


def plan(
    options: SketchOptions,
    events: Annotated[int, typer.Option(help="Events of one site in a window.", min=0, max=2**53)] = 1_000_000,
    sites: Annotated[int, typer.Option(help="Number of sites.", min=1, max=2**31)] = 1,
    as_json: AsJson = False,
) -> None:
    """Show what sketches promise and what they will cost: rows, counters, memory for one site and for all.

    Example: ecmsketch plan --epsilon 0.001 --resolution 0.05 --window 1d --events 5000000 --sites 33
    """
    config = options.config()
    memory = config.expected_nbytes(events)
    facts = {
        "counter": config.counter,
        "rows": config.depth,
        "counters_per_row": config.width,
        "epsilon_sw": config.epsilon_sw,
        "epsilon_cm": config.epsilon_cm,
        "memory_per_site": memory,
        "memory_of_all_sites": memory * sites,
        "events_if_shipped": 20 * events * sites,
    }
    show_one(facts, as_json)
    if not as_json:
        print("\n" + config.describe(events))
