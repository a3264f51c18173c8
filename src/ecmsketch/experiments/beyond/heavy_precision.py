"""Heavy hitters by name (section 6.1): precision and recall against exact counts, by range."""

from __future__ import annotations

from functools import lru_cache

from ecmsketch.experiments.beyond.engine_settings import cases
from ecmsketch.experiments.data.event_stream import Stream
from ecmsketch.experiments.data.exact_counts import Truth, count_exactly
from ecmsketch.experiments.paper.variants import sketch_all
from ecmsketch.experiments.spec import Context, Experiment, Row
from ecmsketch.sketch import EcmSketch


@lru_cache(maxsize=1)
def exact_ranges(stream: Stream) -> list[Truth]:
    """The exact counts of all ranges, kept for the next seed."""
    return count_exactly(stream)


def run(spec: Experiment, context: Context) -> list[Row]:
    """A row for every engine, phi and range."""
    parameters = spec.parameters
    settings = cases(parameters["phis"])
    configs = [
        engine.config(parameters["epsilon_by_phi"] * phi, parameters["delta"], context.seed, heavy_hitters=True)
        for engine, phi in settings
    ]
    context.say(f"filling {len(configs)} sketches")
    return [
        {"engine": engine.name, "phi": phi, "epsilon": sketch.config.epsilon, **_row(sketch, truth, phi)}
        for (engine, phi), sketch in zip(settings, sketch_all(context.stream, configs), strict=True)
        for truth in exact_ranges(context.stream)
    ]


def _row(sketch: EcmSketch, truth: Truth, phi: float) -> Row:
    total = truth.total
    counts = dict(zip(truth.items.tolist(), truth.counts.tolist(), strict=True))
    heavy = set(truth.items[truth.counts >= phi * total].tolist())
    named = {int(hitter.item) % 2**64 for hitter in sketch.heavy_hitters(phi, last=truth.last)}
    careful = {int(hitter.item) % 2**64 for hitter in sketch.heavy_hitters(phi, last=truth.last, no_miss=True)}
    missed, wrong = [counts[item] for item in heavy - named], [counts.get(item, 0) for item in named - heavy]
    return {
        "range_s": truth.last, "arrivals": total, "heavy": len(heavy), "named": len(named),
        "precision": len(heavy & named) / len(named) if named else 1.0,
        "recall": len(heavy & named) / len(heavy) if heavy else 1.0,
        "recall_no_miss": len(heavy & careful) / len(heavy) if heavy else 1.0,
        "largest_missed": max(missed, default=0) / total,
        "smallest_wrong": min(wrong, default=phi * total) / total,
        "memory_bytes": sketch.nbytes,
    }  # fmt: skip


HEAVY_HITTERS = Experiment(
    name="heavy_hitters",
    title="Beyond: heavy hitters, precision and recall",
    paper="section 6.1 finds heavy hitters with a bound, without an experiment",
    parameters={"phis": (0.01, 0.001), "epsilon_by_phi": 0.5, "delta": 0.1},
    columns=(
        "engine", "phi", "epsilon", "range_s", "arrivals", "heavy", "named", "precision", "recall", "recall_no_miss",
        "largest_missed", "smallest_wrong", "memory_bytes",
    ),
    run=run,
    seeds=5,
    scales={"small": {"seeds": 3}},
    least_events=1000,
)  # fmt: skip
