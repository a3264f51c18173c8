"""All declared experiments, and the names under which they can be asked for."""

from __future__ import annotations

from ecmsketch.errors import InputError
from ecmsketch.experiments.estimators import ESTIMATORS
from ecmsketch.experiments.figure4 import FIGURE4
from ecmsketch.experiments.figure6 import FIGURE6
from ecmsketch.experiments.heaviest import HEAVIEST
from ecmsketch.experiments.levels import LEVELS
from ecmsketch.experiments.monitoring import MONITORING
from ecmsketch.experiments.peers import PEERS
from ecmsketch.experiments.spec import Experiment
from ecmsketch.experiments.table3 import TABLE3
from ecmsketch.experiments.table4 import TABLE4
from ecmsketch.experiments.union import UNION

EXPERIMENTS = {
    spec.name: spec
    for spec in (TABLE3, FIGURE4, TABLE4, FIGURE6, HEAVIEST, ESTIMATORS, LEVELS, UNION, MONITORING, PEERS)
}
GROUPS = {
    "figure5": (TABLE4,),
    "beyond": (HEAVIEST, ESTIMATORS, LEVELS, UNION, MONITORING),
    "all": tuple(EXPERIMENTS.values()),
}
NAMES = ("all", "table3", "table4", "figure4", "figure5", "figure6", "beyond", "peers")
"""What the command offers; a single part of `beyond` can be named as well."""


def chosen(names: list[str]) -> list[Experiment]:
    """The experiments that some names stand for, each once."""
    unknown = [name for name in names if name not in EXPERIMENTS and name not in GROUPS]
    if unknown:
        more = ", ".join(name for name in EXPERIMENTS if name not in NAMES)
        raise InputError(f"experiment: expected one of {', '.join(NAMES)} ({more}), got {unknown[0]!r}")
    found = [spec for name in names for spec in GROUPS.get(name) or (EXPERIMENTS[name],)]
    return list({spec.name: spec for spec in found}.values())
