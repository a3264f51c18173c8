"""Table 3: updates per second of each variant at epsilon 0.1, on one core: one call per event, and in batches."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from math import inf

import numpy as np

from ecmsketch.config import SketchConfig
from ecmsketch.experiments.data.event_stream import StreamBatch
from ecmsketch.experiments.paper import published
from ecmsketch.experiments.paper.variants import Variant, our_variants
from ecmsketch.experiments.spec import Context, Experiment, Row
from ecmsketch.sketch import EcmSketch

ONE_CALL = "one call per event"
WHOLE = "batches"
"""Batches as the stream comes, of up to 250,000 events."""


def timed_variants(counters: tuple[str, ...]) -> list[Variant]:
    """The published counters and ours, sized for point queries."""
    return [*(Variant(counter) for counter in counters), *(ours for ours in our_variants() if ours.query == "point")]


def run(spec: Experiment, context: Context) -> list[Row]:
    """Rows for every variant: one call per event as in the paper, small batches, and batches as they come."""
    parameters = spec.parameters
    configs = {
        variant: variant.config(parameters["epsilon"], parameters["delta"], context.seed)
        for variant in timed_variants(parameters["counters"])
    }
    held = list(islice(context.stream.batches(), parameters["batches"]))
    rows: list[Row] = []
    for size in parameters["batch_sizes"]:
        some = _cut(held, size, parameters["calls"] * (1 if size == 1 else 10))
        rows += _rates(spec, context, configs, ONE_CALL if size == 1 else f"batches of {size:,}", some)
    if parameters["whole_stream"]:
        return rows + _rates(spec, context, configs, WHOLE, None)
    return rows + _rates(spec, context, configs, WHOLE, held)


def _cut(held: list[StreamBatch], size: int, most: int) -> list[StreamBatch]:
    """The first `most` events in batches of a size; a batch of all for one call per event."""
    items, ticks, sites = (np.concatenate(column)[:most] for column in zip(*held, strict=True))
    step = len(ticks) if size == 1 else size
    cuts = [slice(begin, begin + step) for begin in range(0, len(ticks), step)]
    return [StreamBatch(items[cut], ticks[cut], sites[cut]) for cut in cuts]


def _rates(
    spec: Experiment, context: Context, configs: dict[Variant, SketchConfig], how: str, held: list[StreamBatch] | None
) -> list[Row]:
    """The best of some rounds, in which variants take turns; one round, without any warming up, if nothing is held."""
    best = dict.fromkeys(configs, inf)
    events = 0
    for turn in range(1 if held is None else spec.parameters["rounds"] + 1):
        context.say(f"{how}, round {turn}")
        events, seconds = _round(configs, how, context.stream.batches() if held is None else held)
        best = {variant: min(best[variant], seconds[variant]) for variant in configs}
    return [_row(context, variant, how, events, seconds) for variant, seconds in best.items()]


def _round(
    configs: dict[Variant, SketchConfig], how: str, batches: Iterable[StreamBatch]
) -> tuple[int, dict[Variant, float]]:
    """The events of one pass, and the seconds that each variant took for them: a noisy machine slows all alike."""
    sketches = {variant: EcmSketch(config, site="here") for variant, config in configs.items()}
    seconds = dict.fromkeys(configs, 0.0)
    events = 0
    for batch in batches:
        events += len(batch.ticks)
        calls = list(_calls(batch)) if how == ONE_CALL else []
        for variant, sketch in sketches.items():
            begin = time.perf_counter()
            if how == ONE_CALL:
                for item, tick in calls:
                    sketch.update(item, tick)
            else:
                sketch.update_many(batch.items, batch.ticks)
            seconds[variant] += time.perf_counter() - begin
    for variant, sketch in sketches.items():
        begin = time.perf_counter()
        sketch.total()  # completes any deferred work
        seconds[variant] += time.perf_counter() - begin
    return events, seconds


def _calls(batch: StreamBatch) -> Iterator[tuple[int, int]]:
    return zip(batch.items.tolist(), batch.ticks.tolist(), strict=True)


def _row(context: Context, variant: Variant, how: str, events: int, seconds: float) -> Row:
    rate = events / seconds
    theirs = published.update_rate(context.stream.name, variant.counter)
    return {
        "variant": variant.name, "counter": variant.counter, "how": how, "events": events, "seconds": seconds,
        "updates_per_s": rate, "paper_updates_per_s": theirs or "", "times_the_paper": rate / theirs if theirs else "",
    }  # fmt: skip


TABLE3 = Experiment(
    name="table3",
    title="Table 3: update rates at epsilon 0.1",
    paper="updates per second on one core of a 1.6 GHz Xeon (2012, Java): wc'98 1,486,314 EH, 1,167,704 DW, 177,149 "
    "RW; snmp 736,595, 667,036, 105,825; batches are not mentioned",
    parameters={"epsilon": 0.1, "delta": 0.1, "counters": ("eh", "dw", "rw"), "batches": 20, "rounds": 3,
                "calls": 100_000, "batch_sizes": (1, 100, 1_000, 10_000), "whole_stream": False},
    columns=(
        "variant", "counter", "how", "events", "seconds", "updates_per_s", "paper_updates_per_s", "times_the_paper",
    ),
    run=run,
    least_events=10_000,
    scales={"paper": {"whole_stream": True}, "small": {"calls": 30_000}},
)  # fmt: skip
