"""All experiments, and the names that select them."""

from __future__ import annotations

from ecmsketch.errors import InputError
from ecmsketch.experiments.beyond.batch_sizes import BATCH_SIZES
from ecmsketch.experiments.beyond.count_windows import COUNT_WINDOWS
from ecmsketch.experiments.beyond.equal_memory import EQUAL_MEMORY
from ecmsketch.experiments.beyond.estimators import ESTIMATORS
from ecmsketch.experiments.beyond.heaviest import HEAVIEST
from ecmsketch.experiments.beyond.heavy_precision import HEAVY_HITTERS
from ecmsketch.experiments.beyond.lazy_union import LAZY_UNION
from ecmsketch.experiments.beyond.levels import MERGING_LEVELS
from ecmsketch.experiments.beyond.monitoring_costs import MONITORING_COSTS
from ecmsketch.experiments.beyond.peers import PEERS
from ecmsketch.experiments.beyond.range_counts import RANGE_SUMS
from ecmsketch.experiments.beyond.rank_errors import QUANTILES
from ecmsketch.experiments.beyond.two_streams import INNER_PRODUCT
from ecmsketch.experiments.paper.figure4 import FIGURE4
from ecmsketch.experiments.paper.figure6 import FIGURE6
from ecmsketch.experiments.paper.latency import TABLE2
from ecmsketch.experiments.paper.table3 import TABLE3
from ecmsketch.experiments.paper.table4 import TABLE4
from ecmsketch.experiments.spec import Experiment

_CLAIMED = (INNER_PRODUCT, COUNT_WINDOWS, HEAVY_HITTERS, QUANTILES, RANGE_SUMS)
"""What the paper claims and does not measure."""
_BEYOND = (
    EQUAL_MEMORY,
    BATCH_SIZES,
    *_CLAIMED,
    HEAVIEST,
    ESTIMATORS,
    MERGING_LEVELS,
    LAZY_UNION,
    MONITORING_COSTS,
)
EXPERIMENTS = {spec.name: spec for spec in (TABLE2, TABLE3, FIGURE4, TABLE4, FIGURE6, *_BEYOND, PEERS)}
GROUPS = {"figure5": (TABLE4,), "beyond": _BEYOND, "all": tuple(EXPERIMENTS.values())}
SELECTIONS = ("all", "table2", "table3", "table4", "figure4", "figure5", "figure6", "beyond", "peers")
"""What the command offers. It also accepts the name of a single experiment of `beyond`."""


def select_experiments(names: list[str]) -> list[Experiment]:
    """The experiments that the names select, each once."""
    unknown = [name for name in names if name not in EXPERIMENTS and name not in GROUPS]
    if unknown:
        single = ", ".join(name for name in EXPERIMENTS if name not in SELECTIONS)
        raise InputError(f"experiment: got {unknown[0]!r}, expected one of {', '.join(SELECTIONS)}, {single}")
    found = [spec for name in names for spec in GROUPS.get(name) or (EXPERIMENTS[name],)]
    return list({spec.name: spec for spec in found}.values())
