"""How the error of one counter grows with every level of merging, and which bound holds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.config.budget import carried_epsilon
from ecmsketch.experiments.beyond.one_counter import counted, last_ticks, relative_errors
from ecmsketch.experiments.paper.variants import Variant, read_with
from ecmsketch.experiments.spec import Context, Experiment, Row
from ecmsketch.sketch import EcmSketch
from ecmsketch.sketch.merging import merge

BUDGETS = ("none", "paper", "corrected")
"""What the sites are sized for: epsilon without merging, or epsilon after all levels by either formula."""


def run(spec: Experiment, context: Context) -> list[Row]:
    """A row for every number of levels and every budget: the worst observed error, and both bounds."""
    parameters = spec.parameters
    ticks = last_ticks(context.stream, parameters["arrivals"])
    base = Variant("eh").config(parameters["epsilon"], parameters["delta"], context.seed)
    rows = []
    for levels in parameters["levels"]:
        context.say(f"{2**levels} sites, {levels} levels of merging")
        for budget in BUDGETS:
            config = base if budget == "none" else base.replace(merge_depth=levels, merge_formula=budget)
            sketch = read_with(_merged(ticks, config, levels, context.seed), "half")
            errors = relative_errors(sketch, ticks, parameters["ranges"])
            site = config.epsilon_sw
            rows.append(
                {
                    "levels": levels, "sites": 2**levels, "budget": budget, "site_epsilon_sw": site,
                    "target_epsilon_sw": base.epsilon_sw, "avg_relative": float(errors.mean()),
                    "max_relative": float(errors.max()), "corrected_bound": carried_epsilon(site, levels),
                    "paper_bound": levels * site * (1 + site) + site,
                }
            )  # fmt: skip
    return rows


def _merged(ticks: NDArray[np.int64], config: SketchConfig, levels: int, seed: int) -> EcmSketch:
    places = np.random.default_rng(seed).integers(0, 2**levels, len(ticks))
    sites = [counted(ticks[places == site], config, str(site)) for site in range(2**levels) if (places == site).any()]
    return merge(sites, method="binary")


MERGING_LEVELS = Experiment(
    name="levels",
    title="Beyond: one counter through many levels of merging",
    paper="the error after h levels is bounded by h eps (1 + eps) + eps (section 5.1); errors compound, so we bound it "
    "by (1 + eps)^(h + 1) - 1",
    parameters={"epsilon": 0.1, "delta": 0.1, "levels": tuple(range(9)), "arrivals": 500_000, "ranges": 400},
    columns=(
        "levels", "sites", "budget", "site_epsilon_sw", "target_epsilon_sw", "avg_relative", "max_relative",
        "corrected_bound", "paper_bound",
    ),
    run=run,
)  # fmt: skip
