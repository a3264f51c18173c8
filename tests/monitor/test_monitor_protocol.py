"""Every race that messages can run into: crossing, lost, repeated, reordered; sites that stop, restart and join."""

from __future__ import annotations

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch.errors import ConfigError, FormatError, InputError, LateArrivalError
from ecmsketch.monitor import (
    Above,
    Alert,
    Between,
    Coordinator,
    Frequency,
    InnerProduct,
    SelfJoin,
    Site,
    Total,
    Tracking,
    VectorSite,
    Watch,
    messages,
    wire,
)
from ecmsketch.monitor.change_messages import Width
from ecmsketch.monitor.messages import Balance, Recall, Report, Request, Sync

NAMES = ["a", "b", "c", "d"]
WATCH = Watch(Total(), Above(100.0), mode="zones", patience=5, give_up=50)
CONFIG = ecm.SketchConfig(epsilon=0.2, delta=0.2, window=100)


class Net:
    """Sites given one number each, and a coordinator; messages go where and when the test says."""

    def __init__(self, watch=WATCH, values=(10, 10, 10, 10), names=NAMES):
        self.watch, self.tick = watch, 0
        self.sites = {name: VectorSite(name, watch) for name in names}
        self.coordinator = Coordinator(watch, names)
        self.settle([m for name, value in zip(names, values, strict=True) for m in self.give(name, value)])

    def give(self, name, value):
        self.tick += 1
        return self.sites[name].check([value], self.tick)

    def again(self, name):
        return self.sites[name].check(self.sites[name].vector, self.tick)

    def settle(self, reports, reachable=NAMES):
        """Deliver everything until nobody says anything more."""
        for _ in range(100):
            if not reports:
                return
            answers = self.coordinator.receive(*reports)
            answers = [answer for answer in answers if answer[0] in reachable]
            reports = [report for name, data in answers for report in self.sites[name].receive(data)]
        raise AssertionError("they talk for ever")

    def wait(self, ticks, reachable=NAMES):
        """Time passes, messages to and from some sites are lost."""
        for _ in range(ticks):
            self.tick += 1
            reports = [m for name in reachable for m in self.again(name)]
            answers = self.coordinator.receive(*reports) + self.coordinator.tick(self.tick)
            answers = [answer for answer in answers if answer[0] in reachable]
            self.settle([m for name, data in answers for m in self.sites[name].receive(data)], reachable)

    def check(self, missing=()):
        """All is quiet, slacks cancel out, and the coordinator is right."""
        present = [site for name, site in self.sites.items() if name not in missing]
        assert self.coordinator.missing == set(missing)
        assert not self.coordinator.syncing
        assert all(site.synchronised and site.epoch == self.coordinator.epoch for site in present)
        total = sum(site.vector for site in present)
        assert np.mean([site.drift for site in present], axis=0) == total
        low, high = self.coordinator.bounds
        assert low <= total[0] <= high
        assert self.coordinator.region == WATCH.threshold.region(total[0])


def kinds(sent):
    return [(name, messages.message_kind(data)) for name, data in sent]


def test_the_first_synchronisation_waits_for_everyone_named():
    net = Net()
    net.check()
    assert (net.coordinator.epoch, net.coordinator.value, net.coordinator.region) == (1, 40, 0)
    assert net.coordinator.alerts == [Alert(4, 0, None, 40, 1)]
    assert net.coordinator.counts == {"hello": 4, "syncs": 1}


def test_a_small_change_is_silent_and_a_violation_is_balanced():
    net = Net()
    assert net.give("a", 20) == []
    report = net.give("a", 30)
    assert kinds(net.coordinator.receive(*report)) == [("b", "request")], "one further site"
    assert net.sites["a"].waiting
    assert net.coordinator.syncing
    net.settle(net.sites["b"].receive(Request("b", 1).encode()))
    net.check()
    assert net.coordinator.counts["balances"] == 1
    assert net.coordinator.value == 40, "nobody needed to know that it is 60 now"


def test_a_crossing_is_noticed_in_both_directions():
    net = Net()
    net.settle(net.give("a", 80))
    net.check()
    net.settle(net.give("a", 10))
    net.check()
    assert [(alert.region, alert.previous) for alert in net.coordinator.alerts] == [(0, None), (1, 0), (0, 1)]


def test_eager_asks_all_at_once():
    net = Net(Watch(Total(), Above(100.0), mode="zones", balance="eager"))
    sent = net.coordinator.receive(*net.give("a", 30))
    assert kinds(sent) == [(name, "request") for name in "bcd"]
    net.settle([m for name, data in sent for m in net.sites[name].receive(data)])
    net.check()
    assert (net.coordinator.epoch, net.coordinator.value) == (2, 60)


def test_a_report_that_crosses_a_request_is_the_answer_to_it():
    net = Net()
    (_, request), *_ = net.coordinator.receive(*net.give("a", 30))
    own = net.give("b", 30)
    assert net.sites["b"].receive(request) == [], "its report is under way"
    net.settle(own)
    net.check()


def test_a_violation_during_a_balance_or_a_synchronisation_joins_it():
    net = Net()
    net.coordinator.receive(*net.give("a", 30))
    net.settle(net.give("c", 30))
    net.wait(10)
    net.check()
    eager = Net(Watch(Total(), Above(100.0), mode="zones", balance="eager"))
    sent = dict(eager.coordinator.receive(*eager.give("a", 30)))
    assert eager.coordinator.receive(*eager.give("c", 30)) == []
    eager.settle([m for name in "bcd" for m in eager.sites[name].receive(sent[name])])
    eager.check()


def test_repeated_messages_change_nothing():
    net = Net()
    report = net.give("a", 30)
    sent = net.coordinator.receive(*report, *report)
    assert net.coordinator.receive(*report) == [], "not answered yet: nothing to say"
    answer = net.sites["b"].receive(sent[0][1])
    assert net.sites["b"].receive(sent[0][1]) == []
    balances = net.coordinator.receive(*answer, *answer)
    for name, data in balances + balances:
        assert net.sites[name].receive(data) == []
    net.check()
    assert net.coordinator.receive(*report) == [balances[0]], "an old report gets its answer again"
    assert net.sites["a"].receive(balances[0][1]) == []
    net.check()


def test_a_lost_report_is_sent_again_ever_less_often():
    net = Net()
    lost = net.give("a", 90)
    ticks = []
    for _ in range(80):
        net.tick += 1
        if sent := net.again("a"):
            assert sent == lost
            ticks.append(net.tick)
    assert np.diff(ticks).tolist() == [10, 20, 20, 20]
    net.wait(20)
    net.check()
    assert net.coordinator.region == 1


def test_a_lost_request_is_sent_again():
    net = Net()
    assert kinds(net.coordinator.receive(*net.give("a", 30))) == [("b", "request")]
    for _ in range(4):
        net.tick += 1
        assert net.coordinator.tick(net.tick) == []
    net.tick += 1
    (again,) = net.coordinator.tick(net.tick)
    net.settle(net.sites["b"].receive(again[1]))
    net.check()


def test_lost_answers_are_sent_again():
    net = Net()
    net.coordinator.receive(*net.give("a", 80))
    reports = [m for name in "bcd" for m in net.sites[name].receive(Request(name, 1).encode())]
    assert kinds(net.coordinator.receive(*reports)) == [(name, "sync") for name in NAMES], "all of them lost"
    assert not net.coordinator.syncing
    assert not any(site.synchronised for site in net.sites.values()), "nobody claims to know"
    net.wait(20)
    net.check()


def test_a_lost_balance_and_then_a_synchronisation():
    net = Net()
    net.coordinator.receive(*net.give("a", 30))
    balances = dict(net.coordinator.receive(*net.sites["b"].receive(Request("b", 1).encode())))
    assert net.sites["b"].receive(balances["b"]) == [], "that to a is lost"
    net.settle(net.give("c", 200))
    assert net.coordinator.syncing, "a still waits for its balance"
    net.wait(30)
    net.check()
    assert net.coordinator.region == 1
    assert net.sites["a"].receive(balances["a"]) == [], "it arrives at last, in an older epoch"
    net.check()


def test_a_request_that_overtakes_the_answer_before_it_is_not_forgotten():
    net = Net(Watch(Total(), Above(100.0), mode="zones", balance="eager"))
    sent = dict(net.coordinator.receive(*net.give("a", 30)))
    syncs = dict(net.coordinator.receive(*(m for name in "bcd" for m in net.sites[name].receive(sent[name]))))
    for name in "abc":
        net.sites[name].receive(syncs[name])
    requests = dict(net.coordinator.receive(*net.give("a", 60)))
    assert net.sites["d"].receive(requests["d"]) == [], "it waits for its Sync"
    late = net.sites["d"].receive(syncs["d"])
    assert [messages.message_kind(data) for data in late] == ["report"]
    net.settle([*late, *(m for name in "bc" for m in net.sites[name].receive(requests[name]))])
    net.check()


def test_a_request_that_overtakes_a_width_is_answered_by_a_report_and_not_by_a_change():
    """With a change alone the coordinator would wait for ever."""
    site = VectorSite("a", Watch(SelfJoin(centred=False), Above(100.0)))
    (hello,) = map(messages.decode, site.check([[3.0, 4.0]], 1))
    assert site.receive(Request("a", hello.number).encode()) == []
    assert site.check([[5.0, 4.0]], 2) == []
    (answer,) = map(messages.decode, site.receive(Width("a", 1, hello.checksum, False, 0.0).encode()))
    assert isinstance(answer, Report)
    assert (answer.reason, answer.number) == (messages.ANSWER, hello.number + 1)
    assert site.waiting


def test_what_happens_while_a_site_waits_is_checked_when_it_resumes():
    net = Net()
    sent = net.coordinator.receive(*net.give("a", 30))
    assert net.give("a", 500) == []
    balances = dict(net.coordinator.receive(*net.sites["b"].receive(sent[0][1])))
    net.sites["b"].receive(balances["b"])
    assert not net.sites["a"].synchronised
    again = net.sites["a"].receive(balances["a"])
    assert messages.decode(again[0]).reason == messages.VIOLATION
    net.settle(again)
    net.check()
    assert net.coordinator.region == 1


def test_a_silent_site_is_left_out_and_taken_in_again():
    net = Net()
    up = ["a", "b", "c"]
    net.settle([])
    net.coordinator.receive(*net.give("a", 90))
    net.wait(80, up)
    net.check(missing={"d"})
    assert net.coordinator.value == 110
    net.wait(60)
    net.check()
    assert net.coordinator.value == 120


def test_a_site_restarted_from_an_old_state_begins_anew():
    net = Net()
    old = net.sites["a"].serialize()
    net.settle(net.give("a", 30))
    net.settle(net.give("a", 45))
    net.sites["a"] = VectorSite.deserialize(old, WATCH)
    assert net.sites["a"].vector == 10
    net.settle(net.sites["a"].rejoin())
    net.wait(5)
    net.check()
    assert net.coordinator.value == 40


def test_a_site_restarted_from_an_old_state_is_found_out_even_when_its_numbers_are_known():
    net = Net()
    old = net.sites["a"].serialize()
    first = net.give("a", 30)
    net.settle(first)
    stale = net.sites["a"] = VectorSite.deserialize(old, WATCH)
    (report,) = net.give("a", 70)
    assert messages.decode(report).number == messages.decode(first[0]).number
    (recall,) = net.coordinator.receive(report)
    assert messages.message_kind(recall[1]) == "recall"
    net.settle(stale.receive(recall[1]))
    net.wait(20)
    net.check()
    assert net.coordinator.region == 1 or net.coordinator.value == 100


def test_late_reports_of_a_healthy_site_do_not_disturb_it():
    net = Net()
    first = net.give("a", 30)
    net.settle(first)
    net.settle(net.give("a", 60))
    (recall,) = net.coordinator.receive(*first)
    assert net.sites["a"].receive(recall[1]) == []
    net.check()


def test_a_coordinator_restarted_from_an_old_state_synchronises_anew():
    net = Net()
    old = net.coordinator.serialize()
    net.settle(net.give("a", 80))
    net.settle(net.give("a", 10))
    net.coordinator = Coordinator.deserialize(old, WATCH)
    sent = net.coordinator.resync()
    net.settle([m for name, data in sent for m in net.sites[name].receive(data)])
    net.wait(20)
    net.check()
    assert net.coordinator.epoch > 3


def test_sites_join_when_they_report():
    coordinator = Coordinator(WATCH)
    net = Net()
    net.coordinator = coordinator
    for name in NAMES:
        net.sites[name] = VectorSite(name, WATCH)
        net.settle(net.give(name, 20))
        net.wait(10, [*NAMES[: NAMES.index(name) + 1]])
    net.check()
    assert coordinator.sites == NAMES
    assert coordinator.value == 80


def test_restarting_everyone_from_their_newest_states_changes_nothing():
    rng = np.random.default_rng(3)
    for _ in range(4):
        net, twin = Net(), Net()
        for _ in range(30):
            name, value = rng.choice(NAMES), int(rng.integers(0, 60))
            for one in (net, twin):
                one.settle(one.give(name, value))
            twin.sites = {name: VectorSite.deserialize(site.serialize(), WATCH) for name, site in twin.sites.items()}
            twin.coordinator = Coordinator.deserialize(twin.coordinator.serialize(), WATCH)
            net.check()
            assert twin.coordinator.serialize() == net.coordinator.serialize()
            assert [s.serialize() for s in twin.sites.values()] == [s.serialize() for s in net.sites.values()]


def test_states_in_the_middle_of_things_survive_too():
    net = Net()
    net.coordinator.receive(*net.give("a", 30))
    site = VectorSite.deserialize(net.sites["a"].serialize(), WATCH)
    assert site.waiting
    assert site.serialize() == net.sites["a"].serialize()
    coordinator = Coordinator.deserialize(net.coordinator.serialize(), WATCH)
    assert coordinator.syncing
    assert coordinator.serialize() == net.coordinator.serialize()


def test_damaged_states_are_refused():
    rng = np.random.default_rng(4)
    net = Net()
    net.coordinator.receive(*net.give("a", 30))
    for kind, data in ((VectorSite, net.sites["a"].serialize()), (Coordinator, net.coordinator.serialize())):
        for _ in range(100):
            damaged = bytearray(data)
            damaged[rng.integers(len(data))] ^= int(rng.integers(1, 256))
            with pytest.raises(FormatError):
                kind.deserialize(bytes(damaged), WATCH)
        for _ in range(300):
            at, skip = int(rng.integers(2, len(data) - 4)), int(rng.integers(0, 4))
            try:
                found = kind.deserialize(wire.seal(data[1], [data[2:at], rng.bytes(2), data[at + skip : -4]]), WATCH)
            except FormatError:
                continue
            kind.deserialize(found.serialize(), WATCH)
        with pytest.raises(FormatError):
            kind.deserialize(Request("a", 1).encode(), WATCH)


def test_messages_that_do_not_fit_are_refused():
    net = Net()
    with pytest.raises(InputError, match="it is for site 'b', this is 'a'"):
        net.sites["a"].receive(Request("b", 1).encode())
    report = Report("a", 1, 9, 9, 1, np.zeros(1)).encode()
    with pytest.raises(InputError, match="expected one to a site with a vector, got another"):
        net.sites["a"].receive(report)
    with pytest.raises(InputError, match="expected a site's report, got a message to a site"):
        net.coordinator.receive(Recall("a", 1).encode())
    with pytest.raises(InputError, match="reports a vector of shape"):
        net.coordinator.receive(Report("a", 1, 9, 9, 1, np.zeros(2)).encode())
    with pytest.raises(FormatError):
        net.coordinator.receive(report, b"noise")
    net.check()
    with pytest.raises(InputError, match="expected shape"):
        net.sites["a"].check([1, 2], 5)
    with pytest.raises(InputError, match="finite"):
        net.sites["a"].check([np.nan], 5)
    pending = net.give("a", 500)
    checksum = wire.checksum(pending[0])
    for odd in (Sync("a", 9, checksum, 4, 0.0, 1.0, np.zeros(3)), Balance("a", 1, checksum, np.zeros(3))):
        assert net.sites["a"].receive(odd.encode()) == []
    assert net.sites["a"].waiting


def test_slacks_of_whole_numbers_cancel_out_exactly():
    rng = np.random.default_rng(5)
    watch = Watch(SelfJoin(centred=False), Tracking(5000.0), mode="zones")
    net = Net.__new__(Net)
    net.watch, net.tick = watch, 0
    net.sites = {name: VectorSite(name, watch) for name in NAMES}
    net.coordinator = Coordinator(watch, NAMES)
    for _ in range(300):
        net.tick += 1
        vectors = {name: rng.poisson(5 + 3 * np.sin(net.tick / 20), (2, 5)) for name in NAMES}
        net.settle([m for name, site in net.sites.items() for m in site.check(vectors[name], net.tick)])
        drifts = np.sum([site.drift for site in net.sites.values()], axis=0)
        assert (drifts == 4 * np.sum(list(vectors.values()), axis=0)).all()
    assert net.coordinator.counts["balances"] > 20


@pytest.mark.parametrize("mode", ["zones", "changes"])
def test_a_site_counts_expirations_and_its_state_survives(mode):
    watch = Watch(Frequency("x"), Above(8.0), 10, CONFIG, mode=mode)
    site, coordinator = Site("s", watch), Coordinator(watch)

    def deliver(reports):
        while reports:
            reports = [report for _, data in coordinator.receive(*reports) for report in site.receive(data)]

    deliver(site.observe(["x"] * 5, [1, 2, 3, 4, 5]))
    site = Site.deserialize(site.serialize(), watch)
    (report,) = site.observe(["x"] * 5, [6] * 5)
    deliver([report])
    assert (coordinator.region, coordinator.value) == (1, 10)
    assert site.tick(11) == []
    (report,) = site.tick(13)
    deliver([report])
    assert (coordinator.region, coordinator.value) == (0, 7)
    assert coordinator.alerts[-1].tick == 13


def test_a_site_is_strict_about_what_it_is_given():
    watch = Watch(InnerProduct("a", "b"), Above(8.0), 10, CONFIG)
    site = Site("s", watch)
    with pytest.raises(InputError, match="stream: expected one of 'a', 'b', got ''"):
        site.observe(["x"], [1])
    site.observe(["x"], [7], stream="a")
    site.observe(["x"], [3], stream="b")
    assert InnerProduct("a", "b", centred=False).value(site.vector) == 1
    with pytest.raises(LateArrivalError):
        site.observe(["x"], [3], stream="a")
    with pytest.raises(ConfigError, match="or use VectorSite"):
        Site("s", WATCH)
    other = Watch(InnerProduct("a", "b"), Above(8.0), 10, CONFIG.replace(seed=1))
    with pytest.raises(FormatError, match="of another config than the watch's"):
        Site.deserialize(site.serialize(), other)
    with pytest.raises(FormatError, match="its streams are not"):
        Site.deserialize(site.serialize(), Watch(Total(), Above(8.0), 10, CONFIG))


@pytest.mark.parametrize(
    ("threshold", "count", "expected"),
    [
        (Above(10), 5, (0, None)),
        (Above(10), 10, (1, 0)),
        (Between(3, 10), 5, (1, None)),
        (Between(3, 10), 20, (2, 1)),
        (Between(30, 40), 20, (0, 1)),
    ],
)
def test_a_monitor_that_starts_outside_the_calm_region_alarms_once(threshold, count, expected):
    watch = Watch(Total(), threshold, last=100, sketch=ecm.SketchConfig(epsilon=0.1, delta=0.1, window=100))
    site, coordinator = Site("a", watch), Coordinator(watch)
    for message in coordinator.receive(*site.observe(["x"] * count, [1] * count)):
        site.receive(message[1])
    assert [(alert.region, alert.previous) for alert in coordinator.alerts] == [expected]
    again = Coordinator.deserialize(coordinator.serialize(), watch)
    again.resync()
    for message in again.receive(*site.rejoin()):
        site.receive(message[1])
    assert again.epoch > coordinator.epoch
    assert again.alerts == []
