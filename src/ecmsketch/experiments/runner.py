"""Run experiments on streams, except where an equal run is already stored."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ecmsketch.experiments.data.event_stream import Stream
from ecmsketch.experiments.results import is_stored, write_result
from ecmsketch.experiments.spec import Context, Experiment, Row


@dataclass(frozen=True)
class Outcome:
    """What happened to one experiment on one stream."""

    experiment: str
    data: str
    label: str
    state: str
    """One of: run, there already, does not fit."""
    seconds: float = 0.0


def run_all(
    specs: Iterable[Experiment],
    streams: Iterable[Stream],
    out: Path,
    *,
    session: Callable[[], AbstractContextManager[Any]] | None = None,
    seed: int = 0,
    again: bool = False,
    scale: str = "default",
    say: Callable[[str], None] = lambda text: None,
) -> list[Outcome]:
    """Run every experiment on every stream that fits it, with the parameters of the scale.

    `session` opens Spark; it is called only if an experiment that merges sites has to run.
    """
    plan = _plan([spec.at(scale) for spec in specs], list(streams))
    with tempfile.TemporaryDirectory(prefix="ecmsketch-") as scratch:
        done: list[Outcome] = []
        alone: list[tuple[Experiment, Context]] = []
        merging: list[tuple[Experiment, Context]] = []
        for spec, stream in plan:
            on_spark = session is not None and spec.distributed
            context = Context(stream, Path(scratch), "to be opened" if on_spark else None, seed, scale=scale)
            if not spec.fits(stream):
                done.append(Outcome(spec.name, stream.name, stream.label, "does not fit"))
            elif not again and is_stored(out, spec, context):
                done.append(Outcome(spec.name, stream.name, stream.label, "there already"))
            else:
                (merging if on_spark else alone).append((spec, context))
        done += [_run(spec, context, out, say) for spec, context in alone]
        if merging and session is not None:
            with session() as spark:
                done += [_run(spec, replace(context, spark=spark), out, say) for spec, context in merging]
    return done


def _plan(specs: list[Experiment], streams: list[Stream]) -> list[tuple[Experiment, Stream]]:
    """Every experiment on every stream, then those that make their own events."""
    given = [(spec, stream) for stream in streams for spec in specs if spec.own_stream is None]
    return given + [(spec, spec.own_stream) for spec in specs if spec.own_stream is not None]


def _run(spec: Experiment, context: Context, out: Path, say: Callable[[str], None]) -> Outcome:
    stream = context.stream
    begin = time.perf_counter()
    title = f"{spec.name} on {stream.name} ({stream.label}, {stream.events:,} events)"
    say(title)
    rows = run_seeds(spec, replace(context, say=lambda text: say(f"{title}: {text}")))
    seconds = time.perf_counter() - begin
    write_result(out, spec, context, rows, seconds)
    return Outcome(spec.name, stream.name, stream.label, "run", round(seconds, 1))


def run_seeds(spec: Experiment, context: Context) -> list[Row]:
    """The rows of all seeds of an experiment, each with its seed in front."""
    rows: list[Row] = []
    for number in range(spec.seeds):
        seed = context.seed + number
        if spec.seeds > 1:
            context.say(f"seed {number + 1} of {spec.seeds}")
        rows += [{"seed": seed, **row} for row in spec.run(spec, replace(context, seed=seed))]
    return rows
