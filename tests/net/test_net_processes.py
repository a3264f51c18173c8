"""Real processes: kill -9 of sites and coordinator loses no event, doubles none, and no crossing goes unnoticed."""

from __future__ import annotations

import itertools
import shutil
import time
from math import ceil

import pytest
from net_processes import Fleet, Kills, make_certificate
from net_traffic import ITEM, Traffic, crossings, of_item, wrong_seconds

from ecmsketch.alerts import AlertStore
from webhook_receiver import receiving

LAST, TAU, WITHIN = 4, 60, 20
"""WITHIN is generous: the other tests may run beside these. The stated time is tested by test_net_fleet.py.
The time for which the coordinator is down is added: on a busy machine it may take half a minute to start.
"""


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
def test_crossings_are_alarmed_though_both_sides_are_killed(tmp_path):
    """Four sites fed by files, a pipe and UDP, over TLS with a token; alerts go to the output, a table, a webhook."""
    coordinator_options, site_options = make_certificate(tmp_path, "127.0.0.1")
    with receiving() as receiver:
        fleet = Fleet(
            tmp_path, ["one", "two", "piped", "udp"], missing_after="5s", piped=("piped",), datagrams=("udp",),
            watch=["--function", "any-item", "--above", TAU, "--last", f"{LAST}s", "--lateness", "4s"],
            coordinator_options=[*coordinator_options, "--webhook", receiver.url], site_options=site_options,
        )  # fmt: skip
        try:
            fleet.start_coordinator()
            fleet.wait_ready()
            for name in fleet.sites:
                fleet.start_site(name)
            fleet.wait_connected()
            fleet.write("one", ["half a line, which", "never, ends", ",5"])
            traffic = Traffic(fleet, [(0, 4), (1.5, 40)], background=30, seed=5)
            kills = Kills(fleet, [(1.0, "site"), (2.5, "coordinator"), (7.0, "site")], seed=5, away=(0.3, 0.6))

            def step(elapsed):
                """The flood lasts until it is announced, and the test until its end is."""
                kills.step(elapsed)
                regions = [alert["region"] for _, alert in fleet.of("alert")]
                if kills.over and regions[-1:] == [1] and len(traffic.flood) == 2:
                    traffic.flood.append((elapsed, 2))
                return len(traffic.flood) == 3 and elapsed > traffic.flood[-1][0] + LAST + 2 and regions[-1:] == [0]

            started = traffic.run(90, step)
            ended = time.time()
            while time.time() < ended + 4 and fleet.of("status")[-1][1]["events"] < traffic.events:
                time.sleep(0.1)
        finally:
            fleet.stop()
    alerts, status = of_item(fleet.of("alert")), [facts for _, facts in fleet.of("status")]
    assert kills.done == {"site": 2, "coordinator": 1}
    within = WITHIN + ceil(fleet.longest_silence(started))
    assert wrong_seconds(traffic, alerts, started, ended, LAST, TAU, within, 0.2) == []
    assert [region for _, region, _ in crossings(traffic, alerts, started, ended, LAST, TAU)] == [1, 0]
    assert {alert["item"] for _, alert in fleet.of("alert")} == {ITEM}
    # nothing is lost or doubled: sites read their files from where their states were written
    assert max(facts["events"] for facts in status) == traffic.events
    assert max(facts["rejected"] for facts in status) == 3
    assert max(facts["lost"] for facts in status) == 0
    table = AlertStore(tmp_path / "alerts").read("monitor")
    regions = [row["region"] for row in table]
    assert regions[0] == 1  # and each alert is there once
    assert all(one != other for one, other in itertools.pairwise(regions)), table
    assert {row["item"] for row in table} == {ITEM}
    assert len({message["id"] for message in receiver.accepted}) == len(table)
