"""Two promises instead of one: what `resolution` means for cells and for slices, and that the parts add up."""

from __future__ import annotations

from math import ceil, log, log1p

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.config import PrefixConfig, budget
from ecmsketch.config.sketch_config import CHOICES, MAX_EMPTY_BYTES
from ecmsketch.errors import ConfigError, MergeError

SHARES = st.floats(1e-6, 0.999)
DEPTHS = st.integers(0, 64)
EXACTLY = {"rel": 1e-9, "abs": 1e-12}


def make(**changes):
    return ecm.SketchConfig(**{"epsilon": 0.1, "delta": 0.1, "window": 1000, **changes})


class TestCells:
    @given(SHARES, SHARES, st.floats(0, 1), st.floats(-1, 1))
    def test_the_promise_adds_up(self, epsilon, resolution, own, sway):
        """The worst reading of a row: an item's own share of all arrivals, its collisions, and the counter's error."""
        split = budget.resolution_split(epsilon, resolution)
        others = 1 - own
        for collisions in (0.0, split.epsilon_cm * others):
            value = (1 + sway * split.epsilon_sw) * (own + collisions)
            assert abs(value - own) <= (resolution * own + epsilon * others) * (1 + 1e-9) + 1e-12
        worst = (1 + split.epsilon_sw) * (own + split.epsilon_cm * others) - own
        assert worst == pytest.approx(resolution * own + epsilon * others, **EXACTLY)

    @pytest.mark.parametrize("counter", ["eh", "dw", "rw"])
    @pytest.mark.parametrize("merge_depth", [0, 3])
    def test_counters_reach_the_resolution_after_all_merging(self, counter, merge_depth):
        config = make(epsilon=0.01, resolution=0.05, counter=counter, merge_depth=merge_depth)
        levels = 0 if counter == "rw" else merge_depth
        assert budget.carried_epsilon(config.epsilon_sw, levels) == pytest.approx(0.05)
        assert config.epsilon_cm == pytest.approx(0.01 / 1.05)
        assert config.width == budget.table_width(config.epsilon_cm)

    @pytest.mark.parametrize("counter", ["eh", "dw", "rw"])
    def test_without_a_resolution_it_is_epsilon(self, counter):
        plain, same = make(counter=counter), make(counter=counter, resolution=0.1)
        assert (plain.epsilon_sw, plain.epsilon_cm) == (same.epsilon_sw, same.epsilon_cm)
        assert ecm.EcmSketch(plain).epsilon == pytest.approx(0.1)
        assert ecm.EcmSketch(make(counter=counter, epsilon=0.01, resolution=0.05)).epsilon == pytest.approx(0.05)

    def test_the_promise_is_kept_and_the_sketch_is_small(self):
        config = make(epsilon=0.01, delta=0.01, resolution=0.1, window=10**6, counter="eh")
        items = np.random.default_rng(0).zipf(1.3, 200_000) % 5000
        sketch = ecm.EcmSketch(config)
        sketch.update_many(items, np.arange(200_000))
        for last in (1000, 50_000, 200_000):
            true = np.bincount(items[-last:], minlength=5000)
            error = np.abs(sketch.estimate_many(np.arange(5000), last=last).value - true)
            assert np.mean(error <= 0.1 * true + 0.01 * (last - true) + 1e-6) >= 0.99
        assert config.expected_nbytes(200_000) < config.replace(resolution=None).expected_nbytes(200_000) / 4

    def test_sketches_of_another_resolution_do_not_merge(self):
        assert make().differences(make(resolution=0.1)) == ["resolution"]
        with pytest.raises(MergeError, match="resolution"):
            ecm.merge([ecm.EcmSketch(make()), ecm.EcmSketch(make(resolution=0.2))])


class TestSlices:
    @given(SHARES, DEPTHS)
    def test_a_count_spends_the_whole_budget(self, epsilon, depth):
        start, collisions = budget.slices_split(epsilon, None, "point")
        assert start + collisions == pytest.approx(epsilon, **EXACTLY)
        site = budget.slices_site_epsilon(start, depth)
        assert budget.slices_carried_epsilon(site, depth) == pytest.approx(epsilon / 2, **EXACTLY)

    @given(SHARES, DEPTHS)
    def test_an_inner_product_spends_the_whole_budget(self, epsilon, depth):
        start, collisions = budget.slices_split(epsilon, None, "inner")
        carried = 1 + budget.slices_carried_epsilon(budget.slices_site_epsilon(start, depth), depth)
        assert carried**2 - 1 == pytest.approx(epsilon / 2, **EXACTLY)
        assert collisions == pytest.approx(epsilon / 2 / carried**2, **EXACTLY)
        assert carried**2 * (1 + collisions) - 1 == pytest.approx(epsilon, **EXACTLY)

    @given(SHARES, SHARES, st.sampled_from(["point", "inner"]))
    def test_a_resolution_leaves_epsilon_to_collisions(self, epsilon, resolution, optimize_for):
        assert budget.slices_split(epsilon, resolution, optimize_for) == (resolution, epsilon)

    def test_what_a_config_derives(self):
        config = make(counter="slices", resolution=0.06, merge_depth=2)
        assert (config.epsilon_t, config.epsilon_cm) == (
            pytest.approx(0.015),
            0.1,
        )  # two levels add up to four times it
        assert config.epsilon_sw == config.epsilon_t
        assert (config.width, config.depth, config.delta_sw) == (28, 3, 0.0)
        assert (config.block, config.recent) == (1024, ceil(64 / (2 * config.epsilon_t)))
        assert config.first_nbytes == 3072
        shared = make(counter="slices", merge_depth=1)
        assert (shared.epsilon_t, shared.epsilon_cm) == (pytest.approx(0.05 / 3), 0.05)
        assert shared.confidence >= 1 - shared.delta

    def test_blocks_grow_with_the_table_up_to_16_bits(self):
        config = make(counter="slices", epsilon=0.005, delta=0.01)
        assert config.block == config.recent // 8 == 8500  # so many newest events that less would be too often
        assert make(counter="slices", epsilon=0.001, delta=0.01, resolution=0.1).block == ceil(5 * 2719 / 4)
        wide = make(counter="slices", epsilon=1e-5, resolution=0.1)
        assert wide.cells > 4 * 65_536
        assert (wide.block, wide.recent) == (65_536, ceil(16_384 / 0.2))

    def test_all_levels_of_a_prefix_config_count(self):
        config = PrefixConfig(epsilon=0.01, delta=0.01, window=1000, counter="slices", bits=32)
        assert config.block > make(counter="slices", epsilon=0.01, delta=0.01).block

    @pytest.mark.parametrize(
        "more",
        [
            {"heavy_hitters": True}, {"seed": 7}, {"estimator": "half"}, {"late": "side", "lateness": 5},
            {"unit": "s"}, {"model": "count"}, {"optimize_for": "inner"}, {"merge_formula": "paper"},
            {"max_arrivals": 5, "wave_constant": 9, "wave_instances": 3},
        ],
    )  # fmt: skip
    def test_other_fields_go_with_slices(self, more):
        assert make(counter="slices", **more).counter == "slices"

    @pytest.mark.parametrize("changes", [{"epsilon": 1e-4}, {"epsilon": 0.1, "resolution": 1e-6}, {"epsilon": 1e-7}])
    def test_too_many_recent_events_are_refused(self, changes):
        with pytest.raises(ConfigError, match=r"resolution|epsilon"):
            make(counter="slices", **changes)

    def test_the_refusal_says_the_way_out(self):
        with pytest.raises(ConfigError, match=r"keeps the newest [\d,]+ events .* choose a larger resolution"):
            make(counter="slices", epsilon=1e-4)
        allowed = make(counter="slices", epsilon=1e-4, resolution=0.05)
        assert allowed.recent * 24 + allowed.cells * 8 <= MAX_EMPTY_BYTES

    def test_expected_memory_follows_the_model(self):
        config = make(counter="slices", epsilon=0.01, delta=0.01, resolution=0.05, window=10**9)
        assert config.expected_nbytes(0) == 0
        assert config.expected_nbytes(100) == 1200
        arrivals = 10**7
        slices = log(arrivals / config.recent) / log1p(0.075)
        model = (config.recent + config.block / 2) * 12 + slices * (config.cells * 0.9 + 200)
        assert config.expected_nbytes(arrivals) == pytest.approx(model, abs=1)
        sizes = [config.expected_nbytes(n) for n in (10, 10**3, 10**4, 10**5, 10**6, 10**12)]
        assert sizes == sorted(sizes)


@pytest.mark.parametrize("value", [0, 1, -0.1, float("nan"), "0.1", True, 1e-7, 1.5])
@pytest.mark.parametrize("counter", CHOICES["counter"])
def test_a_resolution_is_a_share(counter, value):
    with pytest.raises(ConfigError, match=r"^resolution: expected a number from 1e-06 to below 1, got"):
        make(counter=counter, resolution=value)


@pytest.mark.parametrize("counter", CHOICES["counter"])
@pytest.mark.parametrize("resolution", [None, 0.05])
def test_describe_prices_both_engines_and_states_the_promise(counter, resolution):
    text = make(counter=counter, epsilon=0.001, resolution=resolution, merge_depth=1).describe()
    for word in ("counter 'eh'", "counter 'slices'", "with probability 0.9", "after up to 1 level of merging"):
        assert word in text
    if resolution is None:
        assert "an item's count is wrong by at most 0.1 % of everything in the range" in text
    elif counter == "slices":
        assert "honoured to within 5 % of what came since, and collisions add at most 0.1 % of everything" in text
    else:
        assert "wrong by at most 5 % of its own count plus 0.1 % of everything else" in text


def test_a_description_survives_configs_that_other_counters_cannot_hold():
    text = make(counter="slices", epsilon=1e-6, delta=0.01, resolution=0.9).describe()
    assert "too large for this epsilon" in text
