"""What it costs to watch a threshold over all sites (section 6.2), against shipping events and synchronising."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ecmsketch.config import SketchConfig
from ecmsketch.experiments.data.event_stream import newest_events
from ecmsketch.experiments.spec import Context, Experiment, Row
from ecmsketch.monitor import Above, Events, Frequency, Function, SelfJoin, Simulation, Total, Watch, simulate
from ecmsketch.monitor.baselines import ship_batches, ship_packed, tuned_period


def run(spec: Experiment, context: Context) -> list[Row]:
    """Rows for every function and method, on the same events."""
    parameters = spec.parameters
    items, ticks, sites = newest_events(context.stream, parameters["events"])
    events = Events(sites, items, ticks)
    span = int(events.ticks[-1] - events.ticks[0])
    steps = min(parameters["steps"], parameters["checks"] // len(events.site_names))
    every, last = max(span // max(steps, 1), 1), max(span // parameters["windows"], 1)
    config = SketchConfig(
        epsilon=parameters["epsilon"], delta=0.1, window=last, seed=context.seed, counter="eh", split="paper"
    )
    names, counts = np.unique(events.items, return_counts=True)
    functions: list[Function] = [Total(), Frequency(int(names[counts.argmax()])), SelfJoin()]
    rows = []
    for function in functions:
        context.say(f"monitoring {type(function).__name__}")
        rows += _rows(function, events, config, every, 1 - parameters["above"])
    return rows


def _rows(function: Function, events: Events, config: SketchConfig, every: int, below: float) -> list[Row]:
    until = int(events.ticks[-1])
    free = simulate(
        Watch(function, Above(1e300), config.window, config, mode="changes"), events, every=every, until=until
    )
    tau = float(np.quantile(free.column("value")[config.window // every :], below))
    watch = Watch(function, Above(tau), config.window, config)
    ours = simulate(watch, events, every=every, until=until, baselines=True)
    zones = simulate(replace(watch, mode="zones"), events, every=every, until=until)
    shipped, packed = ship_batches(events, every), ship_packed(events, every)
    period = tuned_period(ours, lag=max(config.window // 10, every))
    synchronising = ours.synchronising
    found: list[tuple[str, int, int, int, int]] = [
        ("watching (mode auto)", *_cost(ours)),
        ("zones only", *_cost(zones)),
        ("ship the events", shipped.messages, shipped.bytes, 0, 0),
        ("ship the events, packed", packed.messages, packed.bytes, 0, 0),
        ("synchronise at every check", *synchronising.all[1], 0, 0),
        ("synchronise at every check, only what changed", *synchronising.changed[1], 0, 0),
        (f"synchronise every {period.ticks} s, tuned", period.cost.messages, period.cost.bytes, 0, period.lag),
    ]
    fixed: dict[str, Any] = {
        "function": type(function).__name__, "sites": ours.sites, "events": len(events), "threshold": tau,
        "checks": len(ours.moments),
    }  # fmt: skip
    return [
        {**fixed, "method": method, "messages": messages, "bytes": size, "missed": missed, "lag": lag}
        for method, messages, size, missed, lag in found
    ]


def _cost(simulation: Simulation) -> tuple[int, int, int, int]:
    return simulation.messages.total(), simulation.bytes.total(), simulation.missed, simulation.lag


MONITORING_COSTS = Experiment(
    name="monitoring",
    title="Beyond: messages of continuous monitoring",
    paper="section 6.2 describes the geometric method, without an experiment",
    parameters={
        "events": 400_000,  # the newest events of the stream
        "steps": 600,  # how often every site is checked, at most
        "checks": 160_000,  # checks of all sites together: many sites get fewer steps
        "windows": 15,  # the whole time divided by the watched range
        "epsilon": 0.1,
        "above": 0.1,  # share of the time that the value is above the threshold
    },
    columns=("function", "method", "sites", "events", "checks", "threshold", "messages", "bytes", "missed", "lag"),
    run=run,
    needs_sites=True,
)
