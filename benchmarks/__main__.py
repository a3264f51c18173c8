"""Run all benchmarks, or only the named ones: python -m benchmarks [startup] [speed] [counters] [prefix] ..."""

from __future__ import annotations

import platform
import sys
from importlib import import_module

import numba
import numpy as np

import ecmsketch

ALL = (
    "startup", "speed", "slices", "equal_memory", "counters", "prefix", "heavy_hitters", "memory", "accuracy",
    "sharper", "spark", "streaming", "monitoring", "serving",
)  # fmt: skip


def main(names: list[str]) -> None:
    unknown = sorted(set(names) - set(ALL))
    if unknown:
        sys.exit(f"unknown benchmark {', '.join(unknown)}; choose from {', '.join(ALL)}")
    print(
        f"ecmsketch {ecmsketch.__version__}, Python {platform.python_version()}, "
        f"numpy {np.__version__}, numba {numba.__version__}, {platform.machine()}"
    )
    for name in names or ALL:
        import_module(f"benchmarks.{name}").run()


main(sys.argv[1:])
