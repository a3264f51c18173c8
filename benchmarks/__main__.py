"""Run all benchmarks, or only the named ones: python -m benchmarks [startup] [speed] [counters] [prefix] ..."""

from __future__ import annotations

import platform
import sys
from importlib import import_module

import numpy as np

import ecmsketch

ALL = (
    "startup", "speed", "one_by_one", "slices", "merged_sites", "equal_memory", "counters", "prefix", "heavy_hitters",
    "memory", "accuracy", "sharper", "spark", "many_sites", "many_sites_store", "streaming", "monitoring", "serving",
)  # fmt: skip


NAMED = ("kafka", "open_pages", "scale")
"""Benchmarks that run only if they are named: they need what Maven fetches, or many minutes."""


def main(names: list[str]) -> None:
    unknown = sorted(set(names) - {*ALL, *NAMED})
    if unknown:
        sys.exit(f"unknown benchmark {', '.join(unknown)}; choose from {', '.join((*ALL, *NAMED))}")
    print(
        f"ecmsketch {ecmsketch.__version__}, Python {platform.python_version()}, "
        f"numpy {np.__version__}, {platform.machine()}"
    )
    for name in names or ALL:
        import_module(f"benchmarks.{name}").run()


main(sys.argv[1:])
