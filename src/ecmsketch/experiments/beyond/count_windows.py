"""Count-based windows: how often each item came among the last arrivals (section 3), by engine."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ecmsketch.experiments.beyond.engine_settings import cases, feed_all
from ecmsketch.experiments.data.event_stream import Stream, newest_events
from ecmsketch.experiments.data.exact_counts import Truth
from ecmsketch.experiments.spec import Context, Experiment, Row
from ecmsketch.sketch import EcmSketch

LEAST_RANGE = 100
"""The shortest range to ask for, in arrivals."""


@lru_cache(maxsize=1)
def last_arrivals(stream: Stream, window: int) -> list[Truth]:
    """The exact counts of the last 100, 1,000, ... arrivals, and of the window."""
    items = newest_events(stream, window).items
    lengths = [length for length in (10**i for i in range(2, 10)) if LEAST_RANGE <= length < window] + [window]
    return [Truth(length, *np.unique(items[-length:], return_counts=True)) for length in lengths]


def run(spec: Experiment, context: Context) -> list[Row]:
    """A row for every engine, epsilon and range."""
    parameters = spec.parameters
    window = min(parameters["window"], context.stream.events // 2)
    truths = last_arrivals(context.stream, window)
    settings = cases(parameters["epsilons"])
    configs = [
        engine.config(epsilon, parameters["delta"], context.seed, window=window, model="count")
        for engine, epsilon in settings
    ]
    context.say(f"filling {len(configs)} sketches")
    sketches = feed_all(
        context.stream, [EcmSketch(config) for config in configs], lambda sketch, batch: sketch.update_many(batch.items)
    )
    return [
        {"engine": engine.name, "epsilon": epsilon, **_row(sketch, truth)}
        for (engine, epsilon), sketch in zip(settings, sketches, strict=True)
        for truth in truths
    ]


def _row(sketch: EcmSketch, truth: Truth) -> Row:
    found = sketch.estimate_many(truth.items, last=truth.last)
    errors = np.abs(found.value - truth.counts) / truth.total
    outside = (truth.counts < found.lower) | (truth.counts > found.upper)
    return {
        "arrivals": truth.last, "items": len(truth.items), "avg_error": float(errors.mean()),
        "max_error": float(errors.max()), "promised": sketch.epsilon,
        "beyond_promise": float((errors > sketch.epsilon * (1 + 1e-9)).mean()),
        "outside_bounds": float(outside.mean()), "memory_bytes": sketch.nbytes,
    }  # fmt: skip


COUNT_WINDOWS = Experiment(
    name="count_windows",
    title="Beyond: windows of the last arrivals",
    paper="section 3 describes count-based windows, without an experiment",
    parameters={"epsilons": (0.02, 0.05, 0.1), "delta": 0.1, "window": 1_000_000},
    columns=(
        "engine", "epsilon", "arrivals", "items", "avg_error", "max_error", "promised", "beyond_promise",
        "outside_bounds", "memory_bytes",
    ),
    run=run,
    seeds=5,
    least_events=1000,
)  # fmt: skip
