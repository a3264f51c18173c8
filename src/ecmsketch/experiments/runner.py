"""Run experiments on streams, except where an equal run is already stored."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ecmsketch.experiments.data.event_stream import Stream
from ecmsketch.experiments.results import StoredResult, is_stored, read_result, remove_result, write_result
from ecmsketch.experiments.spec import Context, Experiment, Row

SEEDS = ".seeds"
"""The folder of seeds that are done while others of the same experiment are not."""


@dataclass(frozen=True)
class Outcome:
    """What happened to one experiment on one stream."""

    experiment: str
    data: str
    label: str
    state: str
    """One of: run, there already, does not fit."""
    seconds: float = 0.0


def run_all(specs: Iterable[Experiment], streams: Iterable[Stream], out: Path, **options: Any) -> list[Outcome]:
    """Run every experiment on every stream that fits it, with the parameters of a scale (see `run_plan`)."""
    at_scale = [spec.at(options.get("scale", "default")) for spec in specs]
    plan = [(spec, stream) for stream in streams for spec in at_scale if spec.own_stream is None]
    plan += [(spec, spec.own_stream) for spec in at_scale if spec.own_stream is not None]
    return run_plan(plan, out, **options)


def run_plan(
    plan: Iterable[tuple[Experiment, Stream]],
    out: Path,
    *,
    session: Callable[[], AbstractContextManager[Any]] | None = None,
    seed: int = 0,
    again: bool = False,
    scale: str = "default",
    say: Callable[[str], None] = lambda text: None,
) -> list[Outcome]:
    """Run each experiment on its stream, except where it does not fit or its result is there.

    `session` opens Spark; it is called only if an experiment that merges sites has to run.
    """
    plan = list(plan)
    options: dict[str, Any] = {"session": session, "seed": seed, "scale": scale}
    todo = [run for run in plan if run[0].fits(run[1])] if again else missing_runs(plan, out, **options)
    done = [
        Outcome(spec.name, stream.name, stream.label, "there already" if spec.fits(stream) else "does not fit")
        for spec, stream in plan
        if (spec, stream) not in todo
    ]
    say = _numbered(say, len(todo))
    with tempfile.TemporaryDirectory(prefix="ecmsketch-") as scratch:
        contexts = [(spec, _context(spec, stream, Path(scratch), **options)) for spec, stream in todo]
        alone = [(spec, context) for spec, context in contexts if context.spark is None]
        merging = [(spec, context) for spec, context in contexts if context.spark is not None]
        done += [_run(spec, context, out, say, again) for spec, context in alone]
        if merging and session is not None:
            with session() as spark:
                done += [_run(spec, replace(context, spark=spark), out, say, again) for spec, context in merging]
    return done


def missing_runs(
    plan: Iterable[tuple[Experiment, Stream]], out: Path, **options: Any
) -> list[tuple[Experiment, Stream]]:
    """The runs of a plan that fit and whose results are not stored. Takes the options of `run_plan`."""
    return [
        (spec, stream)
        for spec, stream in plan
        if spec.fits(stream) and not is_stored(out, spec, _context(spec, stream, out, **options))
    ]


def _context(spec: Experiment, stream: Stream, scratch: Path, session: Any, seed: int, scale: str) -> Context:
    """With a session, experiments that merge sites get Spark as soon as it is opened."""
    return Context(stream, scratch, "to be opened" if session and spec.distributed else None, seed, scale=scale)


def _numbered(say: Callable[[str], None], runs: int) -> Callable[[str], None]:
    """Put the number of the run in front of what is said; a new title is a new run."""
    titles: list[str] = []

    def numbered(text: str) -> None:
        title = text.split(": ")[0]
        if title not in titles:
            titles.append(title)
        say(f"{len(titles)} of {runs}, {text}")

    return numbered


def _run(spec: Experiment, context: Context, out: Path, say: Callable[[str], None], again: bool) -> Outcome:
    stream = context.stream
    title = f"{spec.name} on {stream.name} ({stream.label}, {stream.events:,} events)"
    say(title)
    rows: list[Row] = []
    seconds = 0.0
    for number in range(spec.seeds):
        prefix = title if spec.seeds == 1 else f"{title}: seed {number + 1} of {spec.seeds}"
        mine = replace(context, seed=context.seed + number, say=partial(_say_after, say, prefix))
        part = _run_seed(spec, mine, out / SEEDS, again)
        rows += part.rows
        seconds += part.manifest["seconds"]
    write_result(out, spec, context, rows, seconds)
    for number in range(spec.seeds):
        remove_result(out / SEEDS / str(context.seed + number), spec, context)
    return Outcome(spec.name, stream.name, stream.label, "run", round(seconds, 1))


def _say_after(say: Callable[[str], None], prefix: str, text: str) -> None:
    say(f"{prefix}: {text}")


def _run_seed(spec: Experiment, context: Context, parts: Path, again: bool) -> StoredResult:
    """The rows of one seed. They are kept until all seeds are done, so that a run can be broken off between seeds."""
    folder, alone = parts / str(context.seed), replace(spec, seeds=1)
    if again or not is_stored(folder, alone, context):
        begin = time.perf_counter()
        rows = [{"seed": context.seed, **row} for row in alone.run(alone, context)]
        write_result(folder, alone, context, rows, time.perf_counter() - begin)
    return read_result(folder, alone, context)
