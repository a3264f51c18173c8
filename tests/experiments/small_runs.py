"""Every experiment with parameters that take a moment."""

from __future__ import annotations

from dataclasses import replace

from ecmsketch.experiments.registry import EXPERIMENTS

SMALL = {
    "table2": {"batches": 1, "times": 10},
    "table3": {"batches": 1, "rounds": 1, "calls": 1000},
    "figure4": {"epsilons": (0.1, 0.25), "sketch_seeds": 2, "rw_seeds": 1},
    "table4": {"epsilons": (0.1, 0.2), "sketch_seeds": 2},
    "figure6": {"sites": (1, 2, 4, 8), "sketch_seeds": 2},
    "heaviest": {"epsilons": (0.1, 0.01)},
    "estimators": {"epsilons": (0.1, 0.2), "ranges": 40},
    "levels": {"levels": (0, 1, 2, 3), "arrivals": 20_000, "ranges": 40},
    "union": {"epsilons": (0.1,)},
    "monitoring": {"events": 20_000, "steps": 30, "windows": 5},
    "peers": {"events": 5_000, "spark_events": 1_000},
}
EVENTS = 40_000


def small(name):
    spec = EXPERIMENTS[name]
    return replace(spec, parameters={**spec.parameters, **SMALL[name]})
