"""What an experiment is: a small declaration, and a function from a stream to rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ecmsketch.errors import ConfigError
from ecmsketch.experiments.data.event_stream import Stream

Row = dict[str, Any]
SCALES = ("small", "default", "paper")


@dataclass(frozen=True)
class Context:
    """What an experiment runs with: a stream, a folder for temporary files, and Spark if there is a session."""

    stream: Stream
    scratch: Path
    spark: Any = None
    seed: int = 0
    say: Callable[[str], None] = field(default=lambda text: None)
    """Reports progress: called with a few words whenever a new step begins."""
    scale: str = "default"
    """One of SCALES. The parameters of the experiment are already those of this scale."""

    @property
    def engine(self) -> str:
        """What merges the sites: Spark or this process."""
        return "this process" if self.spark is None else "Spark"


@dataclass(frozen=True)
class Experiment:
    """One table or figure: its parameters, its columns, what the paper shows, and how to run it."""

    name: str
    title: str
    paper: str
    """What the paper shows, in words. Its numbers are in `paper/published.py`."""
    parameters: Mapping[str, Any]
    columns: tuple[str, ...]
    run: Callable[[Experiment, Context], list[Row]]
    needs_sites: bool = False
    """Whether events must name their site."""
    distributed: bool = False
    """Whether it merges sites; on Spark if there is a session."""
    least_events: int = 1
    """Shorter streams are left out, because they would show nothing."""
    seeds: int = 1
    """How many seeds to run with: seed, seed + 1, ... They change the hash functions, not the stream."""
    scales: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Parameters that differ at a scale. "seeds" may be among them."""
    own_stream: Stream | None = None
    """The stream of an experiment that makes its own events; it runs once, whatever data is given."""

    def at(self, scale: str) -> Experiment:
        """The same experiment with the parameters and the number of seeds of a scale."""
        if scale not in SCALES:
            raise ConfigError(f"scale: got {scale!r}, expected one of {', '.join(SCALES)}")
        changed = dict(self.scales.get(scale, {}))
        seeds = changed.pop("seeds", self.seeds)
        unknown = sorted(changed.keys() - self.parameters.keys())
        if unknown:
            raise ConfigError(f"scales: {self.name} has no parameter {unknown[0]!r}")
        return replace(self, parameters={**self.parameters, **changed}, seeds=seeds, scales={})

    def fits(self, stream: Stream) -> bool:
        """Whether the stream has what the experiment needs."""
        return stream.events >= self.least_events and (stream.sites > 1 or not self.needs_sites)
