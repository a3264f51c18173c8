"""Any sequence of what users do, against the exact window."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import ecmsketch as ecm
from oracles import ExactWindow


def make(**changes):
    return ecm.SketchConfig(**{"epsilon": 0.1, "delta": 0.1, "window": 1000, **changes})


class AgainstTheExactWindow(RuleBasedStateMachine):
    """Any sequence of what users do keeps the hard bounds."""

    @initialize(
        epsilon=st.sampled_from([0.6, 0.2, 0.05]),
        late=st.sampled_from(["side", "drop"]),
        lateness=st.sampled_from([None, 5]),
        counter=st.sampled_from(["eh", "dw", "slices"]),
    )
    def start(self, epsilon, late, lateness, counter):
        self.config = make(epsilon=epsilon, window=50, late=late, lateness=lateness, counter=counter)
        self.sketch, self.exact = ecm.EcmSketch(self.config), ExactWindow()

    @rule(
        seed=st.integers(0, 10**6),
        events=st.integers(1, 300),
        gap=st.sampled_from([0, 0.2, 1, 30]),
        weighted=st.booleans(),
    )
    def arrivals(self, seed, events, gap, weighted):
        rng = np.random.default_rng(seed)
        ticks = (self.sketch.now or 0) + np.cumsum(rng.poisson(gap, events))
        items, weights = rng.integers(0, 20, events), rng.integers(0, 9, events) if weighted else None
        self.sketch.update_many(items, ticks, weights)
        self.exact.add(items.tolist(), ticks, weights)

    @rule(item=st.integers(0, 20), step=st.integers(0, 70))
    def one_arrival(self, item, step):
        tick = (self.sketch.now or 0) + step
        self.sketch.update(item, tick)
        self.exact.add([item], [tick])

    @precondition(lambda self: self.sketch.now is not None)
    @rule(item=st.integers(0, 20), behind=st.integers(1, 60), weight=st.integers(1, 5))
    def late_arrival(self, item, behind, weight):
        tick, before = self.sketch.now - behind, self.sketch.late_dropped
        self.sketch.update(item, tick, weight)
        if self.sketch.late_dropped == before:
            assert behind < self.config.allowed_lateness
            assert self.config.late == "side"
            self.exact.add([item], [tick], [weight])
        else:
            assert behind >= self.config.allowed_lateness or self.config.late == "drop"

    @rule(step=st.integers(0, 60))
    def time_passes(self, step):
        self.sketch.advance((self.sketch.now or 0) + step)

    @rule()
    def through_bytes(self):
        again = ecm.EcmSketch.deserialize(self.sketch.serialize())
        assert again == self.sketch
        self.sketch = again

    @precondition(lambda self: self.sketch.merge_levels < 3)
    @rule(seed=st.integers(0, 10**6), events=st.integers(0, 200), method=st.sampled_from(["n-way", "binary"]))
    def another_site_is_merged(self, seed, events, method):
        rng = np.random.default_rng(seed)
        other = ecm.EcmSketch(self.config)
        items, ticks = rng.integers(0, 20, events), np.sort(rng.integers(0, (self.sketch.now or 0) + 20, events))
        other.update_many(items, ticks)
        self.sketch = ecm.merge([self.sketch, other], method)
        self.exact.add(items.tolist(), ticks)

    @rule(seed=st.integers(0, 10**6), events=st.integers(0, 200))
    def a_segment_follows(self, seed, events):
        rng = np.random.default_rng(seed)
        after = ecm.EcmSketch(self.config)
        items = rng.integers(0, 20, events)
        ticks = (self.sketch.now or 0) + np.sort(rng.integers(0, 80, events))
        after.update_many(items, ticks)
        self.sketch = ecm.concat([self.sketch, after])
        self.exact.add(items.tolist(), ticks)

    @invariant()
    def hard_bounds_hold(self):
        now = self.sketch.now
        if now is None:
            return
        grown = (1 + self.config.epsilon_sw) ** (self.sketch.merge_levels + 1) - 1
        for last in (1, 3, 17, 49, 50):
            exact = self.exact.frequencies(now - last)
            found = self.sketch.estimate_many(list(range(21)), last=last)
            truth = np.array([exact.get(item, 0) for item in range(21)])
            assert (found.upper >= truth - 1e-9).all()
            if self.config.counter == "slices":  # values are centred
                assert (found.lower <= found.value).all()
                assert (found.value <= found.upper).all()
            else:
                taken = (1 + grown) * (sum(exact.values()) - truth) / self.config.width  # at most, for collisions
                assert (found.value >= truth * (1 - grown) - taken - 1e-9).all()
            total = self.sketch.total(last=last)
            assert total.lower - 1e-9 <= truth.sum() <= total.upper + 1e-9
        middle = self.sketch.total(between=(now - 30, now - 10))
        assert middle.lower - 1e-9 <= self.exact.total(now - 30, now - 10) <= middle.upper + 1e-9


TestAgainstTheExactWindow = AgainstTheExactWindow.TestCase
TestAgainstTheExactWindow.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
