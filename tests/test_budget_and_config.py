from __future__ import annotations

import pickle
from datetime import timedelta
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.config import budget
from ecmsketch.errors import ConfigError
from streams import zipf_items


def make(**changes):
    return ecm.SketchConfig(**{"epsilon": 0.1, "delta": 0.1, "window": 1000, "counter": "eh", **changes})


def test_the_published_splits():
    assert budget.point_split(0.1) == pytest.approx((0.0488088, 0.0488088), abs=1e-7)
    assert budget.inner_split(0.1) == pytest.approx((0.0239666, 0.0491102), abs=1e-7)


SHARES = st.floats(1e-6, 0.999)


@given(SHARES, SHARES, st.floats(0, 1), st.floats(-1, 1), st.floats(0, 1))
def test_the_sharper_theorem_1_bounds_every_reading_of_a_cell(epsilon_sw, epsilon_cm, own, sway, collided):
    """A row reads an item's own share of all arrivals and its collisions, together off by epsilon_sw at most."""
    value = (1 + sway * epsilon_sw) * (own + collided * epsilon_cm * (1 - own))
    below = 1e-12 + epsilon_sw * own
    assert -below <= value - own <= budget.point_error(epsilon_sw, epsilon_cm) * (1 + 1e-12)


@given(SHARES, SHARES, st.floats(0, 1), st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 1))
def test_the_sharper_theorem_2_bounds_every_sum_of_products(epsilon_sw, epsilon_cm, own, sway, other, collided):
    value = (1 + sway * epsilon_sw) * (1 + other * epsilon_sw) * (own + collided * epsilon_cm * (1 - own))
    assert abs(value - own) <= budget.inner_error(epsilon_sw, epsilon_cm) * (1 + 1e-12)


@given(SHARES)
def test_the_sharp_split_spends_the_whole_budget_on_both_parts(epsilon):
    sw, cm = budget.sharp_split(epsilon, "point")
    assert (sw, (1 + sw) * cm) == pytest.approx((epsilon, epsilon), rel=1e-9)
    sw, cm = budget.sharp_split(epsilon, "inner")
    assert ((1 + sw) ** 2 - 1, (1 + sw) ** 2 * cm) == pytest.approx((epsilon, epsilon), rel=1e-9)


@given(SHARES, st.floats(0.001, 0.999))
def test_the_sharp_split_needs_the_least_memory(epsilon, part):
    """Any other epsilon_sw that holds epsilon leaves epsilon_cm = epsilon/(1 + epsilon_sw)^factors, and costs more."""
    for query, factors in (("point", 1), ("inner", 2)):
        sw, cm = budget.sharp_split(epsilon, query)
        assert part * sw * epsilon / (1 + part * sw) ** factors <= sw * cm * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.2, 0.1, 0.001])
def test_the_papers_split_holds_about_half_of_epsilon(epsilon):
    assert budget.point_error(*budget.point_split(epsilon)) == pytest.approx(epsilon / 2, rel=0.1)
    assert budget.point_error(*budget.sharp_split(epsilon, "point")) == pytest.approx(epsilon)


@pytest.mark.parametrize("counter", ["eh", "dw", "rw"])
@pytest.mark.parametrize("merge_depth", [0, 1, 6])
def test_configs_hold_their_epsilon_after_all_levels(counter, merge_depth):
    for query, error in (("point", budget.point_error), ("inner", budget.inner_error)):
        if (counter, query) != ("rw", "inner"):
            config = make(counter=counter, merge_depth=merge_depth, optimize_for=query)
            levels = 0 if counter == "rw" else merge_depth
            carried = budget.carried_epsilon(config.epsilon_sw, levels)
            assert error(carried, config.epsilon_cm) == pytest.approx(config.epsilon)


def test_the_papers_split_is_chosen_by_name():
    for counter, optimize_for, split in (
        ("eh", "point", budget.point_split),
        ("dw", "inner", budget.inner_split),
        ("rw", "point", budget.randomized_split),
    ):
        config = make(counter=counter, optimize_for=optimize_for, split="paper")
        assert (config.epsilon_sw, config.epsilon_cm) == split(0.1)
    assert make().differences(make(split="paper")) == ["split"]


@pytest.mark.parametrize("epsilon", [0.9, 0.1, 0.01, 0.0001])
def test_splits_spend_the_whole_budget_of_the_published_theorems(epsilon):
    sw, cm = budget.point_split(epsilon)
    assert sw + cm + sw * cm == pytest.approx(epsilon)
    sw, cm = budget.inner_split(epsilon)
    assert sw**2 + 2 * sw + cm * (1 + sw) ** 2 == pytest.approx(epsilon)


@pytest.mark.parametrize("epsilon", [0.2, 0.01])
@pytest.mark.parametrize("split", [budget.point_split, budget.inner_split])
def test_the_papers_splits_need_the_least_memory_under_its_theorems(epsilon, split):
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
    config = make(split="paper")
    assert (config.width, config.depth, config.cells) == (56, 3, 168)
    assert (make().width, make().depth, make().cells) == (30, 3, 90)
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
        ("lateness", -1), ("estimator", "best"), ("split", "half"),
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
    for word in ("3 rows of 30", "'eh'", "'dw'", "'rw'", "sharp split for point", "the paper's for inner"):
        assert word in text
    assert "2 epsilon" not in text
    assert "advice" not in text, "a resolution of 0.05 is no cheaper than an epsilon of 0.1"


@pytest.mark.parametrize("counter", ["eh", "slices"])
def test_describe_advises_a_resolution_where_it_saves_memory(counter):
    config = make(epsilon=0.001, counter=counter)
    *_, advice = config.describe().splitlines()
    said = "5 % of its own count plus 0.1 % of everything else" if counter == "eh" else "honoured to within 10 %"
    assert advice.startswith("advice: take resolution=0.")
    assert said in advice
    resolution = float(advice.split("=")[1].split()[0])
    assert config.replace(resolution=resolution).expected_nbytes(10**6) < 0.5 * config.expected_nbytes(10**6)
    assert "advice" not in config.replace(resolution=resolution).describe()


@pytest.mark.parametrize(("epsilon", "most"), [(0.1, 0.4), (0.01, 0.4)])
def test_the_sharp_split_takes_less_than_half_the_memory(epsilon, most):
    """A million Zipf events: 0.32 and 0.36 of the paper's split; with a resolution of 0.05, 0.11 at epsilon 0.01."""
    items = zipf_items(10**6, 90_000, np.random.default_rng(0))
    sizes = {}
    for name, more in (("paper", {"split": "paper"}), ("sharp", {}), ("resolution", {"resolution": 0.05})):
        sketch = ecm.EcmSketch(make(epsilon=epsilon, delta=0.01, window=10**6, **more))
        sketch.update_many(items, np.arange(10**6))
        sizes[name] = sketch.nbytes
    assert sizes["sharp"] <= most * sizes["paper"]
    if epsilon == 0.01:
        assert sizes["resolution"] <= 0.15 * sizes["paper"]


@pytest.mark.parametrize("epsilon", [0.25, 0.2, 0.15, 0.03])
def test_rings_are_no_longer_than_the_proof_needs(epsilon):
    """A wave keeps at most one tick a level more than (1/epsilon + 1)/2, and a finer epsilon takes more memory."""
    ring = budget.wave_ring(epsilon)
    assert (1 / epsilon + 1) / 2 <= ring < (1 / epsilon + 1) / 2 + 1
    assert budget.wave_ring(0.15) > budget.wave_ring(0.25)


def test_waves_have_settings_of_their_own():
    assert make(counter="rw", wave_constant=36).samples == pytest.approx(36 / make(counter="rw").epsilon_sw ** 2, abs=1)
    assert make(counter="rw", wave_instances=5).samples < make(counter="rw").samples
    for field, value in (("wave_constant", 0.5), ("wave_instances", 0), ("max_arrivals", 0)):
        with pytest.raises(ConfigError, match=field):
            make(**{field: value})
