"""ecmsketch plan: what a promise costs, before anything is built."""

from __future__ import annotations

from typing import Annotated

import typer

from ecmsketch.cli.options import AsJson, Counter, Delta, Epsilon, MergeDepth, Unit, Window, make_config
from ecmsketch.cli.output import show_one


def plan(
    epsilon: Epsilon = 0.01,
    delta: Delta = 0.01,
    window: Window = "1d",
    unit: Unit = "s",
    counter: Counter = "eh",
    merge_depth: MergeDepth = 1,
    events: Annotated[int, typer.Option(help="Events of one site inside the window.")] = 1_000_000,
    sites: Annotated[int, typer.Option(help="Sites.")] = 1,
    as_json: AsJson = False,
) -> None:
    """What sketches will cost: rows, counters, memory of one site and of all.

    Example: ecmsketch plan --epsilon 0.01 --window 1d --events 5000000 --sites 33
    """
    config = make_config(
        epsilon=epsilon, delta=delta, window=window, unit=unit, counter=counter, merge_depth=merge_depth
    )
    memory = config.expected_nbytes(events)
    facts = {
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
