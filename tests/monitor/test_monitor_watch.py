from __future__ import annotations

from math import inf, nextafter

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch.errors import ConfigError
from ecmsketch.monitor import (
    Above,
    Between,
    Custom,
    Frequency,
    HeavyHitterShare,
    InnerProduct,
    SelfJoin,
    Total,
    Tracking,
    Watch,
)
from ecmsketch.monitor.local_test import LocalTest

CONFIG = ecm.SketchConfig(epsilon=0.2, delta=0.2, window=100, counter="eh")


def test_above_has_two_regions():
    assert [Above(10).region(value) for value in (-1.0, 9.99, 10.0, 11.0)] == [0, 0, 1, 1]
    assert Above(10).bounds(3.0) == (-inf, nextafter(10, -inf))
    assert Above(10).bounds(10.0) == (10, inf)
    assert Above(10).announce(3.0, 2.0) == 3.0


def test_between_has_three():
    band = Between(2, 5)
    assert [band.region(value) for value in (1.9, 2.0, 4.9, 5.0)] == [0, 1, 1, 2]
    assert band.bounds(1.0) == (-inf, nextafter(2, -inf))
    assert band.bounds(3.0) == (2, nextafter(5, -inf))
    assert band.bounds(7.0) == (5, inf)


def test_tracking_is_around_the_value_or_ahead_of_it():
    assert Tracking(2).bounds(10.0) == (8, 12)
    assert Tracking(0.1, relative=True).bounds(-10.0) == (-11, -9)
    ahead = Tracking(2, lead=0.5)
    assert [ahead.announce(10.0, before) for before in (None, 10.0, 9.0, 11.0)] == [10, 10, 11, 9]


@pytest.mark.parametrize("kind", [Above, Tracking])
@pytest.mark.parametrize("value", [inf, float("nan"), "1", True])
def test_thresholds_are_finite_numbers(kind, value):
    with pytest.raises(ConfigError, match="expected a finite number"):
        kind(value)


def test_settings_are_checked():
    with pytest.raises(ConfigError, match="expected low < high"):
        Between(3, 3)
    with pytest.raises(ConfigError, match="theta: expected 0 or more"):
        Tracking(-1)
    with pytest.raises(ConfigError, match="lead: expected 0 to below 1"):
        Tracking(1, lead=1)
    for changes, message in (
        ({"combine": "max"}, "combine: expected 'sum' or 'average', got 'max'"),
        ({"test": "cone"}, "test: expected 'zone' or 'ball'"),
        ({"balance": "no"}, "balance: expected 'lazy' or 'eager'"),
        ({"function": "total"}, "function: expected one such as SelfJoin"),
        ({"threshold": 7}, "threshold: expected one such as Above"),
        ({"last": None}, "last: expected a whole number of ticks from 1 to 100, got None"),
        ({"last": 101}, "last: expected a whole number of ticks from 1 to 100, got 101"),
        ({"sketch": None}, "last: expected with sketch= only"),
        ({"sketch": 3}, "sketch: expected a SketchConfig"),
        ({"sketch": CONFIG.replace(model="count")}, "expected model='time'"),
        ({"patience": 0}, "patience: expected a whole number of ticks from 1"),
        (
            {"function": SelfJoin(), "last": None, "sketch": None},
            "needs cells of sketches, but the watch has no",
        ),
        ({"function": InnerProduct(), "last": None, "sketch": None}, r"InnerProduct\(.*\) needs cells of sketches"),
        ({"give_up": 0.5}, "give_up: expected a whole number of ticks from 1"),
    ):
        with pytest.raises(ConfigError, match=message):
            Watch(**{"function": Total(), "threshold": Above(1), "last": 50, "sketch": CONFIG, **changes})


def test_no_miss_lowers_thresholds_by_what_sketches_may_fall_short():
    short = 1 - CONFIG.epsilon_sw
    for function, factor in ((Total(), short), (Frequency("x"), short), (SelfJoin(), short**2)):
        assert Watch(function, Above(100), 50, CONFIG).no_miss().threshold == Above(factor * 100)
    for function in (SelfJoin(), InnerProduct()):
        assert not Watch(function, Above(100), 50, CONFIG).no_miss().function.centred, "collisions must only add"
    share = Watch(HeavyHitterShare("x", 0.1), Above(5), 50, CONFIG).no_miss()
    assert share.function.phi == pytest.approx(0.1 * short / (2 - short))
    with pytest.raises(ConfigError, match=r"expected the threshold Above\(tau\)"):
        Watch(Total(), Between(1, 2), 50, CONFIG).no_miss()
    with pytest.raises(ConfigError, match="randomized waves err at random"):
        Watch(Total(), Above(1), 50, CONFIG.replace(counter="rw")).no_miss()
    with pytest.raises(ConfigError, match="slices may fall short"):
        Watch(Total(), Above(1), 50, CONFIG.replace(counter="slices")).no_miss()
    with pytest.raises(ConfigError, match="what Custom of a sketch says"):
        Watch(Custom(np.sum), Above(1), 50, CONFIG).no_miss()


def test_a_reference_on_the_boundary_passes_its_own_test():
    reference = np.array([[3.0, 4.0]])
    for test in ("zone", "ball"):
        watch = Watch(SelfJoin(centred=False), Above(25.0), 50, CONFIG, test=test)
        assert LocalTest(watch, reference, *Above(25.0).bounds(25.0)).passes(reference)
        assert not LocalTest(watch, reference, *Above(25.0).bounds(25.0)).passes(reference * 0.99)
        nothing = np.zeros((1, 2))
        assert LocalTest(watch, nothing, 0.0, 0.0).passes(nothing)
        assert not LocalTest(watch, nothing, 0.0, 0.0).passes(reference)


@pytest.mark.parametrize(("centred", "tau"), [(True, 150.0), (False, 500.0)])
def test_zones_pass_far_more_than_balls(centred, tau):
    rng = np.random.default_rng(1)
    function = SelfJoin(centred)
    watch = Watch(function, Above(tau), 50, CONFIG)
    balls = Watch(function, Above(tau), 50, CONFIG, test="ball")
    only_zone = only_ball = 0
    for _ in range(300):
        reference = rng.integers(0, 15, (2, 6)).astype(float)
        bounds = Above(tau).bounds(function.value(reference))
        drift = reference + rng.integers(-8, 9, (2, 6))
        zone, ball = (LocalTest(each, reference, *bounds).passes(drift) for each in (watch, balls))
        only_zone += zone and not ball
        only_ball += ball and not zone
    assert only_zone > 5 * only_ball
    assert only_zone > 30
