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
    "inner_product": {"epsilons": (0.05, 0.1), "seeds": 2},
    "count_windows": {"epsilons": (0.05, 0.1), "seeds": 2},
    "heavy_hitters": {"phis": (0.01,), "seeds": 2},
    "quantiles": {"epsilons": (0.1,), "quantiles": 9, "seeds": 2},
    "range_sums": {"epsilons": (0.1,), "ranges": 6, "seeds": 2},
    "equal_memory": {"tables": ((1050, 3, 0.8), (4450, 3, 0.36)), "epsilons": (0.1,), "seeds": 2},
    "batch_sizes": {"batches": (1, 1000), "epsilons": (0.1,), "events": 50_000, "seconds": 0.02, "seeds": 2},
    "peers": {
        "sizes": (10_000, 20_000),
        "windows": (1000, 10_000),
        "stream": 20_000,
        "most_one_by_one": 10_000,
        "batch": 5000,
        "most_spark": 1000,
        "seeds": 1,
    },
}
EVENTS = 40_000
OWN_STREAM = {name for name in SMALL if EXPERIMENTS[name].own_stream is not None}
"""Experiments that make their own events: their results are in the folder `synthetic`."""


def small(name):
    spec = EXPERIMENTS[name]
    changed = dict(SMALL[name])
    seeds = changed.pop("seeds", spec.seeds)
    return replace(spec, parameters={**spec.parameters, **changed}, seeds=seeds, scales={})


def folder_of(name):
    return "synthetic" if name in OWN_STREAM else "worldcup98-generated"
