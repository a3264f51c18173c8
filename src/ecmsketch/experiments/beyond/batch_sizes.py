"""Updates per second by batch size, epsilon and engine, into sketches that are already full."""

from __future__ import annotations

import time

import numpy as np

from ecmsketch.experiments.beyond.engine_settings import ENGINES, Engine
from ecmsketch.experiments.data.synthetic import SYNTHETIC, zipf_items
from ecmsketch.experiments.spec import Context, Experiment, Row
from ecmsketch.sketch import EcmSketch

EVENTS_PER_TICK = 10


def run(spec: Experiment, context: Context) -> list[Row]:
    """A row for every engine, epsilon and batch size."""
    parameters = spec.parameters
    rows = []
    for engine in ENGINES:
        for epsilon in parameters["epsilons"]:
            context.say(f"{engine.name}, epsilon {epsilon}")
            sketch = _full(engine, epsilon, parameters, context.seed)
            for size in parameters["batches"]:
                done, seconds = _timed(sketch, size, parameters["events"], parameters["seconds"])
                rows.append(
                    {
                        "engine": engine.name, "epsilon": epsilon, "batch": size, "events": done,
                        "updates_per_s": done / seconds, "memory_bytes": sketch.nbytes,
                    }
                )  # fmt: skip
    return rows


def _full(engine: Engine, epsilon: float, parameters: object, seed: int) -> EcmSketch:
    events: int = parameters["events"]  # type: ignore[index]
    window = events // EVENTS_PER_TICK // 2
    sketch = EcmSketch(engine.config(epsilon, parameters["delta"], seed, window=window))  # type: ignore[index]
    sketch.update_many(zipf_items(events), np.arange(events) // EVENTS_PER_TICK)
    sketch.update_many(zipf_items(events)[:10], np.full(10, events // EVENTS_PER_TICK))
    sketch.total()
    return sketch


def _timed(sketch: EcmSketch, size: int, events: int, most: float) -> tuple[int, float]:
    """Feed batches until all events are counted, or until `most` seconds have passed; then count what waits."""
    items, first = zipf_items(events), (sketch.now or 0) + 1
    ticks = first + np.arange(events) // EVENTS_PER_TICK
    done, begin = 0, time.perf_counter()
    while done < events and time.perf_counter() - begin < most:
        if size == 1:
            sketch.update(int(items[done]), int(ticks[done]))
        else:
            sketch.update_many(items[done : done + size], ticks[done : done + size])
        done += size
    sketch.total()  # counts the events that wait
    return min(done, events), time.perf_counter() - begin


BATCH_SIZES = Experiment(
    name="batch_sizes",
    title="Beyond: updates per second by batch size",
    paper="table 3 gives the rates of one update at a time",
    parameters={
        "batches": (1, 100, 1000, 10_000, 100_000, 1_000_000),
        "epsilons": (0.1, 0.01, 0.001),
        "delta": 0.01,
        "events": 4_000_000,
        "seconds": 0.3,
    },
    columns=("engine", "epsilon", "batch", "events", "updates_per_s", "memory_bytes"),
    run=run,
    seeds=5,
    own_stream=SYNTHETIC,
    scales={"small": {"events": 1_000_000, "seconds": 0.05, "seeds": 3}},
)
