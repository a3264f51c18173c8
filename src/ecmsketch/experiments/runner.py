"""Runs experiments one after the other; what has been run already is left as it is."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ecmsketch.experiments import results
from ecmsketch.experiments.spec import Context, Experiment
from ecmsketch.experiments.stream import Stream


@dataclass(frozen=True)
class Done:
    """What became of one experiment on one stream."""

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
    say: Callable[[str], None] = lambda text: None,
) -> list[Done]:
    """Every experiment on every stream that fits it. `session` opens Spark, if one of them merges sites."""
    done: list[Done] = []
    waiting: list[tuple[Experiment, Context]] = []
    plan = [(spec, stream) for stream in streams for spec in specs]
    with tempfile.TemporaryDirectory(prefix="ecmsketch-") as scratch:
        for spec, stream in plan:
            spark = "to be opened" if session is not None and spec.distributed else None
            context = Context(stream, Path(scratch), spark, seed)
            if not spec.fits(stream):
                done.append(Done(spec.name, stream.name, stream.label, "does not fit"))
            elif not again and results.is_done(out, spec, context):
                done.append(Done(spec.name, stream.name, stream.label, "there already"))
            else:
                waiting.append((spec, context))
        alone = [pair for pair in waiting if pair[1].spark is None]
        merging = [pair for pair in waiting if pair[1].spark is not None]
        done += [_run(spec, context, out, say) for spec, context in alone]
        if merging and session is not None:
            with session() as spark:
                done += [_run(spec, replace(context, spark=spark), out, say) for spec, context in merging]
    return done


def _run(spec: Experiment, context: Context, out: Path, say: Callable[[str], None]) -> Done:
    stream = context.stream
    begin = time.perf_counter()
    title = f"{spec.name} on {stream.name} ({stream.label}, {stream.events:,} events)"
    say(title)
    rows = spec.run(spec, replace(context, say=lambda text: say(f"{title}: {text}")))
    seconds = time.perf_counter() - begin
    results.write(out, spec, context, rows, seconds)
    return Done(spec.name, stream.name, stream.label, "run", round(seconds, 1))
