"""No crossing is missed at a check, whatever is watched and however messages travel; and the test of it can fail."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import e, exp

import numpy as np
import pytest
from monitor_runs import CHANNELS, CONFIG, END, EVERY, FUNCTIONS, LAST, TRAFFIC, check, traffic

from ecmsketch.monitor import (
    Above,
    Coordinator,
    Custom,
    Events,
    Frequency,
    HeavyHitterShare,
    InnerProduct,
    SelfJoin,
    Site,
    Total,
    Watch,
    simulate,
)
from ecmsketch.monitor.messages import Report

OFTEN = [name for name in FUNCTIONS if name != "custom"]


def no_miss_in(seeds):
    """Run the scenarios of these seeds; each fails if it misses something. Returns what they had."""
    checked = [check(seed) for seed in seeds]
    assert sum(one.settled for one in checked) > 12 * len(checked), "few steps at which the promise must hold"
    crossed = Counter()
    for one in checked:
        crossed[one.kinds.function] += one.alerts
    assert min(crossed[name] for name in OFTEN) > 40, crossed
    return [one.kinds for one in checked]


def test_no_crossing_is_missed():
    """Every function sees every kind of traffic and of channel, and every channel every kind of traffic."""
    kinds = no_miss_in(range(500))
    assert {(one.function, one.channel) for one in kinds} >= set(product(OFTEN, CHANNELS))
    assert {(one.function, one.traffic) for one in kinds} >= set(product(OFTEN, TRAFFIC))
    assert {(one.channel, one.traffic) for one in kinds} == set(product(CHANNELS, TRAFFIC))
    assert "custom" in {one.function for one in kinds}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(500, 10_000, 500))
def test_no_crossing_is_missed_in_many_more_runs(first):
    """Together with the test above these are 10^4 runs."""
    assert len(no_miss_in(range(first, first + 500))) == 500


def test_custom_functions_are_watched_too():
    events = traffic("stops", [""], np.random.default_rng(2))
    watch = Watch(Custom(lambda vector: abs(float(vector[0])) ** 1.5, starts=1), Above(500.0), LAST, CONFIG)
    found = simulate(watch, events, every=20)
    assert found.missed == found.lag == 0
    assert [alert.region for alert in found.alerts] == [1, 0]


class ArrivalsOnly(Site):
    """The drift of the paper's text: what arrived since the synchronisation, without what expired since."""

    synced: Report | None = None

    @property
    def vector(self):
        true = super().vector
        if self.synced is None or self.waiting:
            return true
        return self.synced.vector + self.watch.function.extract(self._sketches, max(self.synced.tick, self.now - LAST))

    def _set_drift(self, drift, report):
        super()._set_drift(drift, report)
        self.synced = report


def test_the_papers_drift_misses_crossings_when_traffic_stops():
    """Without expirations sites see no reason to speak: the negative control of the tests above."""
    events = traffic("stops", [""], np.random.default_rng(1))
    watch = Watch(Total(), Above(20.5), LAST, CONFIG, mode="zones")
    missed = {}
    for kind in (Site, ArrivalsOnly):
        sites, coordinator = {name: kind(name, watch) for name in events.site_names}, Coordinator(watch)
        missed[kind] = 0
        for tick, where in events.steps(EVERY, END + LAST):
            reports = [report for batch in events.batches(where) for report in observe(sites, batch)]
            reports += [report for site in sites.values() for report in site.tick(tick)]
            while reports:
                answers = coordinator.receive(*reports)
                reports = [report for name, data in answers for report in sites[name].receive(data)]
            total = sum(Site.vector.fget(site) for site in sites.values())
            missed[kind] += watch.threshold.region(total[0]) != coordinator.region
    assert missed[Site] == 0
    assert missed[ArrivalsOnly] > 5


def observe(sites, batch):
    return sites[batch.site].observe(batch.items, batch.ticks, batch.weights)


@pytest.mark.parametrize(
    "function", [Total(), Frequency(1), HeavyHitterShare(1, 0.3), SelfJoin(), InnerProduct("a", "b")], ids=repr
)
@pytest.mark.parametrize("counter", ["eh", "dw"])
def test_no_miss_never_misses_a_crossing_of_the_true_stream(function, counter):
    config = CONFIG.replace(counter=counter, optimize_for="inner")
    above = early = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        events = traffic("flood", list(function.streams), rng)
        probe = simulate(Watch(function, Above(0.0), LAST, config), events, every=EVERY, truth=True)
        tau = max(float(np.quantile(probe.column("truth"), 0.8)), 1.0)
        watch = Watch(function, Above(tau), LAST, config).no_miss()
        found = simulate(watch, events, every=EVERY, truth=True)
        reached = found.column("truth") >= tau
        assert (found.column("known_region")[reached] == 1).all()
        above += int(reached.sum())
        early += int((found.column("known_region")[~reached] == 1).sum())
    assert above > 10
    assert early < 6 * 40 - above, "it does not simply always alarm"


def test_without_no_miss_the_sketch_may_fall_short():
    """The other side of it: arrivals in bursts are not where interpolation puts them, so tau itself is missed."""
    short = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        tick = rng.integers(0, 30, 1000) * 7
        events = Events(["s"] * 1000, np.zeros(1000, np.int64), tick)
        found = simulate(Watch(Frequency(0), Above(100.0), LAST, CONFIG), events, every=EVERY, truth=True)
        short += int(((found.column("truth") >= 100) & (found.column("known_region") == 0)).sum())
    assert short > 0


def test_what_the_sketches_say_of_the_true_stream():
    """The lower bounds in docs/monitoring.md, each with its confidence."""
    width, depth, error = CONFIG.width, CONFIG.depth, CONFIG.epsilon_sw
    held = steps = 0
    for seed in range(12):
        events = traffic("flood", [""], np.random.default_rng(seed))
        config = CONFIG.replace(seed=seed)
        n = len(events.site_names)
        arrivals, often, join = (
            simulate(Watch(function, Above(50.0), LAST, config), events, every=EVERY, truth=True)
            for function in (Total(), Frequency(1), SelfJoin(centred=False))
        )
        total = arrivals.column("truth")
        assert (total >= (arrivals.column("value") - n) / (1 + error)).all()
        root = np.maximum(np.sqrt(join.column("value")) - n * np.sqrt(width), 0)
        least = root**2 / (1 + error) ** 2 - e / width * total**2
        held += int((join.column("truth") >= least).sum())
        least = (often.column("value") - n) / (1 + error) - e / width * total
        held += int((often.column("truth") >= least).sum())
        steps += 2 * len(total)
    assert held >= (1 - exp(-depth)) * steps
