"""What happens when something fails: silence, lost connections, restarts, disks that are full, callbacks that raise."""

from __future__ import annotations

import asyncio

import pytest
from net_inside import ITEMS, coordinator, site, until

from ecmsketch.errors import ConfigError, FormatError
from ecmsketch.monitor import Contribution, Site
from ecmsketch.net.coordinator_keeper import CoordinatorKeeper


def test_a_silent_site_is_missing_in_time_and_joins_again():
    async def main():
        async with coordinator(missing_after=1.0) as server, site("good", server):
            async with site("other", server) as lines:
                lines.push(b"a,,7")
                await until(lambda: server.status().region == 1 and server.status().sites == 2)
                loop = asyncio.get_running_loop()
                server.peers["other"].socket.transport.pause_reading()  # as if the cable was cut
                begin = loop.time()
                await until(lambda: server.status().missing == ("other",))
                assert loop.time() - begin <= 1.0 + 1.3  # looked at once a second
                await until(lambda: server.status().missing == () and server.status().region == 1)
            await until(lambda: server.status().missing == ("other",), 1)  # it said bye
            await until(lambda: server.status().region == 0)

    asyncio.run(main())


def test_the_coordinators_state_outlives_it_and_belongs_to_one_watch(tmp_path):
    async def main():
        settings = {"state": tmp_path / "co", "alerts": str(tmp_path / "alerts"), "missing_after": 5.0}
        async with coordinator(**settings) as server, site("good", server, state=tmp_path / "good") as lines:
            lines.push(b"a,,7")
            await until(lambda: server.status().region == 1 and not server.keeper.unpublished)
            raised = server.status().alerts
            with pytest.raises(ConfigError, match="in use by another process"):
                async with coordinator(**settings):
                    pass
        async with coordinator(**settings) as server:
            assert (server.status().region, server.status().sites) == (1, 1)
            async with site("good", server, state=tmp_path / "good"):
                await until(lambda: not server.status().syncing and server.status().connected == 1)
                assert server.status().value == 7  # the site has its events again, and no alert is raised twice
                assert server.status().alerts == raised
        with pytest.raises(ConfigError, match="belongs to another watch"):
            async with coordinator(**settings, name="another"):
                pass

    asyncio.run(main())
    (tmp_path / "co" / "coordinator.state").write_bytes(b"ECMN\x01 damaged, but long enough to be a state")
    with pytest.raises(FormatError, match="damaged"):
        asyncio.run(coordinator(state=tmp_path / "co").__aenter__())


def test_a_lost_connection_costs_neither_events_nor_a_new_epoch():
    async def main():
        for watch in (None, ITEMS):
            given = {} if watch is None else {"watch": watch}
            async with (
                coordinator(missing_after=5.0, **given) as server,
                site("one", server),
                site("two", server) as two,
            ):
                await until(lambda: server.status().sites == 2 and not server.status().syncing)
                epoch = server.status().epoch
                server.peers["two"].cut()
                two.push(b"a,,7")
                await until(lambda: server.status().region == 1 and not server.status().syncing)
                assert server.status().missing == ()
                if watch is not None:
                    assert server.status().epoch == epoch
                    assert server.status().raised == ("a",)

    asyncio.run(main())


def test_alerts_about_items_outlive_the_process(tmp_path):
    keeper = CoordinatorKeeper(ITEMS, tmp_path, "floods", None)
    site = Site("one", ITEMS)
    reports = site.observe(["x"] * 7 + ["y"] * 2, [5] * 9)
    while reports:
        answers, wrong = keeper.receive([("one", data) for data in reports])
        assert not wrong
        reports = [report for _, data in answers for report in site.receive(data)]
    (alert,) = keeper.coordinator.alerts
    assert (alert.item, alert.region, alert.value, alert.sites) == ("x", 1, 7, (Contribution("one", 7),))
    keeper.coordinator.alerts.append(alert._replace(item=(b"\xff", 1)))
    assert keeper.collect()
    before = keeper.unpublished
    assert [raised.alert.item for raised in before] == ["x", "\\xff,1"]
    keeper.close()
    again = CoordinatorKeeper(ITEMS, tmp_path, "floods", None)
    assert (again.unpublished, again.saved, again.items_above) == (before, 2, ["x"])
    again.close()


def test_alerts_wait_while_the_disk_is_full_or_a_callback_fails(tmp_path, monkeypatch):
    monkeypatch.setattr("ecmsketch.net.coordinator_server._RETRY", 0.05)
    alerts, failures = [], []

    def on_alert(alert):
        if len(failures) < 2:
            failures.append(alert)
            raise ZeroDivisionError("a callback with a mistake")
        alerts.append(alert)

    async def main():
        async with coordinator(state=tmp_path, on_alert=on_alert, missing_after=5.0) as server:
            save = server.keeper._folder.write

            def full(*given):
                raise OSError(28, "No space left on device")

            server.keeper._folder.write = full
            async with site("one", server) as lines:
                lines.push(b"a,,7")
                await until(lambda: server.status().region == 1)
                await asyncio.sleep(0.2)
                assert (alerts, failures) == ([], [])
                assert [text for text in server.said if "No space left" in text]
                server.keeper._folder.write = save
                await until(lambda: alerts and alerts[-1].region == 1)
                assert len(failures) == 2

    asyncio.run(main())
