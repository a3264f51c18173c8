"""Reports that a site may send, and those that would harm others: each is refused with a reason."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from net_inside import CONFIG, ITEMS, WATCH, closed_with, coordinator, hello, open_socket, until

from ecmsketch.errors import FormatError
from ecmsketch.monitor import Coordinator, SelfJoin, Site, Watch
from ecmsketch.monitor.any_item import Counted
from ecmsketch.monitor.change_messages import Change
from ecmsketch.monitor.item_messages import ItemEntry, ItemReport
from ecmsketch.monitor.messages import Report
from ecmsketch.net.report_check import MOST_AHEAD, ReportCheck

CLOCK = 10_000


def vector(*numbers, shape=None):
    return np.array(numbers, float).reshape(shape or Site("x", WATCH).vector.shape)


def report(**changes):
    count = Site("x", WATCH).vector.size
    given = {"epoch": 1, "number": 1, "tick": CLOCK, "reason": 0, "vector": vector(*[3] * count), **changes}
    return Report("a", *given.values()).encode()


def check(data, name="a", watch=WATCH, coordinator=None):
    ReportCheck(watch).check(data, name, CLOCK, coordinator or Coordinator(watch))


def known_site(vector=3, clock=CLOCK):
    """A coordinator that knows a site, which sends its changes."""
    coordinator, site = Coordinator(WATCH), Site("a", WATCH)
    site.observe(["a"] * vector, [clock] * vector, check=False)
    (data,) = site.tick(clock)
    for _, answer in coordinator.receive(data):
        assert site.receive(answer) == []
    assert site.synchronised
    return coordinator, site


def change(**changes):
    count = Site("x", WATCH).vector.size
    given = {"number": 2, "after": 1, "whole": False, "vector": vector(*[1] * count), **changes}
    return Change("a", **given).encode()


def test_a_report_that_fits():
    check(report())
    check(report(tick=CLOCK + MOST_AHEAD))


def test_changes_that_fit():
    coordinator, site = known_site()
    (data,) = site.observe(["a"] * 9, [CLOCK + 1] * 9)
    check(data, coordinator=coordinator)
    coordinator.receive(data)
    check(data, coordinator=coordinator)  # it comes again, and is not added again
    check(change(number=3, vector=Site("x", WATCH).vector - 12), coordinator=coordinator)  # down to 0
    check(change(after=2**50))  # nobody knows what it is to be added to
    check(report(number=9, base=7, vector=Site("x", WATCH).vector - 5), coordinator=coordinator)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"after": MOST_AHEAD + 1}, "601 ticks ahead"), ({"after": 2**62}, "ticks ahead"),
        ({"number": 2**60}, "expected numbers up to"), ({"epoch": 2**60}, "expected numbers up to"),
        ({"vector": np.zeros(100)}, "expected a vector of shape"), ({"vector": np.zeros(0)}, "vector of shape"),
        ({"vector": Site("x", WATCH).vector - 4}, "expected counts from 0"),
        ({"vector": Site("x", WATCH).vector + 1e300}, "expected counts from 0"),
        ({"vector": Site("x", WATCH).vector - 1, "whole": True}, "expected counts from 0"),
    ],
)  # fmt: skip
def test_changes_that_do_not_fit(changes, says):
    with pytest.raises(FormatError, match=says):
        check(change(**changes), coordinator=known_site()[0])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"tick": CLOCK + MOST_AHEAD + 1}, "601 ticks ahead, expected at most 600; set its clock"),
        ({"epoch": 2**60}, "expected numbers up to"), ({"number": 2**60}, "expected numbers up to"),
        ({"vector": np.zeros(100)}, "expected a vector of shape"), ({"vector": np.zeros(0)}, "vector of shape"),
        ({"vector": Site("x", WATCH).vector - 1}, "expected counts from 0"),
        ({"vector": Site("x", WATCH).vector + 1e300}, "expected counts from 0"),
    ],
)  # fmt: skip
def test_reports_that_do_not_fit(changes, says):
    with pytest.raises(FormatError, match=says):
        check(report(**changes))


def test_reports_of_another_kind_are_refused():
    items = ItemReport("a", 1, 1, CLOCK, False, 3, (ItemEntry(5, Counted(3, 3, 3)),)).encode()
    check(items, watch=ITEMS)
    for watch, data, name in ((ITEMS, report(), "a"), (WATCH, items, "a"), (ITEMS, items, "b")):
        with pytest.raises(FormatError, match="expected a report of site"):
            check(data, name, watch)


@pytest.mark.parametrize(
    "watch", [WATCH, ITEMS, Watch(SelfJoin(), WATCH.threshold, 60, CONFIG)], ids=lambda w: repr(w.function)
)
def test_the_largest_report_of_a_real_site_fits_and_not_much_more(watch):
    site = Site("a", watch)
    site.tick(0)
    items = [f"{number:05d}" + "x" * 200 for number in range(20_000)]
    site.observe(items, [1 + number // 400 for number in range(20_000)])
    (data,) = site.rejoin()
    if watch is ITEMS:
        named = [int(key) for key in site.counts.keys]
        site._limits = {}
        (data,) = site._say(named)
    check(data, watch=watch)
    assert len(data) <= ReportCheck(watch).largest <= 2**28


@pytest.mark.parametrize("watch", [WATCH, ITEMS], ids=["frequency", "any-item"])
def test_damaged_reports_end_the_connection_and_nothing_else(watch):
    rng = np.random.default_rng(3)

    async def main():
        async with coordinator(watch=watch, missing_after=5.0) as server:
            good = Site("raw", server.keeper.watch)
            (data,) = good.tick(server.clock())
            for number in range(40):
                damaged = bytearray(data)
                damaged[rng.integers(len(data))] ^= int(rng.integers(1, 256))
                async with open_socket(server) as socket:
                    await socket.send(hello())
                    await socket.send(bytes(damaged))
                    said = await closed_with(socket)
                assert "refused" in said[-1]
                assert server.counts["bad frames"] == number + 1
            assert server.keeper.coordinator.sites == []
            async with open_socket(server) as socket:
                await socket.send(hello())
                await socket.send(data)
                await until(lambda: server.keeper.coordinator.sites == ["raw"])

    asyncio.run(main())


def test_names_are_limited_too():
    async def main():
        async with coordinator(max_sites=1) as server:
            for name in ("raw", "another"):
                async with open_socket(server) as socket:
                    await socket.send(hello(name))
                    if name == "raw":
                        await socket.send(Site(name, server.keeper.watch).tick(server.clock())[0])
                        await until(lambda: server.keeper.coordinator.sites == ["raw"])
                    else:
                        said = await closed_with(socket)
                await until(lambda: not server.peers)
            assert "1 sites are known already" in said[-1]
            assert server.counts["refused: too many"] == 1

    asyncio.run(main())
