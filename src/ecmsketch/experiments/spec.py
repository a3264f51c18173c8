"""What an experiment is: a small declaration, and a function from a stream to rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ecmsketch.experiments.stream import Stream

Row = dict[str, Any]


@dataclass(frozen=True)
class Context:
    """What a run has at hand: the stream, a Spark session where there is one, a folder for what it need not keep."""

    stream: Stream
    scratch: Path
    spark: Any = None
    seed: int = 0
    say: Callable[[str], None] = field(default=lambda text: None)
    """Called with a few words whenever something new begins."""

    @property
    def engine(self) -> str:
        """What merges sites: Spark, or this process."""
        return "this process" if self.spark is None else "Spark"


@dataclass(frozen=True)
class Experiment:
    """One table or figure: its parameters, its columns, what the paper has, and how to run it."""

    name: str
    title: str
    paper: str
    """What the paper shows, in words; its numbers are in `paper.py`."""
    parameters: Mapping[str, Any]
    columns: tuple[str, ...]
    run: Callable[[Experiment, Context], list[Row]]
    needs_sites: bool = False
    """Whether events must say where they came from."""
    distributed: bool = False
    """Whether it merges sites, on Spark if there is a session."""
    least_events: int = 1
    """Streams shorter than this say nothing here, and are left out."""

    def fits(self, stream: Stream) -> bool:
        """Whether the stream has what the experiment needs."""
        return stream.events >= self.least_events and (stream.sites > 1 or not self.needs_sites)
