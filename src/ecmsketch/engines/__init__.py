"""The engines that count a stream over a window: slices (a table for each slice of time) and cells (the paper's)."""

from __future__ import annotations

from typing import Any

from ecmsketch.config import SketchConfig


def new_engine(config: SketchConfig, key: int = 0) -> Any:
    """An empty engine (contract.Engine) of the kind that a config asks for; `key` seeds what is drawn at random."""
    if config.counter == "slices":
        from ecmsketch.engines.slices.engine import SlicesEngine

        return SlicesEngine(config, key)
    from ecmsketch.engines.cells.engine import CellsEngine

    return CellsEngine(config, key)
