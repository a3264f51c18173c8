from __future__ import annotations

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch.errors import ConfigError, InputError
from ecmsketch.monitor import (
    Above,
    Between,
    Channel,
    Events,
    Frequency,
    InnerProduct,
    Outage,
    SelfJoin,
    Total,
    Tracking,
    Watch,
    simulate,
    simulate_vectors,
)
from ecmsketch.monitor.baselines import periods, ship_batches, ship_events, ship_packed, tuned_period
from ecmsketch.monitor.channel import Post
from ecmsketch.monitor.events import ExactWindow
from ecmsketch.monitor.simulation import longest
from oracles import ExactWindow as Oracle

CONFIG = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=600)


def flood(seed=1, events=20_000, sites=8):
    """A steady stream of many items at all sites; at half time one item floods half of them."""
    rng = np.random.default_rng(seed)
    tick = np.sort(rng.integers(0, 3600, events))
    item = rng.integers(0, 1000, events)
    during = (tick > 1800) & (tick < 2200) & (rng.random(events) < 0.5)
    item[during] = 7
    site = np.where(during, rng.integers(0, sites // 2, events), rng.integers(0, sites, events))
    return Events([f"server-{number}" for number in site], item, tick)


@pytest.fixture(scope="module")
def caught():
    watch = Watch(SelfJoin(), Above(100_000.0), 300, CONFIG)
    return simulate(watch, flood(), every=10, truth=True, baselines=True)


def test_a_flood_is_caught_at_once_and_its_end_too(caught):
    assert [(alert.region, alert.previous) for alert in caught.alerts] == [(0, None), (1, 0), (0, 1)]
    assert 1800 < caught.alerts[1].tick < 2100
    assert caught.missed == 0
    assert caught.lag == 0
    assert caught.settled == len(caught.moments)
    truth, value = caught.column("truth"), caught.column("value")
    assert truth.max() > 100_000
    assert np.abs(value - truth).max() < 0.25 * truth.max()


def test_slices_catch_it_too():
    config = CONFIG.replace(counter="slices", resolution=0.3, optimize_for="inner")
    events = flood(events=60_000, sites=2)
    found = simulate(Watch(SelfJoin(), Above(1_000_000.0), 300, config), events, every=50, truth=True)
    assert [alert.region for alert in found.alerts] == [0, 1, 0]
    assert (found.missed, found.lag) == (0, 0)
    truth, value = found.column("truth"), found.column("value")
    assert truth.max() > 1_000_000
    assert np.abs(value - truth).max() < 0.25 * truth.max()
    often = simulate(Watch(Frequency(7), Above(1000.0), 300, config), events, every=50, truth=True)
    assert [alert.region for alert in often.alerts] == [0, 1, 0]


def test_it_costs_a_fraction_of_shipping_the_events(caught):
    events = flood()
    assert ship_events(events) == (20_000, 320_000)
    batches, packed = ship_batches(events, 10), ship_packed(events, 10)
    assert batches.messages == packed.messages <= 8 * 361
    assert packed.bytes < batches.bytes == 320_000
    assert caught.messages.total() < batches.messages / 2
    assert caught.bytes.total() < packed.bytes / 3
    assert caught.bytes.total() <= caught.synchronising.changed[1].bytes
    assert sum(caught.messages.values()) == caught.moments[-1].messages
    assert sum(caught.bytes.values()) == caught.moments[-1].bytes
    assert set(caught.messages) <= {"report", "request", "sync", "balance", "recall", "change", "width"}


def test_periods_are_judged_by_what_the_coordinator_would_have_known(caught):
    table = periods(caught)
    assert [period.ticks for period in table][:9] == [10, 20, 30, 40, 60, 80, 120, 160, 240]
    assert (table[0].error, table[0].lag, table[0].kept) == (0, 0, True)
    assert table[0].cost.messages == 8 * len(caught.moments)
    assert max(period.lag for period in table) > 0
    tuned = tuned_period(caught, lag=30)
    assert tuned.lag <= 30
    assert not any(period.lag <= 30 for period in periods(caught) if period.ticks > tuned.ticks)


def test_zones_and_lazy_balancing_save_messages():
    events = flood(events=3000)
    found = {
        (test, balance): simulate(
            Watch(SelfJoin(), Above(4000.0), 300, CONFIG, test=test, balance=balance), events, every=40
        ).messages.total()
        for test in ("zone", "ball")
        for balance in ("lazy", "eager")
    }
    assert found["zone", "lazy"] < found["ball", "lazy"]
    assert found["zone", "lazy"] <= found["zone", "eager"]
    assert found["zone", "eager"] < found["ball", "eager"]


def test_the_exact_window_is_exact():
    rng = np.random.default_rng(2)
    tick, item = rng.integers(0, 300, 800), rng.integers(0, 20, 800)
    weight, stream = rng.integers(1, 4, 800), rng.choice(["a", "b"], 800)
    events = Events(["s"] * 800, item, tick, weight, stream)
    window, oracles = ExactWindow(events, 50), {name: Oracle() for name in "ab"}
    for name, oracle in oracles.items():
        mine = stream == name
        oracle.add(item[mine].tolist(), tick[mine], weight[mine])
    for now in range(0, 400, 7):
        window.move(now)
        counts = {name: oracle.frequencies(now - 50, now) for name, oracle in oracles.items()}
        assert all(window.of(i, name) == counts[name].get(i, 0) for i in range(25) for name in "ab")
        product = sum(count * counts["b"].get(i, 0) for i, count in counts["a"].items())
        assert InnerProduct("a", "b").exact(window) == product


def test_everything_observed_is_in_the_sites_vectors():
    """With sketches so wide that they are exact, the sites' value is the truth at every step."""
    config = ecm.SketchConfig(epsilon=0.005, delta=0.01, window=600)
    rng = np.random.default_rng(3)
    events = Events(rng.integers(0, 3, 400), rng.integers(0, 30, 400), rng.integers(0, 500, 400))
    for function in (Total(), Frequency(3), SelfJoin(centred=False)):
        for combine in ("sum", "average"):
            watch = Watch(function, Tracking(20.0), 100, config, combine=combine)
            found = simulate(watch, events, every=25, truth=True)
            assert found.column("value") == pytest.approx(found.column("truth"), rel=1e-9)
            assert found.missed == 0


def test_the_channel_delays_doubles_and_drops():
    def arrivals(channel):
        post = Post(channel)
        for number in range(1000):
            post.send(0, "x", number.to_bytes(2, "big"))
        return [(tick, int.from_bytes(data, "big")) for tick in range(20) for _, data in post.arrived(tick)]

    assert arrivals(Channel()) == [(0, number) for number in range(1000)]
    assert {tick for tick, _ in arrivals(Channel(delay=3))} == {3}
    late = arrivals(Channel(delay=1, jitter=5))
    assert {tick for tick, _ in late} == {1, 2, 3, 4, 5, 6}
    assert [number for _, number in late] != sorted(number for _, number in late)
    assert 1150 < len(arrivals(Channel(duplicate=0.2))) < 1250
    assert 750 < len(arrivals(Channel(drop=0.2))) < 850
    for wrong in ({"delay": -1}, {"jitter": -1}, {"drop": 1.0}, {"duplicate": 2}):
        with pytest.raises(ConfigError, match="channel: expected"):
            Channel(**wrong)


def test_a_site_that_stops_is_left_out_and_returns():
    watch = Watch(Total(), Tracking(100.0), 300, CONFIG, mode="zones", patience=20, give_up=100)
    found = simulate(watch, flood(events=4000), every=10, outages=[Outage("server-3", 600, 1500)])
    assert found.missed == 0
    assert found.moments[-1].settled
    assert not all(moment.settled for moment in found.moments)
    during = [moment for moment in found.moments if 1200 <= moment.tick < 1500]
    assert any(moment.settled for moment in during), "the others go on"


def test_vectors_and_events_are_checked():
    with pytest.raises(InputError, match="rounds x sites x the shape of a vector"):
        simulate_vectors(Watch(Total(), Above(1.0)), [1, 2])
    with pytest.raises(InputError, match="events: expected at least one"):
        Events([], [], [])


def test_two_sided_thresholds_over_vectors():
    values = np.concatenate([np.linspace(0, 50, 100), np.linspace(50, -20, 100)])
    vectors = np.stack([values / 4] * 4, axis=1)[:, :, None]
    found = simulate_vectors(Watch(Total(), Between(10.0, 40.0)), vectors)
    assert [alert.region for alert in found.alerts] == [0, 1, 2, 1, 0]
    assert found.lag == found.missed == 0


def test_the_longest_run():
    assert longest(np.array([], bool)) == 0
    assert longest(np.array([True, False, True, True, False])) == 2
