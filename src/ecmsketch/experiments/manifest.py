"""How a result was made: sources, versions, seed, data and machine, without host names or paths."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ecmsketch.experiments.source_hash import source_hash
from ecmsketch.experiments.spec import Context, Experiment

PACKAGES = ("ecmsketch", "numpy", "pyarrow", "pyspark", "matplotlib", "probstructs", "datasketches", "duckdb")


def key_of(spec: Experiment, context: Context) -> dict[str, Any]:
    """What identifies a run: a stored result with an equal key is not made again."""
    stream = context.stream
    return {
        "experiment": spec.name,
        "parameters": {name: list(v) if isinstance(v, tuple) else v for name, v in spec.parameters.items()},
        "columns": list(spec.columns),
        "data": stream.name,
        "label": stream.label,
        "events": stream.events,
        "last_tick": stream.now,
        "seed": context.seed,
        "seeds": spec.seeds,
        "scale": context.scale,
        "engine": context.engine if spec.distributed else "this process",
        "sources": source_hash(),
    }


def make_manifest(spec: Experiment, context: Context, seconds: float) -> dict[str, Any]:
    """Everything about a run except its rows."""
    stream = context.stream
    return {
        "key": key_of(spec, context),
        "title": spec.title,
        "paper": spec.paper,
        "data": {
            "name": stream.name, "label": stream.label, "what": stream.what, "events": stream.events,
            "sites": stream.sites, "seconds_covered": stream.now - stream.first,
        },
        "seed": context.seed,
        "versions": {"python": platform.python_version(), **_versions()},
        "machine": {"cores": len(os.sched_getaffinity(0)), "cpu": _cpu(), "memory_gb": _memory()},
        "seconds": round(seconds, 1),
    }  # fmt: skip


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())


def _memory() -> int:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    except (ValueError, OSError):
        return 0
