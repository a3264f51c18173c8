"""Lazy union: keep the sketch of every site and add up their answers, against merging them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.experiments.data.exact_counts import Truth, count_exactly
from ecmsketch.experiments.data.site_files import site_files, sketch_site
from ecmsketch.experiments.paper.accuracy import least_cells, observe_points, overall, promised
from ecmsketch.experiments.paper.variants import Variant
from ecmsketch.experiments.spec import Context, Experiment, Row
from ecmsketch.sketch import EcmSketch
from ecmsketch.sketch.merging import merge

SummedAnswers = Callable[[Truth], NDArray[np.float64]]


def run(spec: Experiment, context: Context) -> list[Row]:
    """Rows for every epsilon: merged up a tree, in one step, and not at all. EH only: merging adds to its error."""
    parameters = spec.parameters
    truths = count_exactly(context.stream)
    rows: list[Row] = []
    with site_files(context) as files:
        for epsilon in parameters["epsilons"]:
            config = Variant("eh").config(epsilon, parameters["delta"], context.seed)
            context.say(f"epsilon {epsilon}: {len(files)} sites")
            rows += _compare(files, config, truths, context.stream.now)
    return rows


def _compare(files: list[Path], config: SketchConfig, truths: list[Truth], now: int) -> list[Row]:
    sites = [sketch_site(path, config) for path in files]
    for site in sites:
        site.advance(now)
    tree, n_way = merge(sites, method="binary"), merge(sites)
    kept = sum(len(site.serialize()) for site in sites)
    ways: dict[str, tuple[SummedAnswers, int, float]] = {
        "binary tree": (_answers([tree]), len(tree.serialize()), promised(tree, "point")),
        "n-way": (_answers([n_way]), len(n_way.serialize()), promised(n_way, "point")),
        "lazy union": (_answers(sites), kept, promised(sites[0], "point")),
    }
    return [
        {"epsilon": config.epsilon, "how": how, "sites": len(sites), **_errors(answer, truths), "promised": promise,
         "bytes_kept": size}
        for how, (answer, size, promise) in ways.items()
    ]  # fmt: skip


def _answers(sketches: list[EcmSketch]) -> SummedAnswers:
    """The summed answers of all sketches to point queries."""

    def answer(truth: Truth) -> NDArray[np.float64]:
        total: Any = sum(least_cells(sketch, truth) for sketch in sketches)
        return np.asarray(total, np.float64)

    return answer


def _errors(answer: SummedAnswers, truths: list[Truth]) -> Row:
    found = overall([observe_points(answer(truth), truth) for truth in truths])
    return {"queries": found.queries, "avg_error": found.average, "max_error": found.worst}


LAZY_UNION = Experiment(
    name="union",
    title="Beyond: lazy union, every site's sketch kept and asked",
    paper="no such table; without merging, the error of a site does not grow",
    parameters={"epsilons": (0.05, 0.1, 0.2), "delta": 0.1},
    columns=("epsilon", "how", "sites", "queries", "avg_error", "max_error", "promised", "bytes_kept"),
    run=run,
    needs_sites=True,
)
