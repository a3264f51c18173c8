from __future__ import annotations

import pickle
from datetime import timedelta
from math import exp

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch.config import budget
from ecmsketch.errors import ConfigError


def make(**changes):
    return ecm.SketchConfig(**{"epsilon": 0.1, "delta": 0.1, "window": 1000, "counter": "eh", **changes})


def test_the_published_splits():
    assert budget.point_split(0.1) == pytest.approx((0.0488088, 0.0488088), abs=1e-7)
    assert budget.inner_split(0.1) == pytest.approx((0.0239666, 0.0491102), abs=1e-7)


@pytest.mark.parametrize("epsilon", [0.9, 0.1, 0.01, 0.0001])
def test_splits_spend_the_whole_budget_and_no_more(epsilon):
    sw, cm = budget.point_split(epsilon)
    assert sw + cm + sw * cm == pytest.approx(epsilon)
    sw, cm = budget.inner_split(epsilon)
    assert sw**2 + 2 * sw + cm * (1 + sw) ** 2 == pytest.approx(epsilon)


@pytest.mark.parametrize("epsilon", [0.2, 0.01])
@pytest.mark.parametrize("split", [budget.point_split, budget.inner_split])
def test_splits_need_the_least_memory(epsilon, split):
    sw, cm = split(epsilon)
    for shift in (0.99, 1.01):
        other = sw * shift
        if split is budget.point_split:
            rest = (epsilon - other) / (1 + other)
        else:
            rest = (epsilon - other**2 - 2 * other) / (1 + other) ** 2
        assert other * rest < sw * cm


@pytest.mark.parametrize("depth", [1, 2, 5, 10])
def test_merge_depth_budgets_compound_to_the_target(depth):
    site = budget.site_epsilon(0.05, depth, "corrected")
    assert budget.carried_epsilon(site, depth) == pytest.approx(0.05)
    paper = budget.site_epsilon(0.05, depth, "paper")
    assert depth * paper * (1 + paper) + paper == pytest.approx(0.05)
    if depth > 1:
        assert budget.carried_epsilon(paper, depth) > 0.05, "the paper's linear formula misses its target"


def test_the_table_of_the_papers_setting():
    config = make()
    assert (config.width, config.depth, config.cells) == (56, 3, 168)
    assert config.confidence == pytest.approx(1 - exp(-3))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epsilon", 0), ("epsilon", 1), ("epsilon", -0.1), ("epsilon", float("nan")), ("epsilon", "0.1"),
        ("epsilon", True), ("epsilon", 1e-9), ("delta", 0), ("delta", 1.5), ("window", 0), ("window", -5),
        ("window", 2**60), ("window", 10.5), ("window", True), ("epsilon", 1e-17), ("delta", 5e-324),
        ("window", timedelta(days=1)), ("counter", "xx"), ("model", "both"),
        ("optimize_for", "speed"), ("merge_depth", -1), ("merge_depth", 1.5), ("merge_formula", "linear"),
        ("seed", -1), ("seed", 2**64), ("unit", "fortnight"), ("late", "ignore"), ("lateness", 1001),
        ("lateness", -1), ("estimator", "best"),
    ],
)  # fmt: skip
def test_bad_values_get_an_error_that_names_the_field_and_the_value(field, value):
    with pytest.raises(ConfigError) as caught:
        make(**{field: value})
    assert str(caught.value).startswith(f"{field}: ")
    shown = str(caught.value).replace(",", "")
    assert repr(value) in str(caught.value) or str(value) in shown
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), ConfigError)


def test_windows_may_be_timedeltas_once_there_is_a_unit():
    assert make(window=timedelta(days=1), unit="s").window == 86_400
    assert make(window=timedelta(hours=1), unit="ms", lateness=timedelta(minutes=1)).lateness == 60_000
    with pytest.raises(ConfigError, match="whole number"):
        make(window=timedelta(seconds=90), unit="m")


def test_combinations_without_sense_are_refused():
    with pytest.raises(ConfigError, match="no guarantee for 'inner'"):
        make(counter="rw", optimize_for="inner")
    with pytest.raises(ConfigError, match="even empty"):
        make(counter="rw", epsilon=1e-5, wave_instances=9)
    assert "too large" in make(epsilon=0.0001).describe()


def test_configs_are_frozen_and_compare_by_value():
    assert make() == make()
    assert hash(make()) == hash(make())
    with pytest.raises(AttributeError):
        make().epsilon = 0.2
    assert make().differences(make(seed=1, late="drop")) == ["seed"]
    assert make().compatible(make(estimator="half"))


@pytest.mark.parametrize("counter", ["eh", "dw", "rw", "slices"])
@pytest.mark.parametrize("epsilon", [0.1, 0.03])
def test_expected_memory_is_close_to_what_a_sketch_takes(counter, epsilon):
    config = make(epsilon=epsilon, window=10**6, counter=counter)
    sketch = ecm.EcmSketch(config, site="x")
    sketch.update_many(np.random.default_rng(0).integers(0, 10**6, 10**6), np.arange(10**6))
    rough = 0.5 if counter == "slices" else 0.3  # how well cells are packed depends on the stream
    assert config.expected_nbytes(10**6) == pytest.approx(sketch.nbytes, rel=rough)


def test_describe_says_what_each_counter_and_each_split_costs():
    text = make().describe()
    for word in ("3 rows of 56", "'eh'", "'dw'", "'rw'", "point", "inner", "authors"):
        assert word in text


def test_waves_have_settings_of_their_own():
    assert make(counter="rw", wave_constant=36).samples == pytest.approx(36 / make(counter="rw").epsilon_sw ** 2, abs=1)
    assert make(counter="rw", wave_instances=5).samples < make(counter="rw").samples
    for field, value in (("wave_constant", 0.5), ("wave_instances", 0), ("max_arrivals", 0)):
        with pytest.raises(ConfigError, match=field):
            make(**{field: value})
