"""Table 3: updates per second of each variant at epsilon 0.1, on one core."""

from __future__ import annotations

import time
from itertools import islice
from math import inf

from ecmsketch.config import SketchConfig
from ecmsketch.experiments.data.event_stream import StreamBatch
from ecmsketch.experiments.paper import published
from ecmsketch.experiments.paper.variants import Variant
from ecmsketch.experiments.spec import Context, Experiment, Row
from ecmsketch.sketch import EcmSketch


def run(spec: Experiment, context: Context) -> list[Row]:
    """Two rows for every counter: fed in batches, and with one Python call per event."""
    parameters = spec.parameters
    batches = list(islice(context.stream.batches(), parameters["batches"]))
    calls = list(zip(*(column[: parameters["calls"]].tolist() for column in batches[0][:2]), strict=True))
    events = {"batches": sum(len(batch.ticks) for batch in batches), "one call per event": len(calls)}
    best = {(counter, how): inf for counter in parameters["counters"] for how in events}
    for turn in range(parameters["rounds"] + 1):  # variants take turns: a noisy machine slows all alike
        context.say(f"round {turn} of {parameters['rounds']}")
        for counter, how in best:
            config = Variant(counter).config(parameters["epsilon"], parameters["delta"], context.seed)
            seconds = _seconds(config, batches) if how == "batches" else _seconds_one_by_one(config, calls)
            best[counter, how] = min(best[counter, how], seconds)
    return [_row(context, counter, how, events[how], seconds) for (counter, how), seconds in best.items()]


def _row(context: Context, counter: str, how: str, events: int, seconds: float) -> Row:
    rate = events / seconds
    theirs = published.update_rate(context.stream.name, counter)
    return {
        "counter": counter, "how": how, "events": events, "seconds": seconds, "updates_per_s": rate,
        "paper_updates_per_s": theirs, "times_the_paper": rate / theirs,
        "times_their_java_today": rate / published.JAVA_TODAY if counter == "eh" else "",
    }  # fmt: skip


def _seconds(config: SketchConfig, batches: list[StreamBatch]) -> float:
    sketch = EcmSketch(config, site="here")
    begin = time.perf_counter()
    for batch in batches:
        sketch.update_many(batch.items, batch.ticks)
    sketch.total()  # completes any deferred work
    return time.perf_counter() - begin


def _seconds_one_by_one(config: SketchConfig, calls: list[tuple[int, int]]) -> float:
    sketch = EcmSketch(config, site="here")
    begin = time.perf_counter()
    for item, tick in calls:
        sketch.update(item, tick)
    sketch.total()
    return time.perf_counter() - begin


TABLE3 = Experiment(
    name="table3",
    title="Table 3: update rates at epsilon 0.1",
    paper="updates per second on one core of a 1.6 GHz Xeon (2012, Java): wc'98 1,486,314 EH, 1,167,704 DW, 177,149 "
    "RW; snmp 736,595, 667,036, 105,825. Their Java code reaches 5.6 M/s (EH) on a current machine",
    parameters={"epsilon": 0.1, "delta": 0.1, "counters": ("eh", "dw", "rw"), "batches": 20, "rounds": 5,
                "calls": 100_000},
    columns=(
        "counter", "how", "events", "seconds", "updates_per_s", "paper_updates_per_s", "times_the_paper",
        "times_their_java_today",
    ),
    run=run,
    least_events=10_000,
)  # fmt: skip
