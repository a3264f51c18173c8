"""Any item: which are found and named, who contributes, and every race that its messages can run into."""

from __future__ import annotations

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch.errors import ConfigError, FormatError, InputError
from ecmsketch.monitor import (
    Above,
    AnyItem,
    AnyShare,
    Coordinator,
    Events,
    Outage,
    Site,
    Total,
    VectorSite,
    Watch,
    item_limits,
    messages,
    simulate,
)
from ecmsketch.monitor.item_coordinator import ItemCoordinator
from ecmsketch.monitor.item_messages import MAX_ITEM_NAME, ItemReport, Orders, Welcome

CONFIG = ecm.SketchConfig(epsilon=0.05, delta=0.05, window=1000, heavy_hitters=True)
NAMES = ["a", "b", "c", "d"]


def watch_of(function, **changes):
    return Watch(function, last=1000, sketch=CONFIG, **changes)


class Net:
    """Sites and a coordinator. Messages go where and when the test says."""

    def __init__(self, function, names=NAMES, **changes):
        self.watch = watch_of(function, **changes)
        self.sites = {name: Site(name, self.watch) for name in names}
        self.coordinator = Coordinator(self.watch, names)
        self.sent = 0
        self.now = 0
        self.tick(0)

    def see(self, site, item, count, now=None):
        self.now = self.now if now is None else now
        self.settle(self.sites[site].observe([item] * count, [self.now] * count))

    def tick(self, now):
        self.now = now
        self.settle([report for site in self.sites.values() for report in site.tick(now)])
        self.deliver(self.coordinator.tick(now))

    def settle(self, reports):
        while reports:
            self.sent += len(reports)
            reports = self.deliver(self.coordinator.receive(*reports), follow=False)

    def deliver(self, answers, follow=True):
        self.sent += len(answers)
        reports = [report for name, data in answers for report in self.sites[name].receive(data)]
        if follow:
            self.settle(reports)
        return reports

    @property
    def resting(self):
        return not self.coordinator.syncing and all(site.synchronised for site in self.sites.values())


def test_an_item_that_nobody_named_is_found_and_named():
    net = Net(AnyItem(100))
    for name in NAMES:
        net.see(name, f"only at {name}", 20)
        net.see(name, "everywhere", 24)
    assert net.coordinator.raised == []
    net.see("b", "everywhere", 4)
    (alert,) = net.coordinator.alerts
    assert (alert.item, alert.region, alert.previous, alert.value) == ("everywhere", 1, 0, 100.0)
    assert alert.lower <= 100 <= alert.upper
    assert {site.site: site.value for site in alert.sites} == {"a": 24, "b": 28, "c": 24, "d": 24}
    assert alert.sites[0].site == "b"
    assert (net.coordinator.raised, net.coordinator.region, net.coordinator.value) == (["everywhere"], 1, 1.0)
    assert net.resting


def test_when_traffic_stops_it_falls():
    net = Net(AnyItem(100))
    for number, name in enumerate(NAMES):
        net.see(name, 7, 30, now=10 * number)
    assert net.coordinator.raised == [7]
    net.tick(1005)
    assert net.coordinator.raised == []
    assert [(alert.item, alert.region) for alert in net.coordinator.alerts] == [(7, 1), (7, 0)]
    assert net.coordinator.alerts[-1].tick == 1005


def test_an_item_at_one_site_takes_few_messages():
    net = Net(AnyItem(10_000))
    begin = net.sent
    for _ in range(90):
        net.see("a", "x", 100)
    assert net.coordinator.raised == []
    assert net.sent - begin <= 50, "limits double, and others are asked only when they must be"
    net.see("a", "x", 1000)
    assert net.coordinator.raised == ["x"]


def test_shares_are_of_all_arrivals():
    net = Net(AnyShare(0.5))
    net.see("a", "x", 10)
    assert net.coordinator.raised == ["x"]
    for number in range(30):
        net.see("b", f"y{number}", 1)
    assert net.coordinator.raised == []
    fallen = net.coordinator.alerts[-1]
    assert fallen.item == "x"
    assert fallen.region == 0
    assert fallen.share < 0.5
    net.see("c", "x", 40)
    assert net.coordinator.raised == ["x"]
    assert net.coordinator.alerts[-1].share >= 0.5
    net.tick(5000)
    assert net.coordinator.raised == []


def test_exactly_the_share_counts_and_nothing_has_no_share():
    net = Net(AnyShare(0.1))
    for number in range(9):
        net.see("b", f"y{number}", 3)
    net.see("a", "x", 3)
    assert "x" in net.coordinator.raised
    net.tick(9000)
    assert net.coordinator.raised == []


@pytest.mark.parametrize("item", ["x" * 100_000, b"\xff\x00" * 5000, ("a" * 3000, 7), "", b"\x00", -5, 2**64 - 1, "…"])
def test_hostile_names_are_bounded_and_told_apart(item):
    net = Net(AnyItem(20), names=["a", "b"])
    reports = net.sites["a"].observe([item] * 12, [0] * 12)
    assert all(len(report) < MAX_ITEM_NAME + 100 for report in reports)
    net.settle(reports)
    net.see("b", item, 12)
    (alert,) = net.coordinator.alerts
    if len(str(item)) < 200:
        assert alert.item == item
    else:
        assert alert.item.endswith(f"{ecm.inputs.items.hash_item(item):016x}")
        assert len(alert.item.encode()) <= MAX_ITEM_NAME
    assert Coordinator.deserialize(net.coordinator.serialize(), net.watch).raised == net.coordinator.raised


def test_a_name_must_be_that_of_its_hash():
    entry = messages.item_messages.ItemEntry(1, item_limits.Counted(1, 1, 1), "x")
    with pytest.raises(FormatError, match="not that of its hash"):
        messages.decode(ItemReport("a", 1, 1, 0, False, 0, (entry,)).encode())


def test_lost_and_repeated_messages():
    net = Net(AnyItem(40), patience=5)
    site = net.sites["a"]
    (lost,) = site.observe(["x"] * 30, [1] * 30)
    assert site.waiting
    assert site.tick(3) == []
    assert site.tick(6) == [lost]
    answers = net.coordinator.receive(lost)
    assert net.coordinator.receive(lost) == [] or answers
    net.deliver(answers)
    again = net.coordinator.receive(lost)
    net.deliver(again)
    net.deliver(answers)
    net.tick(7)
    assert net.resting
    net.see("b", "x", 15, now=7)
    assert net.coordinator.raised == ["x"]


def test_an_answer_that_was_lost_is_given_again():
    net = Net(AnyItem(4000), patience=5)
    (report,) = net.sites["a"].observe(["x"] * 600, [1] * 600)
    first = net.coordinator.receive(report)
    assert [type(messages.decode(data)) for _, data in first] == [Orders]
    (repeated,) = net.sites["a"].tick(8)
    assert net.coordinator.receive(repeated) == first
    net.deliver(first)
    assert net.resting


def test_a_site_that_stops_is_left_out_and_returns():
    rng = np.random.default_rng(4)
    tick, item = np.sort(rng.integers(0, 2000, 4000)), rng.integers(0, 60, 4000)
    item[(tick > 600) & (rng.random(4000) < 0.3)] = 5
    events = Events(rng.choice(NAMES, 4000), item, tick)
    watch = Watch(AnyItem(50), last=200, sketch=CONFIG, patience=20, give_up=100)
    found = simulate(watch, events, every=10, outages=[Outage("c", 600, 1500)])
    assert found.missed == 0
    assert found.moments[-1].settled
    during = [moment for moment in found.moments if 1000 <= moment.tick < 1500]
    assert any(moment.settled and moment.known_region for moment in during), "the others go on"
    assert {alert.item for alert in found.alerts} >= {5}


def test_sites_that_nobody_told_of_join():
    net = Net(AnyItem(100))
    net.see("a", "x", 60)
    net.sites["e"] = Site("e", net.watch)
    net.see("e", "x", 60)
    assert net.coordinator.sites == [*NAMES, "e"]
    net.tick(net.now)
    assert net.coordinator.raised == ["x"]
    assert net.resting


def test_both_sides_go_on_from_their_bytes():
    rng = np.random.default_rng(5)
    plain, kept = Net(AnyItem(30)), Net(AnyItem(30))
    for step in range(60):
        name, item, count = str(rng.choice(NAMES)), f"i{rng.integers(0, 4)}", int(rng.integers(1, 9))
        for net in (plain, kept):
            net.see(name, item, count, now=40 * step)
            net.tick(40 * step)
        kept.coordinator.alerts, before = [], kept.coordinator.alerts
        kept.coordinator = Coordinator.deserialize(kept.coordinator.serialize(), kept.watch)
        kept.coordinator.alerts = before
        kept.sites = {name: Site.deserialize(site.serialize(), kept.watch) for name, site in kept.sites.items()}
    assert isinstance(kept.coordinator, ItemCoordinator)
    assert kept.coordinator.alerts == plain.coordinator.alerts
    assert len(plain.coordinator.alerts) > 3
    assert kept.sent == plain.sent


def test_a_site_restored_from_an_old_state_is_recalled_and_begins_anew():
    net = Net(AnyItem(100))
    old = net.sites["a"].serialize()
    net.see("a", "x", 40)
    net.see("b", "x", 40)
    net.sites["a"] = Site.deserialize(old, net.watch)
    net.settle(net.sites["a"].rejoin())
    assert net.resting
    net.see("a", "x", 70)
    assert net.coordinator.raised == ["x"]


def test_a_coordinator_restored_from_an_old_state_begins_a_new_epoch():
    net = Net(AnyItem(100))
    net.see("a", "x", 40)
    old = net.coordinator.serialize()
    net.sites["e"] = Site("e", net.watch)
    net.see("e", "y", 110)
    assert net.coordinator.raised == ["y"]
    net.coordinator = Coordinator.deserialize(old, net.watch)
    net.deliver(net.coordinator.resync())
    net.tick(net.now + 1)
    net.settle(net.sites["e"].rejoin())
    assert net.coordinator.raised == ["y"]
    assert net.resting


def test_memory_is_bounded_by_new_epochs(monkeypatch):
    monkeypatch.setattr("ecmsketch.monitor.item_coordinator._SPARE", 50)
    net = Net(AnyItem(8), names=["a", "b"])
    net.tick(1)
    for number in range(400):
        net.see("a", f"item {number}", 3, now=10 * number)
    assert net.coordinator.epoch > 2
    assert len(net.coordinator._items) < 260
    assert net.resting


def test_sums_that_would_miss_are_noticed_by_the_runs(monkeypatch):
    """The negative control: with limits that add up to more than the threshold, crossings are missed."""
    rng = np.random.default_rng(6)
    events = Events(rng.choice(NAMES, 3000), rng.integers(0, 9, 3000), np.sort(rng.integers(0, 900, 3000)))
    watch = Watch(AnyItem(70), last=200, sketch=CONFIG)
    assert simulate(watch, events, every=20).missed == 0
    monkeypatch.setattr(item_limits.Rules, "most", lambda rules, item: 0.0)
    assert simulate(watch, events, every=20).missed > 5


def test_what_can_be_watched_and_what_not():
    for wrong in (0, -1, "x", 2**53, float("nan")):
        with pytest.raises(ConfigError, match="count: expected"):
            AnyItem(wrong)
    for wrong in (0, 1.1, 1e-9, None):
        with pytest.raises(ConfigError, match="share: expected"):
            AnyShare(wrong)
    with pytest.raises(ConfigError, match="heavy_hitters=True"):
        Watch(AnyItem(5), last=10, sketch=CONFIG.replace(heavy_hitters=False))
    with pytest.raises(ConfigError, match="heavy_hitters=True"):
        Watch(AnyItem(5))
    with pytest.raises(ConfigError, match="has its own threshold"):
        watch_of(AnyItem(5), threshold=Above(6))
    with pytest.raises(ConfigError, match="has its own threshold"):
        watch_of(AnyItem(5), combine="average")
    with pytest.raises(ConfigError, match="threshold: expected one such as"):
        Watch(Total(), last=10, sketch=CONFIG)
    with pytest.raises(ConfigError, match="no_miss"):
        watch_of(AnyItem(5)).no_miss()
    with pytest.raises(ConfigError, match="has no vector; use Site"):
        VectorSite("a", watch_of(AnyItem(5)))
    assert watch_of(AnyItem(5)).threshold == Above(5.0)


def test_messages_of_other_watches_are_refused():
    net = Net(AnyItem(5))
    other = Site("a", Watch(Total(), Above(5), last=10, sketch=CONFIG))
    with pytest.raises(InputError, match="do all watch"):
        net.coordinator.receive(*other.tick(1))
    with pytest.raises(InputError, match="do all watch"):
        other.receive(Welcome("a", 1, 1.0).encode())
    with pytest.raises(InputError, match="it is for site"):
        net.sites["a"].receive(Welcome("b", 1, 1.0).encode())
