"""Thirty-two sites and a coordinator in network namespaces, with delay, loss and kills: nothing goes unnoticed."""

from __future__ import annotations

import itertools
import json
import shutil
import time
from contextlib import nullcontext
from math import ceil

import net_namespaces
import pytest
from net_processes import Fleet, Kills, make_certificate
from net_traffic import ITEM, Traffic, crossings, of_item, wrong_seconds

from ecmsketch.alerts import AlertStore

SITES = [f"site{number}" for number in range(32)]
LAST, TAU = 20, 400
MISSING_AFTER, AWAY = 8, 8
"""Seconds: of silence until a site is left out, and that a killed process needs to be back on a busy machine."""
WITHIN = 1 + MISSING_AFTER + 5
"""Seconds within which docs/monitoring.md promises an alarm: the check, the silence, the rest. An outage is added."""
DELAY_MS, LOSS = 20, 0.02
FLOOD = [(0, 5), (15, 60), (55, 5), (105, 60), (145, 5)]
SECONDS = 190
CUT, MENDED = 100, 128
"""Between these seconds the cable of site 0 is cut."""
KILLS = [*((4 + 7 * number, "site") for number in range(25)), (14, "coordinator"), (21, "coordinator"),
         (72, "coordinator"), (112, "coordinator"), (160, "coordinator")]  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
@pytest.mark.parametrize("function", [f"frequency:{ITEM}", "any-item"])
def test_32_sites_with_delay_loss_and_kills(tmp_path, function):
    apart = net_namespaces.can_be_made()
    address = net_namespaces.COORDINATOR if apart else "127.0.0.1"
    coordinator_options, site_options = make_certificate(tmp_path, address)
    network = net_namespaces.namespaces(SITES, DELAY_MS, LOSS, seed=7) if apart else nullcontext({})
    with network as prefixes:
        fleet = Fleet(
            tmp_path, SITES, missing_after=f"{MISSING_AFTER}s", listen=f"{address}:8610", prefixes=prefixes,
            watch=["--function", function, "--above", TAU, "--last", f"{LAST}s", "--lateness", "20s",
                   "--epsilon", "0.005"],
            coordinator_options=coordinator_options, site_options=site_options,
        )  # fmt: skip
        try:
            fleet.start_coordinator()
            fleet.wait_ready()
            for name in SITES:
                fleet.start_site(name)
                time.sleep(1)
            fleet.wait_connected(300)
            begin = net_namespaces.wire_counts() if apart else (0, 0)
            before = fleet.totals("messages", "bytes", "control_frames", "control_bytes")
            traffic = Traffic(fleet, FLOOD, background=2000, seed=7, others=20_000)
            kills = Kills(fleet, KILLS, seed=7, spared=SITES[:1])
            cable = Cable(apart)
            started = traffic.run(SECONDS, lambda elapsed: (kills.step(elapsed), cable.step(elapsed)))
            ended = time.time()
            wire = net_namespaces.wire_counts() if apart else (0, 0)
            while time.time() < ended + 20 and fleet.of("status")[-1][1]["events"] < traffic.events:
                time.sleep(0.2)
        finally:
            fleet.stop()
    alerts, status = of_item(fleet.of("alert")), [facts for _, facts in fleet.of("status")]
    missing = [(round(at - started, 1), facts["missing"]) for at, facts in fleet.of("status") if at < ended]
    missing = [next(group) for _, group in itertools.groupby(missing, key=lambda pair: pair[1])]
    found = crossings(traffic, alerts, started, ended, LAST, TAU)
    silence = fleet.longest_silence(started)
    within = WITHIN + ceil(max(AWAY, silence))
    totals = fleet.totals("messages", "bytes", "control_frames", "control_bytes")
    facts = {
        "function": function, "namespaces": apart, "events": traffic.events, "kills": kills.done, "crossings": found,
        "the coordinator was down for up to": round(silence, 1),
        "messages, bytes, control frames, control bytes": _grown(totals, before),
        "packets, bytes on the wire": _grown(wire, begin),
        "missing, seconds after": missing, "processes of the coordinator": 1 + kills.done["coordinator"],
    }  # fmt: skip
    (tmp_path / "measured.json").write_text(json.dumps(facts))
    assert sum(kills.done.values()) >= len(KILLS) - 3  # one that is down already is not killed again
    assert [region for _, region, _ in found] == [1, 0, 1, 0]
    assert wrong_seconds(traffic, alerts, started, ended, LAST, TAU, within, 0.15) == []
    assert all(after is not None and after <= within for _, _, after in found), found
    if apart:  # a site that is cut off is noticed in time, and again when it is back
        assert any(CUT <= at <= CUT + MISSING_AFTER + 2.5 and names == [SITES[0]] for at, names in missing), missing
        assert any(at >= MENDED and names == [] for at, names in missing), missing
    assert max(facts["events"] for facts in status) == traffic.events  # nothing is lost, nothing doubled
    assert {alert["item"] for _, alert in fleet.of("alert")} <= {None, ITEM}
    regions = [row["region"] for row in AlertStore(tmp_path / "alerts").read("monitor")]
    assert all(one != other for one, other in itertools.pairwise(regions)), regions


class Cable:
    """Cuts the cable of site 0, which is not killed meanwhile, and mends it."""

    def __init__(self, apart):
        self._todo = [(CUT, "down"), (MENDED, "up")] if apart else []

    def step(self, elapsed):
        while self._todo and elapsed >= self._todo[0][0]:
            net_namespaces.set_cable(0, self._todo.pop(0)[1])


def _grown(now, then):
    return [one - other for one, other in zip(now, then, strict=True)]
