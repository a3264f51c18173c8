"""Values over balls against brute force; zones convex, admissible, around their reference, and large."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch.errors import ConfigError
from ecmsketch.monitor import Custom, Frequency, HeavyHitterShare, InnerProduct, SelfJoin, Total

SHAPES = {
    Total(): (1,),
    Frequency("x"): (3,),
    HeavyHitterShare("x", 0.3): (4,),
    SelfJoin(): (3, 4),
    SelfJoin(centred=False): (3, 4),
    InnerProduct("a", "b"): (2, 3, 4),
    InnerProduct("a", "b", centred=False): (2, 3, 4),
}
FUNCTIONS = pytest.mark.parametrize("function", list(SHAPES), ids=repr)


def some_vector(function, rng):
    """Counts, or drifts with negative entries; now and then rows of nothing."""
    vector = rng.integers(-5, 20, SHAPES[function]).astype(float)
    if rng.random() < 0.2:
        vector[..., 0] = 0
    if rng.random() < 0.1:
        vector = np.zeros(SHAPES[function])
    return vector


def small(vector):
    """Fewer rows and columns, so that a search finds its way."""
    return vector if vector.ndim == 1 else vector[..., :2, :2]


def points_in_ball(center, radius, count, rng):
    steps = rng.standard_normal((count, *center.shape))
    lengths = np.sqrt((steps.reshape(count, -1) ** 2).sum(axis=1))
    far = radius * rng.random(count) ** (1 / (3 * center.size)) / lengths
    return center + steps * far.reshape(-1, *[1] * center.ndim)


def climb(function, center, radius, sign, rng):
    """The best value that a random walk finds in the ball, by ever smaller steps, each kept if it is better."""
    best, place = sign * function.value(center), center
    for size in np.repeat(np.geomspace(radius, radius / 1000, 60), 50):
        step = place + size * rng.standard_normal(center.shape) / sqrt(center.size) - center
        found = center + step * min(1.0, radius / max(float(np.sqrt((step**2).sum())), 1e-12))
        value = sign * function.value(found)
        if value < best:
            best, place = value, found
    return sign * best


@FUNCTIONS
def test_no_point_in_a_ball_is_beyond_its_extremes(function):
    rng = np.random.default_rng(1)
    for _ in range(60):
        center, radius = some_vector(function, rng), float(rng.choice([0.0, 0.5, 3.0, 20.0, 60.0]))
        low, high = function.extrema(center, radius)
        slip = 1e-9 * max(abs(low), abs(high), 1)
        values = [function.value(point) for point in points_in_ball(center, radius, 200, rng)]
        assert low - slip <= min(values)
        assert max(values) <= high + slip
        if radius == 0:
            assert (low, high) == (pytest.approx(function.value(center)),) * 2


@FUNCTIONS
def test_the_extremes_of_a_ball_are_reached(function):
    rng = np.random.default_rng(2)
    for _ in range(5):
        center, radius = small(some_vector(function, rng)), float(rng.choice([2.0, 8.0, 30.0]))
        low, high = function.extrema(center, radius)
        lowest = min(climb(function, center, radius, 1, rng) for _ in range(3))
        highest = max(climb(function, center, radius, -1, rng) for _ in range(3))
        assert lowest == pytest.approx(low, abs=0.02 * (high - low))
        assert highest == pytest.approx(high, abs=0.02 * (high - low))


def some_bounds(function, reference, rng):
    value = function.value(reference)
    low = value - float(rng.choice([0.0, 1.0, 10.0, 100.0]))
    high = value + float(rng.choice([0.0, 1.0, 10.0, 100.0]))
    return (-inf if rng.random() < 0.3 else low), (inf if rng.random() < 0.3 else high)


def some_insiders(zone, reference, rng, count=40):
    """Points of a zone: random ones pulled towards the reference until they are inside."""
    found = []
    for _ in range(count):
        step = rng.standard_normal(reference.shape) * rng.choice([0.1, 3.0, 30.0, 300.0])
        for _ in range(30):
            if zone.contains(reference + step):
                found.append(reference + step)
                break
            step /= 1.5
    return found


@FUNCTIONS
def test_zones_are_admissible_convex_and_around_their_reference(function):
    rng = np.random.default_rng(3)
    insiders = 0
    for _ in range(50):
        reference = some_vector(function, rng)
        low, high = some_bounds(function, reference, rng)
        zone = function.zone(reference, low, high)
        if zone is None:
            continue
        value = function.value(reference)
        if low + 1e-6 < value < high - 1e-6:
            assert zone.contains(reference)
        points = some_insiders(zone, reference, rng)
        insiders += len(points)
        for one, other in zip(points, reversed(points), strict=True):
            slip = 1e-9 * max(1.0, abs(value), *(entry**2 for entry in one.ravel()))
            assert low - slip <= function.value(one) <= high + slip
            for share in (0.5, 0.1):
                middle = share * one + (1 - share) * other
                assert zone.contains(middle) or not zone.contains(middle + 1e-9 * (reference - middle))
    assert insiders > 500


def test_inner_product_zones_contain_the_paraboloids_of_automon():
    rng = np.random.default_rng(4)
    function, inside = InnerProduct("a", "b", centred=False), 0
    for _ in range(300):
        reference = rng.standard_normal((2, 1, 5)) * 3 + rng.choice([0, 2])
        high = max(function.value(reference), 0.0) + float(rng.random() * 5)
        q0 = (reference[0] - reference[1]) / sqrt(2)
        side = function.zone(reference, -inf, high).above
        tangent = type(side)(side.direction, side.most, float(np.sqrt((q0**2).sum())))
        for point in points_in_ball(reference, 5.0, 40, rng):
            p, q = (point[0] + point[1]) / sqrt(2), (point[0] - point[1]) / sqrt(2)
            if (p**2).sum() - 2 * (q0 * q).sum() + (q0**2).sum() <= 2 * high:
                inside += 1
                assert tangent.room(p[0], q[0]) >= -1e-9
    assert inside > 1000


def test_inner_product_zones_reach_as_far_as_the_nearest_boundary():
    """A ball around the reference in which all values are admissible lies in the zone: so zones never lose to balls."""
    rng = np.random.default_rng(5)
    function = InnerProduct("a", "b")
    for _ in range(100):
        reference = rng.standard_normal((2, 1, 4)) * 3
        value = function.value(reference)
        low, high = value - 2 * rng.random(), value + 2 * rng.random()
        zone = function.zone(reference, low, high)
        radius = 1e-4
        while low <= (found := function.extrema(reference, 1.05 * radius))[0] and found[1] <= high:
            radius *= 1.05
        assert all(zone.contains(point) for point in points_in_ball(reference, 0.99 * radius, 50, rng))


def test_a_self_join_below_a_threshold_is_a_ball():
    zone = SelfJoin(centred=False).zone(np.array([[3.0, 4.0], [0.0, 1.0]]), -inf, 100.0)
    assert zone.contains(np.array([[50.0, 50.0], [6.0, 8.0]])), "only the least row counts"
    assert not zone.contains(np.array([[0.0, 0.0], [6.0, 8.1]]))


def test_no_zone_where_there_can_be_none():
    for function in (SelfJoin(), SelfJoin(centred=False)):
        assert function.zone(np.zeros((2, 3)), 1.0, inf) is None
    assert SelfJoin().zone(np.ones((2, 3)), -inf, -1.0) is None
    assert Custom(lambda vector: vector[0]).zone(np.ones(1), 0.0, 1.0) is None


def test_custom_functions_find_the_extremes_of_smooth_ones():
    rng = np.random.default_rng(6)
    product = InnerProduct("a", "b", centred=False)
    mine = Custom(lambda x: float((x[0] * x[1]).sum(axis=1).min()), of=product, starts=4)
    for _ in range(3):
        center = rng.standard_normal((2, 1, 3)) * 2
        assert mine.extrema(center, 1.5) == pytest.approx(product.extrema(center, 1.5), rel=1e-3)
    assert mine.streams == ("a", "b")


def test_what_functions_take_of_a_sketch():
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=100)
    sketch = ecm.EcmSketch(config)
    rng = np.random.default_rng(7)
    items, ticks = rng.integers(0, 50, 3000), np.sort(rng.integers(0, 300, 3000))
    sketch.update_many(items, ticks)
    since = sketch.now - 60
    total = Total().extract({"": sketch}, since)
    assert total == np.ceil(sketch.total(last=60).value)
    cells = Frequency(7).extract({"": sketch}, since)
    assert cells.shape == (config.depth,)
    assert Frequency(7).value(cells) == np.ceil(sketch.cells(7, last=60).value).min()
    assert Frequency(7).value(cells) >= sketch.estimate(7, last=60).value, "cells count collisions too"
    share = HeavyHitterShare(7, 0.25).extract({"": sketch}, since)
    assert share.tolist() == [*cells.tolist(), np.floor(sketch.total(last=60).value)]
    table = SelfJoin().extract({"": sketch}, since)
    assert table.shape == (config.depth, config.width)
    read = float((sketch.table(last=60).value ** 2).sum(axis=1).min())
    assert read <= SelfJoin(centred=False).value(table) <= read + 2 * table.sum(axis=1).max() + config.width
    both = InnerProduct("a", "b").extract({"a": sketch, "b": sketch}, since)
    for centred in (True, False):
        join = SelfJoin(centred).value(table)
        assert InnerProduct("a", "b", centred).value(both) == pytest.approx(join, rel=1e-12)
    assert Total().extract({"": ecm.EcmSketch(config)}, -50) == 0


def test_settings_are_checked():
    with pytest.raises(ConfigError, match="phi: expected a share above 0 and at most 1, got 0"):
        HeavyHitterShare("x", 0)
    with pytest.raises(ConfigError, match="the names of two streams"):
        InnerProduct("a", "a")
    with pytest.raises(ConfigError, match="expected a function of a vector"):
        Custom(3)
    with pytest.raises(ConfigError, match="starts: expected 1 or more"):
        Custom(np.sum, starts=0)
